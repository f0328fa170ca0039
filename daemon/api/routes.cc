#include "daemon/api/routes.h"

#include "daemon/api/handlers/call.h"

namespace hocket {
namespace {

/// Removes the first part of a pattern, such as "{key}" of "/{key}/pin".
std::string_view cut_part(std::string_view& pattern) {
  pattern.remove_prefix(1);  // "/"
  const auto part = pattern.substr(0, pattern.find('/'));
  pattern.remove_prefix(part.size());
  return part;
}

bool is_parameter(std::string_view part) {
  return part.starts_with('{');
}

bool matches(std::string_view pattern, const std::vector<std::string>& segments) {
  if (pattern == "/") return segments.empty();
  for (const std::string& segment : segments) {
    if (pattern.empty()) return false;
    const auto part = cut_part(pattern);
    if (!is_parameter(part) && part != segment) return false;
  }
  return pattern.empty();
}

/// Returns the parameters of a pattern that matches `segments`.
std::map<std::string, std::string, std::less<>> parameters_of(
    std::string_view pattern, const std::vector<std::string>& segments) {
  std::map<std::string, std::string, std::less<>> parameters;
  for (const std::string& segment : segments) {
    const auto part = cut_part(pattern);
    if (is_parameter(part)) parameters.emplace(part.substr(1, part.size() - 2), segment);
  }
  return parameters;
}

std::vector<ApiRoute> all_routes() {
  std::vector<ApiRoute> all;
  for (const auto& subject :
       {page_routes(), health_routes(), config_routes(), preview_routes(), job_routes(),
        meeting_routes(), study_routes(), worker_routes(), explanation_routes(), profile_routes(),
        trace_routes(), simulation_routes()}) {
    all.insert(all.end(), subject.begin(), subject.end());
  }
  return all;
}

}  // namespace

std::span<const ApiRoute> api_routes() {
  static const std::vector<ApiRoute> all = all_routes();
  return all;
}

FoundRoute find_route(std::string_view method, const std::vector<std::string>& segments) {
  FoundRoute found;
  for (const ApiRoute& route : api_routes()) {
    if (!matches(route.pattern, segments)) continue;
    if (!found.allowed.empty()) found.allowed += ", ";
    found.allowed += route.method;
    if (route.method != (method == "HEAD" ? "GET" : method)) continue;
    found.route = &route;
    found.parameters = parameters_of(route.pattern, segments);
  }
  return found;
}

}  // namespace hocket
