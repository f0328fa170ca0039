#pragma once

// Parameters and results common to all handlers, and where their routes are. Each call belongs to
// one thread; the parts are shared.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "daemon/api/api.h"
#include "daemon/api/routes.h"
#include "daemon/http/request_target.h"

namespace hocket {

struct RouteCall {
  ApiParts& parts;
  const ServiceRequest& request;
  const RequestTarget& target;
  const FoundRoute& route;
  const ClientIdentity& who;
  bool is_last = false;  ///< must not return AwaitEvent again

  /// Parses the body, a JSON object; an empty body gives {}.
  Result<nlohmann::json> body() const;
  /// Returns the number `name` from the query, or `otherwise` if it is absent.
  Result<std::int64_t> number(std::string_view name, std::int64_t low, std::int64_t high,
                              std::int64_t otherwise) const;
  /// Returns the `{key}` of the path.
  Result<ConfigKey> key() const;
  /// Returns who asks, for the audit: "ada@10.0.0.3", the token's name and the client's address.
  std::string actor() const;
  /// Returns whether who asks may change what belongs to `owner`, the name of a token: whoever has
  /// the role `report` and that name, and administrators.
  bool may_act_for(std::string_view owner) const;
  /// Returns the value of a parameter that the route has.
  const std::string& parameter(std::string_view name) const;
  const std::string& study() const { return parameter("study"); }
};

/// Returns the answer `document` of a list, with "unreadable", what is said of the rows that it
/// leaves out, if there are any.
nlohmann::json with_unread(nlohmann::json document, const UnreadRows& unread);

ServiceResponse json_response(const nlohmann::json& document, int status = 200);
/// Returns a response that is no text. A browser keeps it for a minute, since what it is of never
/// changes but its name may be used again.
ServiceResponse bytes_response(std::string bytes);
ServiceResponse error_response(int status, std::string_view code, const std::string& message);
/// Returns a response with status 403: the role suffices, but this belongs to another token.
ServiceResponse forbidden(const std::string& message);
/// Returns a response with status 400, 404 or 503; 503 with Retry-After.
ServiceResponse error_response(const Error& error);

/// Returns whether the field If-None-Match contains `etag`.
bool has_etag(std::string_view if_none_match, std::string_view etag);

/// The routes of each subject, in the file that has their handlers.
std::span<const ApiRoute> config_routes();
std::span<const ApiRoute> explanation_routes();
std::span<const ApiRoute> health_routes();
std::span<const ApiRoute> job_routes();
std::span<const ApiRoute> meeting_routes();
std::span<const ApiRoute> page_routes();
std::span<const ApiRoute> preview_routes();
std::span<const ApiRoute> profile_routes();
std::span<const ApiRoute> simulation_routes();
std::span<const ApiRoute> study_routes();
std::span<const ApiRoute> trace_routes();
std::span<const ApiRoute> worker_routes();

}  // namespace hocket
