#pragma once

// Selects one of a daemon's configurations for `hocket fetch`. The daemon describes a topology by
// its readable name (readable_name, core/protocol/topology.h) and its fingerprint. One thread; the
// choice is pure.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "archive/promotions/promotion_choice.h"
#include "cli/inputs/access/daemon_access.h"
#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "core/protocol/topology.h"

namespace hocket {

struct DaemonPromotion {
  ConfigKey key;
  std::string workload, topology;  ///< names
  std::int64_t version = 0;        ///< released version; 0: none
  std::string program = {};        ///< of a plain command
};

/// Parses the response of GET /v1/configs. Skips entries of an unknown form.
std::vector<DaemonPromotion> promotions_of(const nlohmann::json& answer);

/// Returns the matching configuration, and of a plain command tuned over different parameters the
/// one promoted last. not_found lists the available ones; other matches than one are an error that
/// lists them.
Result<DaemonPromotion> choose(const std::vector<DaemonPromotion>& promotions,
                               const PromotionChoice& choice, const Topology& host);

struct DaemonVersion {
  DaemonPromotion promotion;
  nlohmann::json answer;  ///< of GET /v1/configs/{key}
};

/// Asks the daemon for its configurations, and for the current version of the one that `choice`
/// selects on this host.
Result<DaemonVersion> ask_for_version(const DaemonChoice& daemon, const PromotionChoice& choice);

}  // namespace hocket
