#pragma once

// The environment in which NCCL loads hocket's plugin (docs/guides/nccl.md). Looks for files; any
// thread.

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "client/link/environment.h"
#include "core/base/result.h"

namespace hocket {

inline constexpr const char* kNcclTunerLibrary = "libnccl-tuner-hocket.so";
inline constexpr const char* kNcclProfilerLibrary = "libnccl-profiler-hocket.so";

/// Options of `hocket nccl`. An absent one leaves its variable as the environment has it.
struct NcclSettings {
  std::string daemon = {};             ///< empty: absent
  std::optional<double> explore = {};  ///< a share of the training time
};

/// Returns the folder of the plugin's two libraries and the client library, beside `program`, the
/// path of this one: an installation's library folder, or ../lib. Returns not_found, naming both,
/// where neither has the plugin.
Result<std::filesystem::path> nccl_plugin_folder(const std::filesystem::path& program);

/// Returns the variables of the settings.
std::map<std::string, std::string> variables_of(const NcclSettings& settings);

/// Returns the variables to set on every rank. Plugins that `environment` names are called by
/// hocket's, which NCCL loads in their place.
Result<std::map<std::string, std::string>> nccl_environment(const NcclSettings& settings,
                                                            const std::filesystem::path& program,
                                                            const Environment& environment);

/// Returns the text of a file of NCCL's, /etc/nccl.conf or ~/.nccl.conf, with lines that set these
/// variables; all other lines stay. Returns invalid_argument if a line sets one to another value.
Result<std::string> with_variables(const std::string& text,
                                   const std::map<std::string, std::string>& variables);

}  // namespace hocket
