#pragma once

// The routes of the HTTP interface. Each is a row in the file of daemon/api/handlers that has its
// handler; docs/openapi.json documents it, and a test checks that the two agree. Constant; any
// thread.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "daemon/api/token_file.h"
#include "daemon/http/service.h"

namespace hocket {

struct RouteCall;  // daemon/api/handlers/call.h

/// For ApiRoute::at_once: the handler replies from memory within microseconds, with a Response or
/// an EventStream, and runs on the server's I/O thread.
inline constexpr bool kAtOnce = true;

struct ApiRoute {
  std::string_view method;
  std::string_view pattern;  ///< "/v1/configs/{key}/pin"
  AccessRole role;           ///< minimum role required
  Result<ServiceReply> (*handler)(const RouteCall& call);
  RequestLabour labour = RequestLabour::brief;
  bool at_once = false;  ///< see kAtOnce; a refusal is still the work of `labour`
};

/// Returns all routes. No two rows with the same method match the same path.
std::span<const ApiRoute> api_routes();

struct FoundRoute {
  const ApiRoute* route = nullptr;  ///< null if no route has this path, or none has this method
  /// Values of the pattern's parameters, by name.
  std::map<std::string, std::string, std::less<>> parameters = {};
  /// Methods allowed for the path, such as "GET, PUT"; empty if no route has the path.
  std::string allowed = {};
};

/// Finds the route of a request. `segments` must be decoded (daemon/http/request_target.h).
/// HEAD matches GET.
FoundRoute find_route(std::string_view method, const std::vector<std::string>& segments);

}  // namespace hocket
