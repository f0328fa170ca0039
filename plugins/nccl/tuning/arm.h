#pragma once

// Ways of doing a collective that can be tried: an algorithm with a protocol, and a number of
// channels. Pure functions; thread-safe.
//
// NCCL's table of costs (float[algorithms][protocols], predicted microseconds) says what is
// possible: a negative cost forbids a way, for this collective or because the user has set
// NCCL_ALGO or NCCL_PROTO. NCCL takes the smallest cost that is not negative.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/nccl/tuning/collective_class.h"

namespace hocket::nccl {

/// Algorithms and protocols by NCCL's numbers.
inline constexpr int kTree = 0, kRing = 1;
inline constexpr int kAlgorithms = 7, kProtocols = 3;
inline constexpr int kMostChannels = 32;

/// What is wanted for a class of collectives. The default leaves everything to NCCL.
struct Choice {
  std::int8_t algorithm = -1;  ///< -1: NCCL's own
  std::int8_t protocol = -1;   ///< -1: NCCL's own; set exactly when the algorithm is
  std::uint8_t channels = 0;   ///< 0: NCCL's own

  bool is_default() const { return algorithm < 0 && channels == 0; }
  bool operator==(const Choice&) const = default;
};

/// Predicted microseconds, as NCCL gives them.
struct Costs {
  float* us = nullptr;
  int algorithms = 0;
  int protocols = 0;

  float& at(int algorithm, int protocol) const { return us[algorithm * protocols + protocol]; }
  bool allows(int algorithm, int protocol) const {
    return algorithm >= 0 && algorithm < algorithms && protocol >= 0 && protocol < protocols &&
           at(algorithm, protocol) >= 0;
  }
};

/// Returns what NCCL would take: the smallest cost that is not negative, the first of equal ones;
/// algorithm -1 if everything is forbidden.
Choice cheapest(const Costs& costs);

/// Makes NCCL take the choice. Returns false and changes nothing if that is forbidden here.
bool apply(const Choice& choice, const Costs& costs, int* channels);

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
std::vector<PredictedArm> predicted(const std::vector<std::string>& words, const Costs& costs);

}  // namespace hocket::nccl
