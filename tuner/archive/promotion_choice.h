#pragma once

// Which of the promoted configurations is meant. The choice is pure.

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/topology.h"
#include "store/store.h"

namespace hocket {

/// What a topology and a workload have.
struct Promoted {
  PromotionRow promotion;           ///< the current version; where none is released, the newest
  std::vector<PromotionRow> newer;  ///< what came after it, and no job gets
  WorkloadRow workload;
  std::string topology_fingerprint;
  Topology topology;
};

/// What a user says; what is empty matches everything.
struct PromotionChoice {
  std::string workload = {};  ///< name, or the start of the fingerprint
  std::string topology =
      {};  ///< start of the fingerprint; without it, this host's hardware is meant
  std::optional<int> world_size = {};
  std::string link = {};  ///< as in the topology; "emulated" may be left out
};

/// Of every pair that has a version.
Result<std::vector<Promoted>> latest_promotions(Store& store);

/// Of those that have a released one.
Result<std::vector<Promoted>> current_promotions(Store& store);

/// Whether both are the same kind of host: processor, cores and memory.
bool same_hardware(const Topology& a, const Topology& b);

std::vector<Promoted> matching(const std::vector<Promoted>& promoted, const PromotionChoice& choice,
                               const Topology& host);

/// The one that matches. not_found says which there are; several are an error that lists them with
/// the options that choose.
Result<Promoted> choose(const std::vector<Promoted>& promoted, const PromotionChoice& choice,
                        const Topology& host);

/// The arguments of `hocket fetch` that choose `wanted`, which is one of `promoted`: as few as do.
std::vector<std::string> fetch_arguments(const std::vector<Promoted>& promoted,
                                         const Promoted& wanted, const Topology& host);

}  // namespace hocket
