#pragma once

// The nearest job that has a configuration, for one that has none. Thread-safe.

#include <optional>
#include <string>

#include "core/config_key.h"
#include "core/result.h"
#include "store/store.h"

namespace hocket {

struct Neighbour {
  ConfigKey key;
  double distance = 0;     ///< tuner/similarity.h
  std::string difference;  ///< for people: "4 ranks instead of 2"
  PromotionRow promotion;  ///< its current one
};

/// Of the keys with a current promotion that nearest to `own`, which is in the store, and at most
/// kFarthestDonor away; nothing when there is none.
Result<std::optional<Neighbour>> find_neighbour(Store& store, const ConfigKey& own);

}  // namespace hocket
