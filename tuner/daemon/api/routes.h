#pragma once

// The table of routes, and which one a request is for. Pure; thread-safe.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/daemon/api/tokens.h"

namespace hocket {

enum class Operation {
  health,
  ready,
  metrics,
  description,
  resolve,
  list_configs,
  get_config,
  push_config,
  pin_config,
  freeze_config,
  roll_back_config,
  watch,
  list_jobs,
  enter_job,
  profile_job,
  report,
  list_studies,
  create_study,
  get_study,
  list_trials,
  ask,
  tell,
  renew,
  audit,
};

struct Route {
  std::string_view method;
  std::string_view pattern;  ///< "/v1/configs/{key}/pin"
  Operation operation;
  Role role;  ///< that is needed, at least
};

std::span<const Route> routes();

struct FoundRoute {
  const Route* route = nullptr;  ///< null: none has this path, or none this method
  /// Of the pattern's names, by name.
  std::map<std::string, std::string, std::less<>> parameters = {};
  /// The methods that the path has, "GET, PUT"; empty: no such path.
  std::string allowed = {};
};

/// `segments` are decoded (tuner/daemon/http/request_target.h). HEAD is GET.
FoundRoute find_route(std::string_view method, const std::vector<std::string>& segments);

}  // namespace hocket
