#pragma once

// The table of routes, and the lookup of a request's route. Pure; thread-safe.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/api/tokens.h"

namespace hocket {

enum class Operation {
  page,
  asset,
  nested_asset,
  who,
  changes,
  knobs,
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
  preview_config,
  list_versions,
  watch,
  list_jobs,
  enter_job,
  profile_job,
  job_stragglers,
  report,
  put_meeting,
  get_meeting,
  list_studies,
  create_study,
  get_study,
  list_trials,
  ask,
  tell,
  renew,
  claim_trial,
  renew_worker,
  leave_worker,
  finish_trial,
  explain_study,
  plot_study,
  list_profiles,
  get_profile,
  diff_profile,
  get_trace,
  get_timeline,
  get_tile,
  get_record,
  get_range,
  find_record,
  make_trace_set,
  put_trace,
  get_served_trace,
  simulate,
  audit,
};

struct Route {
  std::string_view method;
  std::string_view pattern;  ///< "/v1/configs/{key}/pin"
  Operation operation;
  Role role;  ///< minimum role required
};

std::span<const Route> routes();

struct FoundRoute {
  const Route* route = nullptr;  ///< null if no route has this path, or none has this method
  /// Values of the pattern's parameters, by name.
  std::map<std::string, std::string, std::less<>> parameters = {};
  /// Methods allowed for the path, such as "GET, PUT"; empty if no route has the path.
  std::string allowed = {};
};

/// Finds the route of a request. `segments` must be decoded (daemon/http/request_target.h).
/// HEAD matches GET.
FoundRoute find_route(std::string_view method, const std::vector<std::string>& segments);

}  // namespace hocket
