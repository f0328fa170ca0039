#pragma once

// The keys of a store as a daemon lists them (GET /v1/configs, docs/openapi.json): written by the
// daemon, read by its clients. A daemon may be of another version than its client, and may say
// anything. Pure functions; thread-safe.

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "archive/promotions/promotion_choice.h"
#include "store/rows.h"

namespace hocket {

/// Returns the entry of a key. The daemon adds what it knows of live tuning.
nlohmann::json to_json(const KeyRow& key, const TopologyRow& topology, const WorkloadRow& workload);

struct ListedPromotions {
  std::vector<PromotionCandidate> current;  ///< keys with a configuration that jobs get
  std::vector<PromotionCandidate> others;   ///< keys without a version, or back at their default
};

/// Reads a list. Skips entries without a readable key. Where a topology is missing, because the
/// daemon is older, or cannot be read, it is unknown; it is never taken from its name.
ListedPromotions listed_promotions(const nlohmann::json& answer);

}  // namespace hocket
