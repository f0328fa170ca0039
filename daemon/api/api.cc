#include "daemon/api/api.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/api/handlers/call.h"
#include "daemon/metrics/metrics.h"

namespace hocket {
namespace {

constexpr std::string_view kConfigs = "/v1/configs/", kStudies = "/v1/studies/";

Response text_response(std::string text, std::string content_type) {
  Response response;
  response.content_type = std::move(content_type);
  response.body = std::make_shared<const std::string>(std::move(text));
  return response;
}

/// Not ready while the store cannot be reached, though the daemon serves what it knows.
Result<Reply> ready(const Call& call) {
  const auto count = call.parts.store.change_count();
  if (!count) return failure(count.error().in("degraded: only what is known here is served"));
  return json_response({{"status", "ready"}});
}

Result<Reply> dispatch(const Call& call) {
  switch (call.route.route->operation) {
    case Operation::page:
      return page(call);
    case Operation::asset:
    case Operation::nested_asset:
      return page_asset(call);
    case Operation::who:
      return who(call);
    case Operation::changes:
      return changes(call);
    case Operation::knobs:
      return knobs(call);
    case Operation::health:
      return json_response({{"status", "ok"}});
    case Operation::ready:
      return ready(call);
    case Operation::metrics:
      return text_response(call.parts.metrics(), kMetricsContentType);
    case Operation::description:
      return text_response(call.parts.description, "application/json");
    case Operation::resolve:
      return resolve(call);
    case Operation::list_configs:
      return list_configs(call);
    case Operation::get_config:
      return get_config(call);
    case Operation::push_config:
      return push_config(call);
    case Operation::pin_config:
      return pin_config(call);
    case Operation::freeze_config:
      return freeze_config(call);
    case Operation::roll_back_config:
      return roll_back_config(call);
    case Operation::preview_config:
      return preview_config(call);
    case Operation::list_versions:
      return list_versions(call);
    case Operation::watch:
      return watch(call);
    case Operation::list_jobs:
      return list_jobs(call);
    case Operation::enter_job:
      return enter_job(call);
    case Operation::profile_job:
      return profile_job(call);
    case Operation::job_stragglers:
      return job_stragglers(call);
    case Operation::report:
      return report(call);
    case Operation::put_meeting:
      return put_meeting(call);
    case Operation::get_meeting:
      return get_meeting(call);
    case Operation::list_studies:
      return list_studies(call);
    case Operation::create_study:
      return create_study(call);
    case Operation::get_study:
      return get_study(call);
    case Operation::list_trials:
      return list_trials(call);
    case Operation::ask:
      return ask(call);
    case Operation::tell:
      return tell(call);
    case Operation::renew:
      return renew(call);
    case Operation::claim_trial:
      return claim_trial(call);
    case Operation::renew_worker:
      return renew_worker(call);
    case Operation::leave_worker:
      return leave_worker(call);
    case Operation::finish_trial:
      return finish_trial(call);
    case Operation::explain_study:
      return explain_study(call);
    case Operation::plot_study:
      return plot_study(call);
    case Operation::list_profiles:
      return list_profiles(call);
    case Operation::get_profile:
      return get_profile(call);
    case Operation::diff_profile:
      return diff_profile(call);
    case Operation::get_trace:
      return get_trace(call);
    case Operation::get_timeline:
      return get_timeline(call);
    case Operation::get_tile:
      return get_tile(call);
    case Operation::get_record:
      return get_record(call);
    case Operation::get_range:
      return get_range(call);
    case Operation::find_record:
      return find_record(call);
    case Operation::make_trace_set:
      return make_trace_set(call);
    case Operation::put_trace:
      return put_trace(call);
    case Operation::get_served_trace:
      return get_served_trace(call);
    case Operation::simulate:
      return simulate_step(call);
    case Operation::audit:
      return audit(call);
  }
  return failure(ErrorCode::not_found, "no such operation");
}

/// Says whether a path of a study, below kStudies, is for the workers of `hocket tune`, for whom no
/// search has to think.
bool is_for_workers(std::string_view path) {
  const auto rest = path.find('/', kStudies.size());
  return rest != path.npos && path.substr(rest).starts_with("/workers/");
}

bool may(const std::optional<Identity>& who, Role needed) {
  return who && who->role >= needed;
}

/// Why a request is refused, for the daemon's own people and for the client.
struct Reason {
  std::string_view name;
  Response response;
};

/// Returns why `who`, who has sent `authorization`, may not do what takes the role `needed`.
Reason reason_for(const std::optional<Identity>& who, const std::string& authorization,
                  Role needed) {
  if (who && who->role != Role::anyone) {
    return {"role too low",
            error_response(403, "forbidden",
                           "this takes a token with the role " + std::string(to_string(needed)) +
                               "; " + who->name + " has " + std::string(to_string(who->role)))};
  }
  const auto unauthorized = [](const std::string& message) {
    return error_response(401, "unauthorized", message);
  };
  if (authorization.empty()) {
    return {"no token",
            unauthorized("a token is needed: name a file that has it with HOCKET_TOKEN_FILE; "
                         "programs of the daemon's own user on its host find theirs")};
  }
  if (!authorization.starts_with(kBearer)) {
    return {"no bearer token", unauthorized("a token is sent as `Authorization: Bearer TOKEN`")};
  }
  return {"unknown token",
          unauthorized("this daemon does not know the token, which may be of another daemon or "
                       "have been replaced: name the file that has the present one with "
                       "HOCKET_TOKEN_FILE")};
}

}  // namespace

Api::Api(ApiParts parts)
    : parts_(std::move(parts)), refusals_(parts_.store, parts_.log, parts_.clock) {}

std::optional<Reply> Api::answer_at_once(const Request& request) {
  const std::string_view target = request.target;
  if (request.method != "GET") return std::nullopt;
  if (target == "/" || target.starts_with("/page/")) return handle(request, false);
  // handle() refuses: the audit may have to wait for the disk.
  const Role needed = target == "/healthz" ? Role::anyone : Role::read;
  if (!may(parts_.tokens.identify(request.authorization), needed)) return std::nullopt;
  if (target == "/healthz" || target == "/metrics" || target.starts_with("/v1/watch?")) {
    return handle(request, false);
  }
  if (!target.starts_with(kConfigs)) return std::nullopt;
  // Keys contain no characters that need escaping, so the path matches without decoding.
  const auto entry = parts_.board.cached(target.substr(kConfigs.size()));
  if (!entry) return std::nullopt;
  Response response;
  response.etag = entry->etag;
  if (has_etag(request.if_none_match, entry->etag)) {
    response.status = 304;
  } else {
    response.body = entry->body;
  }
  return response;
}

Labour Api::labour_of(const Request& request) const {
  const std::string_view target = request.target;
  const std::string_view path = target.substr(0, target.find('?'));
  if (path.starts_with("/v1/profiles") || path == "/v1/simulate" ||
      path.ends_with("/explanation") || path.ends_with("/stragglers") ||
      path.find("/plots/") != std::string_view::npos) {
    return Labour::browse;
  }
  return path.starts_with(kStudies) && !is_for_workers(path) ? Labour::search : Labour::brief;
}

Reply Api::handle(const Request& request, bool is_last) {
  const auto target = parse_request_target(request.target);
  if (!target) return error_response(target.error());
  const FoundRoute route = find_route(request.method, target->segments);
  if (route.allowed.empty()) {
    return error_response(404, "not_found", "no such path; see /v1/openapi.json");
  }
  if (!route.route) {
    auto response =
        error_response(405, "method_not_allowed", "this path has the methods " + route.allowed);
    response.allow = route.allowed;
    return response;
  }
  const auto who = parts_.tokens.identify(request.authorization);
  if (!may(who, route.route->role)) {
    const Reason reason = reason_for(who, request.authorization, route.route->role);
    const auto key = route.parameters.find("key");
    if (parts_.is_daemon)
      refusals_.note({.token_name = who ? std::string_view(who->name) : std::string_view(),
                      .reason = reason.name,
                      .peer = request.peer,
                      .method = request.method,
                      .target = request.target,
                      .key = key != route.parameters.end() && parse_config_key(key->second)
                                 ? std::string_view(key->second)
                                 : std::string_view()});
    return reason.response;
  }
  if (!parts_.is_daemon && route.route->role > Role::read) {
    return error_response(403, "forbidden",
                          "`hocket web` shows what is stored and changes nothing; `hocket serve` "
                          "serves jobs");
  }
  auto reply = dispatch({parts_, request, *target, route, *who, is_last});
  if (reply) return std::move(*reply);
  if (reply.error().code == ErrorCode::unavailable) {
    parts_.log.write(LogLevel::error, "request failed",
                     {{"target", request.target}, {"error", reply.error().message}});
  }
  return error_response(reply.error());
}

void Api::stream_closed(const std::string& subscriber) {
  if (subscriber.empty()) return;
  if (parts_.jobs.stream_closed(subscriber, parts_.clock.now_ns()))
    parts_.live.job_left(subscriber);
}

}  // namespace hocket
