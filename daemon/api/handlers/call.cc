#include "daemon/api/handlers/call.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "core/base/check.h"
#include "core/base/json.h"

namespace hocket {

Result<nlohmann::json> RouteCall::body() const {
  if (request.body.empty()) return nlohmann::json::object();
  return parse_object(request.body, "request");
}

Result<std::int64_t> RouteCall::number(std::string_view name, std::int64_t low, std::int64_t high,
                                       std::int64_t otherwise) const {
  const auto text = target.find(name);
  if (!text) return otherwise;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || value < low || value > high) {
    return failure(ErrorCode::invalid_argument,
                   "query \"" + std::string(name) + "\": expected an integer from " +
                       std::to_string(low) + " to " + std::to_string(high));
  }
  return value;
}

Result<ConfigKey> RouteCall::key() const {
  return parse_config_key(parameter("key"));
}

const std::string& RouteCall::parameter(std::string_view name) const {
  const auto found = route.parameters.find(name);
  HOCKET_CHECK(found != route.parameters.end(), "the route has the parameter");
  return found->second;
}

std::string RouteCall::actor() const {
  return request.peer.empty() ? who.name : who.name + "@" + request.peer;
}

bool RouteCall::may_act_for(std::string_view owner) const {
  return who.role == AccessRole::admin || (who.role == AccessRole::report && who.name == owner);
}

nlohmann::json with_unread(nlohmann::json document, const UnreadRows& unread) {
  if (!unread.empty()) document["unreadable"] = unread;
  return document;
}

ServiceResponse json_response(const nlohmann::json& document, int status) {
  ServiceResponse response;
  response.status = status;
  // Texts from jobs may contain any bytes.
  response.body = std::make_shared<const std::string>(
      document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  return response;
}

ServiceResponse bytes_response(std::string bytes) {
  ServiceResponse response;
  response.content_type = "application/octet-stream";
  response.body = std::make_shared<const std::string>(std::move(bytes));
  response.fields.emplace_back("X-Content-Type-Options", "nosniff");
  response.fields.emplace_back("Cache-Control", "private, max-age=60");
  return response;
}

ServiceResponse error_response(int status, std::string_view code, const std::string& message) {
  return json_response({{"error", {{"code", code}, {"message", message}}}}, status);
}

ServiceResponse forbidden(const std::string& message) {
  return error_response(403, "forbidden", message);
}

namespace {

ServiceResponse not_now(std::string_view code, const std::string& message) {
  constexpr int kRetryAfterSeconds = 2;
  ServiceResponse response = error_response(503, code, message);
  response.retry_after_seconds = kRetryAfterSeconds;
  return response;
}

}  // namespace

ServiceResponse error_response(const Error& error) {
  switch (error.code) {
    case ErrorCode::invalid_argument:
      return error_response(400, "invalid_argument", error.message);
    case ErrorCode::not_found:
      return error_response(404, "not_found", error.message);
    case ErrorCode::timed_out:
      return not_now("timed_out", error.message);
    case ErrorCode::unavailable:
    case ErrorCode::interrupted:
      break;
  }
  return not_now("unavailable", error.message);
}

bool has_etag(std::string_view if_none_match, std::string_view etag) {
  while (!if_none_match.empty()) {
    const auto comma = if_none_match.find(',');
    auto one = if_none_match.substr(0, comma);
    if_none_match.remove_prefix(comma == std::string_view::npos ? if_none_match.size() : comma + 1);
    while (one.starts_with(' ') || one.starts_with('\t')) one.remove_prefix(1);
    while (one.ends_with(' ') || one.ends_with('\t')) one.remove_suffix(1);
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == etag || one == "*") return true;
  }
  return false;
}

}  // namespace hocket
