#pragma once

// Finds the most similar job that has a configuration, for a job without one. Thread-safe.

#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "store/store.h"

namespace hocket {

struct Neighbour {
  ConfigKey key;
  double distance = 0;     ///< as in tuner/archive/job_similarity.h
  std::string difference;  ///< for the user: "4 ranks instead of 2"
  PromotionRow promotion;  ///< current promotion of `key`
};

/// Returns, among the keys with a current promotion, the nearest to `own` within kFarthestDonor;
/// nothing if there is none. Requires that `own` is in the store.
Result<std::optional<Neighbour>> find_neighbour(Store& store, const ConfigKey& own);

}  // namespace hocket
