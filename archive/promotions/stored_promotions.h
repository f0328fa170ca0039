#pragma once

// The promoted configurations of a store. As thread-safe as the store is.

#include <string>
#include <vector>

#include "archive/promotions/promotion_choice.h"
#include "core/base/result.h"
#include "core/protocol/topology.h"
#include "store/store.h"

namespace hocket {

/// The versions of one topology and workload.
struct PromotedVersions {
  PromotionRow promotion;           ///< the current version; where none is released, the newest
  std::vector<PromotionRow> newer;  ///< later versions, which no job gets
  WorkloadRow workload;
  std::string topology_fingerprint;
  Topology topology;
};

/// Returns the versions of every pair that has one.
Result<std::vector<PromotedVersions>> latest_promotions(Store& store);

/// Returns those of latest_promotions() that have a released version which is a configuration.
Result<std::vector<PromotedVersions>> current_promotions(Store& store);

/// Returns what choose_promotion() decides on, in the same order.
std::vector<PromotionCandidate> candidates_of(const std::vector<PromotedVersions>& promoted);
PromotionCandidate candidate_of(const PromotedVersions& promoted);

/// Returns Workload::program of a row.
std::string program_of(const WorkloadRow& workload);

/// Returns the traits of a row's workload as people read them; empty without any.
std::string traits_of(const WorkloadRow& workload);

/// Returns the number of Workload::tensors of a row.
std::size_t tensor_count(const WorkloadRow& workload);

}  // namespace hocket
