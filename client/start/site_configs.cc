#include "client/start/site_configs.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/bounded_call.h"
#include "core/files/owned_path.h"
#include "core/files/regular_file.h"
#include "core/sharing/shared_configs.h"
#include "core/step/schedule_config.h"

namespace hocket {
namespace {

Result<std::optional<StoredConfig>> look_up(const std::string& path, const ConfigKey& key) {
  const auto text = read_site_configs(path);
  HOCKET_TRY(text);
  if (!*text) return std::nullopt;
  const auto shared = find_shared_config(**text, key);
  HOCKET_TRY(shared);
  // One of parameters alone is for a command, which takes no configuration of the scheduler.
  if (!*shared || !(*shared)->config.contains("format")) return std::nullopt;
  auto config = schedule_config_from_json((*shared)->config);
  HOCKET_TRY(config);
  StoredConfig found;
  found.config = std::move(*config);
  found.source = "site";
  found.origin = provenance_text(**shared) + ", in " + path;
  return found;
}

}  // namespace

std::optional<std::string> site_configs_path(const Environment& environment) {
  const auto path = environment("HOCKET_SITE_CONFIGS");
  if (!path) return kSiteConfigsPath;
  if (path->empty()) return std::nullopt;
  return path;
}

Result<std::optional<std::string>> read_site_configs(const std::string& path) {
  std::error_code error;
  const std::string real = std::filesystem::canonical(path, error).string();
  if (error == std::errc::no_such_file_or_directory) return std::nullopt;
  if (error) return failure(ErrorCode::unavailable, path + ": " + error.message());
  HOCKET_TRY(check_not_everybodys(real));
  auto text = read_regular_file(real, kMaxSharedConfigsBytes);
  if (!text && text.error().code == ErrorCode::not_found) return std::nullopt;
  HOCKET_TRY(text);
  return std::optional(std::move(*text));
}

Result<std::optional<StoredConfig>> find_site_config(const std::string& path, const ConfigKey& key,
                                                     std::int64_t timeout_ns) {
  const std::string name = "the site's configurations in " + path;
  auto found = call_within(timeout_ns, name, [path, key] { return look_up(path, key); });
  if (!found) return failure(found.error().in(name));
  return found;
}

}  // namespace hocket
