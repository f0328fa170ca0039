#pragma once

// Parameters and results common to all handlers. Each call belongs to one thread; the parts are
// shared.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/api/api.h"
#include "daemon/http/request_target.h"

namespace hocket {

struct Call {
  ApiParts& parts;
  const Request& request;
  const RequestTarget& target;
  const FoundRoute& route;
  const Identity& who;
  bool is_last = false;  ///< must not return Await again

  /// Parses the body, a JSON object; an empty body gives {}.
  Result<nlohmann::json> body() const;
  /// Returns the number `name` from the query, or `otherwise` if it is absent.
  Result<std::int64_t> number(std::string_view name, std::int64_t low, std::int64_t high,
                              std::int64_t otherwise) const;
  /// Returns the `{key}` of the path.
  Result<ConfigKey> key() const;
  /// Returns who asks, for the audit: "ada@10.0.0.3", the token's name and the client's address.
  std::string actor() const;
  /// Returns the value of a parameter that the route has.
  const std::string& parameter(std::string_view name) const {
    return route.parameters.find(name)->second;
  }
  const std::string& study() const { return parameter("study"); }
};

Response json_response(const nlohmann::json& document, int status = 200);
/// Returns a response that is no text. A browser keeps it for a minute, since what it is of never
/// changes but its name may be used again.
Response bytes_response(std::string bytes);
Response error_response(int status, std::string_view code, const std::string& message);
/// Returns a response with status 400, 404 or 503; 503 with Retry-After.
Response error_response(const Error& error);

/// Returns whether the field If-None-Match contains `etag`.
bool has_etag(std::string_view if_none_match, std::string_view etag);

Result<Reply> page(const Call& call);
Result<Reply> page_asset(const Call& call);
Result<Reply> who(const Call& call);
Result<Reply> changes(const Call& call);
Result<Reply> knobs(const Call& call);
Result<Reply> resolve(const Call& call);
Result<Reply> list_configs(const Call& call);
Result<Reply> get_config(const Call& call);
Result<Reply> push_config(const Call& call);
Result<Reply> pin_config(const Call& call);
Result<Reply> freeze_config(const Call& call);
Result<Reply> roll_back_config(const Call& call);
Result<Reply> preview_config(const Call& call);
Result<Reply> list_versions(const Call& call);
Result<Reply> watch(const Call& call);
Result<Reply> list_jobs(const Call& call);
Result<Reply> enter_job(const Call& call);
Result<Reply> profile_job(const Call& call);
Result<Reply> job_stragglers(const Call& call);
Result<Reply> report(const Call& call);
Result<Reply> put_meeting(const Call& call);
Result<Reply> get_meeting(const Call& call);
Result<Reply> list_studies(const Call& call);
Result<Reply> create_study(const Call& call);
Result<Reply> get_study(const Call& call);
Result<Reply> list_trials(const Call& call);
Result<Reply> ask(const Call& call);
Result<Reply> tell(const Call& call);
Result<Reply> renew(const Call& call);
Result<Reply> claim_trial(const Call& call);
Result<Reply> renew_worker(const Call& call);
Result<Reply> leave_worker(const Call& call);
Result<Reply> finish_trial(const Call& call);
Result<Reply> explain_study(const Call& call);
Result<Reply> plot_study(const Call& call);
Result<Reply> list_profiles(const Call& call);
Result<Reply> get_profile(const Call& call);
Result<Reply> diff_profile(const Call& call);
Result<Reply> get_trace(const Call& call);
Result<Reply> get_timeline(const Call& call);
Result<Reply> get_tile(const Call& call);
Result<Reply> get_record(const Call& call);
Result<Reply> get_range(const Call& call);
Result<Reply> find_record(const Call& call);
Result<Reply> make_trace_set(const Call& call);
Result<Reply> put_trace(const Call& call);
Result<Reply> get_served_trace(const Call& call);
Result<Reply> simulate_step(const Call& call);
Result<Reply> audit(const Call& call);

}  // namespace hocket
