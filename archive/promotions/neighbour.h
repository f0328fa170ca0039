#pragma once

// The nearest job that has a configuration, for a job that has none. Thread-safe.

#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "store/store.h"

namespace hocket {

struct NeighbourKey {
  ConfigKey key;
  double distance = 0;     ///< archive/studies/job_similarity.h
  std::string difference;  ///< as people read it: "4 ranks instead of 2"
  PromotionRow promotion;  ///< the current one of `key`
};

/// Returns the key nearest to `own` that has a current promotion and is at most kFarthestDonor
/// away; nothing when there is none, or when `own` is not in the store.
Result<std::optional<NeighbourKey>> find_neighbour(Store& store, const ConfigKey& own);

}  // namespace hocket
