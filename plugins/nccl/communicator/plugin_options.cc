#include "plugins/nccl/communicator/plugin_options.h"

#include <cstdlib>
#include <string_view>

namespace hocket::nccl {
namespace {

void report(PluginOptions& options, const char* name, std::string_view value,
            const char* expected) {
  options.problem += (options.problem.empty() ? "" : "; ") + std::string(name) + "=" +
                     std::string(value.substr(0, 60)) + ": expected " + expected;
}

}  // namespace

PluginOptions read_options(EnvironmentOf environment) {
  PluginOptions options;
  const auto value_of = [&](const char* name) {
    const char* value = environment(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  const auto read_word = [&](const char* name, std::string_view no, std::string_view yes,
                             const char* expected, bool& target) {
    const std::string_view value = value_of(name);
    if (value.empty() || value == no) return;
    if (value == yes) {
      target = true;
    } else {
      report(options, name, value, expected);
    }
  };
  read_word("HOCKET_NCCL", "on", "off", "on or off", options.is_off);
  read_word("HOCKET_NCCL_REPRODUCIBLE", "0", "1", "0 or 1", options.is_reproducible);
  read_word("HOCKET_NCCL_ARMS", "usual", "all", "usual or all", options.all_arms);
  read_word("HOCKET_NCCL_STEP_BACK", "1", "0", "0 or 1", options.stays_on);
  const std::string explore(value_of("HOCKET_NCCL_EXPLORE"));
  if (explore.empty()) return options;
  char* end = nullptr;
  const double share = std::strtod(explore.c_str(), &end);
  if (*end == '\0' && share >= 0 && share <= 0.5) {
    options.explore = share;
  } else {
    report(options, "HOCKET_NCCL_EXPLORE", explore, "a share from 0 to 0.5");
  }
  return options;
}

}  // namespace hocket::nccl
