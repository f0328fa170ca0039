#pragma once

// The configurations that a site ships to all its users, in a file that only administrators write
// (core/sharing/shared_configs.h). A job takes one as its last source before the default, without a
// store or a daemon of its own. Thread-safe.

#include <cstdint>
#include <optional>
#include <string>

#include "client/link/environment.h"
#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "core/protocol/config_source.h"

namespace hocket {

inline constexpr const char* kSiteConfigsPath = "/etc/hocket/configs.json";

/// Returns $HOCKET_SITE_CONFIGS, otherwise kSiteConfigsPath; nothing if the variable is empty.
std::optional<std::string> site_configs_path(const Environment& environment);

/// Reads the whole file, at most kMaxSharedConfigsBytes; nothing if there is none. Refuses one that
/// everybody can change (core/files/owned_path.h).
Result<std::optional<std::string>> read_site_configs(const std::string& path);

/// Returns the configuration of exactly this key, with the source "site"; nothing if there is no
/// file, or it has none. Takes at most `timeout_ns`, whatever the file system does.
Result<std::optional<StoredConfig>> find_site_config(const std::string& path, const ConfigKey& key,
                                                     std::int64_t timeout_ns);

}  // namespace hocket
