#include "cli/process/own_job.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "core/host/launcher_variables.h"

namespace hocket {
namespace {

bool has(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::count(names, name) > 0;
}

bool has_start(std::span<const std::string_view> prefixes, std::string_view name) {
  return std::ranges::any_of(prefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

/// Returns whether a launcher has set `name` for a rank, or for itself.
bool is_of_rank(std::string_view name, const LauncherVariables& launcher, bool is_step) {
  if (name == launcher.rank || name == launcher.local_rank || has(launcher.names, name) ||
      has_start(launcher.prefixes, name)) {
    return true;
  }
  const bool is_size = name == launcher.size || name == launcher.local_size;
  if (launcher.step == nullptr) return is_size;
  return is_step &&
         (is_size || has(launcher.step_names, name) || has_start(launcher.step_prefixes, name));
}

}  // namespace

std::vector<std::string> rank_variables(const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    const bool is_found =
        std::ranges::any_of(launcher_variables(), [&](const LauncherVariables& launcher) {
          const bool is_step = launcher.step && std::ranges::count(names, launcher.step) > 0;
          return is_of_rank(name, launcher, is_step);
        });
    if (is_found) found.push_back(name);
  }
  return found;
}

std::string rank_on_host() {
  for (const LauncherVariables& launcher : launcher_variables()) {
    if (const char* rank = getenv(launcher.local_rank)) return rank;
  }
  return "0";
}

void forget_rank() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    names.emplace_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : rank_variables(names)) unsetenv(name.c_str());
}

}  // namespace hocket
