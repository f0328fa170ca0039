#pragma once

// Ways of doing a collective that can be tried: an algorithm with a protocol, and a number of
// channels. NCCL's table of costs says which are allowed. Pure functions; thread-safe.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/nccl/interface/nccl_interface.h"
#include "plugins/nccl/tuning/collective_class.h"
#include "plugins/nccl/tuning/cost_table.h"

namespace hocket::nccl {

inline constexpr int kMostChannels = 32;

/// The way to take for a class of collectives. The default leaves everything to NCCL.
struct Choice {
  std::int8_t algorithm = -1;  ///< -1: NCCL's own
  std::int8_t protocol = -1;   ///< -1: NCCL's own; set exactly when the algorithm is
  std::uint8_t channels = 0;   ///< 0: NCCL's own

  bool is_default() const { return algorithm < 0 && channels == 0; }
  bool operator==(const Choice&) const = default;
};

/// Returns what NCCL would take: the smallest cost that is not negative, the first of equal ones;
/// algorithm -1 if everything is forbidden.
Choice cheapest(const CostTable& costs);

/// Makes NCCL take the choice. Returns false and changes nothing if that is forbidden here.
bool apply(const Choice& choice, const CostTable& costs, int* channels);

/// Returns the words of NCCL's numbers: "collnet_direct", "ll128". Require a valid number.
const char* algorithm_word(int algorithm);
const char* protocol_word(int protocol);
/// Returns "ring_simple"; "default" for NCCL's own.
std::string arm_word(int algorithm, int protocol);
/// Returns the choice of a word, without channels; false for an unknown word.
bool read_arm(std::string_view word, Choice& choice);
/// Returns "default" or the number.
std::string channels_word(int channels);

/// Returns "ring_simple, 8 channels"; "NCCL's own choice".
std::string to_string(const Choice& choice);

/// The words of a class's arms, "default" first. They depend on the function alone, so that all
/// jobs have the same knobs: ring, for all-reduces also tree; with `all` the rest, whose first use
/// may allocate much memory.
std::vector<std::string> arm_words(Function function, bool all);

/// An arm with NCCL's prediction.
struct PredictedArm {
  std::string word;
  float us = 0;
};

/// Returns the arms of `words` that the table allows, without "default", the cheapest first.
std::vector<PredictedArm> predicted(const std::vector<std::string>& words, const CostTable& costs);

}  // namespace hocket::nccl
