#pragma once

// Which of a daemon's configurations `hocket fetch` means. The daemon says of a topology what
// people read of it (readable_name, core/topology.h) and its fingerprint. The choice is pure.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/config_key.h"
#include "core/result.h"
#include "core/topology.h"
#include "tuner/archive/promotion_choice.h"

namespace hocket {

struct DaemonPromotion {
  ConfigKey key;
  std::string workload, topology;  ///< names
  std::int64_t version = 0;        ///< that is released; 0: none
};

/// What GET /v1/configs answers. Entries of another form are left out.
std::vector<DaemonPromotion> promotions_of(const nlohmann::json& answer);

/// The one that matches. not_found says which there are; several are an error that lists them.
Result<DaemonPromotion> choose(const std::vector<DaemonPromotion>& promotions,
                               const PromotionChoice& choice, const Topology& host);

}  // namespace hocket
