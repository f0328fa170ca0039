#include "tuner/daemon/api/routes.h"

#include <array>
#include <optional>

namespace hocket {
namespace {

constexpr std::array kRoutes = {
    Route{"GET", "/healthz", Operation::health, Role::anyone},
    Route{"GET", "/readyz", Operation::ready, Role::anyone},
    Route{"GET", "/metrics", Operation::metrics, Role::read},
    Route{"GET", "/v1/openapi.json", Operation::description, Role::anyone},
    Route{"POST", "/v1/resolve", Operation::resolve, Role::report},
    Route{"GET", "/v1/configs", Operation::list_configs, Role::read},
    Route{"GET", "/v1/configs/{key}", Operation::get_config, Role::read},
    Route{"PUT", "/v1/configs/{key}", Operation::push_config, Role::admin},
    Route{"PUT", "/v1/configs/{key}/pin", Operation::pin_config, Role::admin},
    Route{"PUT", "/v1/configs/{key}/freeze", Operation::freeze_config, Role::admin},
    Route{"PUT", "/v1/configs/{key}/rollback", Operation::roll_back_config, Role::admin},
    Route{"GET", "/v1/configs/{key}/versions", Operation::list_versions, Role::read},
    Route{"GET", "/v1/watch", Operation::watch, Role::read},
    Route{"GET", "/v1/jobs", Operation::list_jobs, Role::read},
    Route{"POST", "/v1/jobs", Operation::enter_job, Role::report},
    Route{"POST", "/v1/jobs/{job}/profile", Operation::profile_job, Role::admin},
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
    Route{"GET", "/v1/audit", Operation::audit, Role::read},
};

/// Returns the parameters of `pattern` if `segments` match it.
std::optional<std::map<std::string, std::string, std::less<>>> match(
    std::string_view pattern, const std::vector<std::string>& segments) {
  std::map<std::string, std::string, std::less<>> parameters;
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
