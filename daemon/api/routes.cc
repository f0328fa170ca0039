#include "daemon/api/routes.h"

#include <array>
#include <optional>

namespace hocket {
namespace {

constexpr std::array kRoutes = {
    Route{"GET", "/", Operation::page, Role::anyone},
    Route{"GET", "/page/{version}/{file}", Operation::asset, Role::anyone},
    Route{"GET", "/page/{version}/{folder}/{file}", Operation::nested_asset, Role::anyone},
    Route{"GET", "/healthz", Operation::health, Role::anyone},
    Route{"GET", "/readyz", Operation::ready, Role::anyone},
    Route{"GET", "/metrics", Operation::metrics, Role::read},
    Route{"GET", "/v1/openapi.json", Operation::description, Role::anyone},
    Route{"GET", "/v1/whoami", Operation::who, Role::read},
    Route{"GET", "/v1/changes", Operation::changes, Role::read},
    Route{"GET", "/v1/knobs", Operation::knobs, Role::read},
    Route{"POST", "/v1/resolve", Operation::resolve, Role::report},
    Route{"GET", "/v1/configs", Operation::list_configs, Role::read},
    Route{"GET", "/v1/configs/{key}", Operation::get_config, Role::read},
    Route{"PUT", "/v1/configs/{key}", Operation::push_config, Role::admin},
    Route{"PUT", "/v1/configs/{key}/pin", Operation::pin_config, Role::admin},
    Route{"PUT", "/v1/configs/{key}/freeze", Operation::freeze_config, Role::admin},
    Route{"PUT", "/v1/configs/{key}/rollback", Operation::roll_back_config, Role::admin},
    Route{"POST", "/v1/configs/{key}/preview", Operation::preview_config, Role::read},
    Route{"GET", "/v1/configs/{key}/versions", Operation::list_versions, Role::read},
    Route{"GET", "/v1/watch", Operation::watch, Role::read},
    Route{"GET", "/v1/jobs", Operation::list_jobs, Role::read},
    Route{"POST", "/v1/jobs", Operation::enter_job, Role::report},
    Route{"POST", "/v1/jobs/{job}/profile", Operation::profile_job, Role::admin},
    Route{"GET", "/v1/jobs/{job}/stragglers", Operation::job_stragglers, Role::read},
    Route{"POST", "/v1/reports", Operation::report, Role::report},
    Route{"PUT", "/v1/meetings/{meeting}", Operation::put_meeting, Role::report},
    Route{"GET", "/v1/meetings/{meeting}", Operation::get_meeting, Role::report},
    Route{"GET", "/v1/studies", Operation::list_studies, Role::read},
    Route{"POST", "/v1/studies", Operation::create_study, Role::report},
    Route{"GET", "/v1/studies/{study}", Operation::get_study, Role::read},
    Route{"GET", "/v1/studies/{study}/trials", Operation::list_trials, Role::read},
    Route{"POST", "/v1/studies/{study}/ask", Operation::ask, Role::report},
    Route{"POST", "/v1/studies/{study}/tell", Operation::tell, Role::report},
    Route{"POST", "/v1/studies/{study}/renew", Operation::renew, Role::report},
    Route{"POST", "/v1/studies/{study}/workers/claim", Operation::claim_trial, Role::report},
    Route{"POST", "/v1/studies/{study}/workers/renew", Operation::renew_worker, Role::report},
    Route{"POST", "/v1/studies/{study}/workers/leave", Operation::leave_worker, Role::report},
    Route{"POST", "/v1/studies/{study}/workers/finish", Operation::finish_trial, Role::report},
    Route{"GET", "/v1/studies/{study}/explanation", Operation::explain_study, Role::read},
    Route{"GET", "/v1/studies/{study}/plots/{plot}", Operation::plot_study, Role::read},
    Route{"GET", "/v1/profiles", Operation::list_profiles, Role::read},
    Route{"GET", "/v1/profiles/{profile}", Operation::get_profile, Role::read},
    Route{"GET", "/v1/profiles/{profile}/diff/{other}", Operation::diff_profile, Role::read},
    Route{"GET", "/v1/profiles/{profile}/trace", Operation::get_trace, Role::read},
    Route{"GET", "/v1/profiles/{profile}/timeline", Operation::get_timeline, Role::read},
    Route{"GET", "/v1/profiles/{profile}/timeline/tile", Operation::get_tile, Role::read},
    Route{"GET", "/v1/profiles/{profile}/timeline/record", Operation::get_record, Role::read},
    Route{"GET", "/v1/profiles/{profile}/timeline/range", Operation::get_range, Role::read},
    Route{"GET", "/v1/profiles/{profile}/timeline/find", Operation::find_record, Role::read},
    Route{"POST", "/v1/traces", Operation::make_trace_set, Role::report},
    Route{"PUT", "/v1/traces/{set}/{rank}", Operation::put_trace, Role::report},
    Route{"GET", "/v1/traces/{set}/{rank}", Operation::get_served_trace, Role::read},
    Route{"POST", "/v1/simulate", Operation::simulate, Role::read},
    Route{"GET", "/v1/audit", Operation::audit, Role::read},
};

/// Returns the parameters of `pattern` if `segments` match it.
std::optional<std::map<std::string, std::string, std::less<>>> match(
    std::string_view pattern, const std::vector<std::string>& segments) {
  std::map<std::string, std::string, std::less<>> parameters;
  if (pattern == "/") pattern = {};
  for (const std::string& segment : segments) {
    if (pattern.empty()) return std::nullopt;
    pattern.remove_prefix(1);  // "/"
    const auto part = pattern.substr(0, pattern.find('/'));
    pattern.remove_prefix(part.size());
    if (part.starts_with('{')) {
      parameters.emplace(part.substr(1, part.size() - 2), segment);
    } else if (part != segment) {
      return std::nullopt;
    }
  }
  if (!pattern.empty()) return std::nullopt;
  return parameters;
}

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

FoundRoute find_route(std::string_view method, const std::vector<std::string>& segments) {
  FoundRoute found;
  for (const Route& route : kRoutes) {
    auto parameters = match(route.pattern, segments);
    if (!parameters) continue;
    if (!found.allowed.empty()) found.allowed += ", ";
    found.allowed += route.method;
    if (route.method != (method == "HEAD" ? "GET" : method)) continue;
    found.route = &route;
    found.parameters = std::move(*parameters);
  }
  return found;
}

}  // namespace hocket
