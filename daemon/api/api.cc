#include "daemon/api/api.h"

#include <utility>

#include "core/base/text.h"
#include "daemon/api/handlers/call.h"

namespace hocket {
namespace {

constexpr std::string_view kConfigs = "/v1/configs/";
constexpr std::size_t kShownTargetBytes = 200;  // of a line of the log

bool may(const std::optional<ClientIdentity>& who, AccessRole needed) {
  return who && who->role >= needed;
}

/// Why a request is refused, for the daemon's own people and for the client.
struct Reason {
  std::string_view name;
  ServiceResponse response;
};

/// Returns why `who`, who has sent `authorization`, may not do what takes the role `needed`.
Reason reason_for(const std::optional<ClientIdentity>& who, const std::string& authorization,
                  AccessRole needed) {
  if (who && who->role != AccessRole::anyone) {
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

ServiceResponse no_route(const FoundRoute& found) {
  if (found.allowed.empty()) {
    return error_response(404, "not_found", "no such path; see /v1/openapi.json");
  }
  auto response =
      error_response(405, "method_not_allowed", "this path has the methods " + found.allowed);
  response.allow = found.allowed;
  return response;
}

}  // namespace

Api::Api(ApiParts parts)
    : parts_(std::move(parts)), refusals_(parts_.store, parts_.log, parts_.clock) {}

std::optional<ServiceReply> Api::answer_at_once(const ServiceRequest& request) {
  const std::string_view target = request.target;
  if (request.method != "GET") return std::nullopt;
  if (target.starts_with(kConfigs)) return known_config(request, target.substr(kConfigs.size()));
  const auto parsed = parse_request_target(target);
  if (!parsed) return error_response(parsed.error());
  const FoundRoute found = find_route(request.method, parsed->segments);
  if (!found.route) return no_route(found);
  if (!found.route->at_once) return std::nullopt;
  const auto who = parts_.tokens.identify(request.authorization);
  // handle() refuses: the audit may have to wait for the disk.
  if (!may(who, found.route->role)) return std::nullopt;
  return call({parts_, request, *parsed, found, *who, false});
}

std::optional<ServiceReply> Api::known_config(const ServiceRequest& request,
                                              std::string_view key) const {
  const auto who = parts_.tokens.identify(request.authorization);
  if (!may(who, AccessRole::read)) return std::nullopt;
  // Keys contain no characters that need escaping, so the path matches without decoding.
  const auto entry = parts_.board.cached(key, speaks_for(*who));
  if (!entry) return std::nullopt;
  ServiceResponse response;
  response.etag = entry->etag;
  if (has_etag(request.if_none_match, entry->etag)) {
    response.status = 304;
  } else {
    response.body = entry->body;
  }
  return response;
}

RequestLabour Api::labour_of(const ServiceRequest& request) const {
  const auto target = parse_request_target(request.target);
  if (!target) return RequestLabour::brief;
  const FoundRoute found = find_route(request.method, target->segments);
  return found.route ? found.route->labour : RequestLabour::brief;
}

ServiceReply Api::handle(const ServiceRequest& request, bool is_last) {
  const auto target = parse_request_target(request.target);
  if (!target) return error_response(target.error());
  const FoundRoute found = find_route(request.method, target->segments);
  if (!found.route) return no_route(found);
  const auto who = parts_.tokens.identify(request.authorization);
  if (!may(who, found.route->role)) return refuse(request, found, who);
  if (!parts_.is_daemon && found.route->role > AccessRole::read) {
    return error_response(403, "forbidden",
                          "`hocket web` shows what is stored and changes nothing; `hocket serve` "
                          "serves jobs");
  }
  return call({parts_, request, *target, found, *who, is_last});
}

ServiceReply Api::refuse(const ServiceRequest& request, const FoundRoute& found,
                         const std::optional<ClientIdentity>& who) {
  const Reason reason = reason_for(who, request.authorization, found.route->role);
  const auto key = found.parameters.find("key");
  if (parts_.is_daemon)
    refusals_.note({.token_name = who ? std::string_view(who->name) : std::string_view(),
                    .reason = reason.name,
                    .peer = request.peer,
                    .method = request.method,
                    .target = request.target,
                    .key = key != found.parameters.end() && parse_config_key(key->second)
                               ? std::string_view(key->second)
                               : std::string_view()});
  return reason.response;
}

ServiceReply Api::call(const RouteCall& call) {
  auto reply = call.route.route->handler(call);
  const bool sees_folders = call.who.role == AccessRole::admin;
  if (reply) {
    if (!sees_folders) hide_folders(*reply);
    return std::move(*reply);
  }
  if (reply.error().code == ErrorCode::unavailable) note_failure(call, reply.error());
  ServiceReply failed = error_response(reply.error());
  if (!sees_folders) hide_folders(failed);
  return failed;
}

void Api::note_failure(const RouteCall& call, const Error& error) {
  std::optional<std::int64_t> others;
  {
    const std::lock_guard lock(failures_mutex_);
    others = failures_.allow(call.request.peer + '\n' + call.who.name, parts_.clock.now_ns());
  }
  if (!others) return;
  const std::string target = printable(call.request.target, kShownTargetBytes);
  parts_.log.write(LogLevel::error, "request failed",
                   {{"target", target}, {"error", error.message}, {"others", *others}});
}

void Api::hide_folders(ServiceReply& reply) const {
  auto* const response = std::get_if<ServiceResponse>(&reply);
  if (response == nullptr || !response->body) return;
  if (response->content_type == "application/octet-stream") return;
  if (!parts_.hidden_folders.are_in(*response->body)) return;
  response->body =
      std::make_shared<const std::string>(parts_.hidden_folders.hide_in(*response->body));
}

}  // namespace hocket
