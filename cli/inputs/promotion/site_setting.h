#pragma once

// The settings that a site ships to all its users (client/start/site_configs.h), for commands of
// whose key neither the store nor the daemon knows anything. One thread.

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "core/base/result.h"
#include "store/store.h"

namespace hocket {

/// Returns a store in memory with the site's configurations that `own` would take as defaults, all
/// of them if it is null; null if there are none.
Result<std::unique_ptr<Store>> site_store(Store* own);

/// The same beside a daemon, whose keys are `listed` (GET /v1/configs).
Result<std::unique_ptr<Store>> site_store_beside(const nlohmann::json& listed);

}  // namespace hocket
