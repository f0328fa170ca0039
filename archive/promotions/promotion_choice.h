#pragma once

// Chooses among promoted configurations, whether a store has them
// (archive/promotions/stored_promotions.h) or a daemon lists them
// (archive/promotions/promotion_list.h). Pure functions; thread-safe.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "core/protocol/topology.h"

namespace hocket {

/// A key and its current version, as far as a choice depends on them.
struct PromotionCandidate {
  ConfigKey key = {};
  std::int64_t version = 0;               ///< number of the current version; 0: none is released
  std::string workload = {};              ///< name
  std::string program = {};               ///< Workload::program
  std::string traits = {};                ///< Workload::traits, for people
  bool has_tensors = true;                ///< the workload names tensors, so it is no plain command
  std::string place = {};                 ///< name of the topology, for people
  std::optional<Topology> topology = {};  ///< absent where it is not known
  std::string why_unknown = {};           ///< reason for an absent topology, and the remedy

  bool operator==(const PromotionCandidate&) const = default;
};

/// The words of a user. An empty field matches everything.
struct PromotionChoice {
  std::string workload = {};  ///< name, program, or the start of the fingerprint
  /// Start of the fingerprint; empty: the topology has this host's hardware.
  std::string topology = {};
  std::optional<int> world_size = {};
  std::string link = {};  ///< as in the topology; "emulated" may be omitted
  /// The command that messages show around the options of another choice: `hocket fetch`, and what
  /// comes behind them, such as ` -- python train.py`.
  std::string command = "hocket fetch";
  std::string command_end = {};
};

/// Says whether both are the same kind of host: processor, cores and memory.
bool same_hardware(const Topology& a, const Topology& b);

enum class PromotionFit {
  no,
  yes,
  unknown,  ///< it depends on the topology, which is not known
};

PromotionFit fit_of(const PromotionCandidate& candidate, const PromotionChoice& choice,
                    const Topology& host);

/// Returns the index of the one that fits, and of those that differ in their parameters alone the
/// one promoted last. not_found lists what there is; several that fit are an error that lists them
/// with the options that choose. unavailable where one may fit whose topology is not known: nothing
/// is guessed from its name.
Result<std::size_t> choose_promotion(std::span<const PromotionCandidate> candidates,
                                     const PromotionChoice& choice, const Topology& host);

/// Returns the command of `choice`, between backticks, with the options that choose
/// `candidates[wanted]` on any host, in place of those of `choice`.
std::string choosing_command(std::span<const PromotionCandidate> candidates, std::size_t wanted,
                             const PromotionChoice& choice, const Topology& host);

/// Returns the fewest arguments of `hocket fetch` that choose `candidates[wanted]`, whose topology
/// is known.
std::vector<std::string> fetch_arguments(std::span<const PromotionCandidate> candidates,
                                         std::size_t wanted, const Topology& host);

}  // namespace hocket
