#pragma once

// Asks a daemon for the configuration that a user's words select. One thread.

#include <nlohmann/json.hpp>

#include "archive/promotions/promotion_choice.h"
#include "cli/inputs/access/daemon_access.h"
#include "core/base/result.h"

namespace hocket {

struct DaemonVersion {
  PromotionCandidate promotion;
  nlohmann::json answer;  ///< body of GET /v1/configs/{key}
};

/// Asks the daemon for its configurations, and for the current version of the one that
/// choose_promotion() (archive/promotions/promotion_choice.h) selects on this host. Where it
/// selects none but a key that went back to its default, the version says so; not_found if that key
/// has no version.
Result<DaemonVersion> ask_for_version(const DaemonChoice& daemon, const PromotionChoice& choice);

/// Returns the daemon's list of configurations (GET /v1/configs).
Result<nlohmann::json> listed_configs(const DaemonChoice& daemon);

}  // namespace hocket
