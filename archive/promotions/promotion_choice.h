#pragma once

// Chooses among the promoted configurations. Reading them is as thread-safe as the store; the
// choice is pure.

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/topology.h"
#include "store/store.h"

namespace hocket {

/// The versions of one topology and workload.
struct Promoted {
  PromotionRow promotion;           ///< the current version; where none is released, the newest
  std::vector<PromotionRow> newer;  ///< those after it, which no job gets
  WorkloadRow workload;
  std::string topology_fingerprint;
  Topology topology;
};

/// The words of a user. An empty field matches everything.
struct PromotionChoice {
  std::string workload = {};  ///< name, program, or the start of the fingerprint
  /// Start of the fingerprint; empty: the topology has this host's hardware.
  std::string topology = {};
  std::optional<int> world_size = {};
  std::string link = {};  ///< as in the topology; "emulated" may be omitted
};

/// Returns the versions of every pair that has one.
Result<std::vector<Promoted>> latest_promotions(Store& store);

/// Returns those of latest_promotions() that have a released version which is a configuration.
Result<std::vector<Promoted>> current_promotions(Store& store);

/// Returns Workload::program of a row.
std::string program_of(const WorkloadRow& workload);

/// Returns whether both are of one plain command in one place, tuned over other parameters.
bool is_same_but_parameters(const Promoted& a, const Promoted& b);

/// Says whether both are the same kind of host: processor, cores and memory.
bool same_hardware(const Topology& a, const Topology& b);

std::vector<Promoted> matching(const std::vector<Promoted>& promoted, const PromotionChoice& choice,
                               const Topology& host);

/// Returns the one that matches, and of those that differ in their parameters alone the one
/// promoted last. not_found lists what there is; other matches than one are an error that lists
/// them with the options that choose.
Result<Promoted> choose(const std::vector<Promoted>& promoted, const PromotionChoice& choice,
                        const Topology& host);

/// Returns the fewest arguments of `hocket fetch` that choose `wanted`, which is one of `promoted`.
std::vector<std::string> fetch_arguments(const std::vector<Promoted>& promoted,
                                         const Promoted& wanted, const Topology& host);

}  // namespace hocket
