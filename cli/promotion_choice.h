#pragma once

// Selects a promoted configuration. The choice is pure.

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/topology.h"
#include "store/store.h"

namespace hocket {

/// Promotions of a topology and workload.
struct Promoted {
  PromotionRow promotion;           ///< current version; the newest if none is released
  std::vector<PromotionRow> newer;  ///< later versions, which are not released to jobs
  WorkloadRow workload;
  std::string topology_fingerprint;
  Topology topology;
};

/// Criteria given by the user; an empty one matches everything.
struct PromotionChoice {
  std::string workload = {};  ///< name, or prefix of the fingerprint
  std::string topology = {};  ///< prefix of the fingerprint; empty: any with this host's hardware
  std::optional<int> world_size = {};
  std::string link = {};  ///< as in the topology; "emulated" may be omitted
};

/// Returns one entry for every pair with a version.
Result<std::vector<Promoted>> latest_promotions(Store& store);

/// Returns one entry for every pair with a released version.
Result<std::vector<Promoted>> current_promotions(Store& store);

/// Returns whether both are the same kind of host: processor, cores and memory.
bool same_hardware(const Topology& a, const Topology& b);

std::vector<Promoted> matching(const std::vector<Promoted>& promoted, const PromotionChoice& choice,
                               const Topology& host);

/// Returns the matching configuration. not_found lists the available ones; several matches are an
/// error that lists them with the options that distinguish them.
Result<Promoted> choose(const std::vector<Promoted>& promoted, const PromotionChoice& choice,
                        const Topology& host);

/// Returns the fewest arguments of `hocket fetch` that select `wanted`, which must be one of
/// `promoted`.
std::vector<std::string> fetch_arguments(const std::vector<Promoted>& promoted,
                                         const Promoted& wanted, const Topology& host);

}  // namespace hocket
