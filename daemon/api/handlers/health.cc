// The state of the daemon itself, and the description of its interface.

#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/api/handlers/call.h"
#include "daemon/metrics/metrics_text.h"

namespace hocket {
namespace {

ServiceResponse text_response(std::string text, std::string content_type) {
  ServiceResponse response;
  response.content_type = std::move(content_type);
  response.body = std::make_shared<const std::string>(std::move(text));
  return response;
}

Result<ServiceReply> health(const RouteCall&) {
  return json_response({{"status", "ok"}});
}

/// Answers that the daemon is not ready while the store cannot be reached, although it still serves
/// what it knows.
Result<ServiceReply> ready(const RouteCall& call) {
  const auto count = call.parts.store.change_count();
  if (!count) return failure(count.error().in("degraded: only what is known here is served"));
  return json_response({{"status", "ready"}});
}

Result<ServiceReply> metrics(const RouteCall& call) {
  return text_response(call.parts.metrics(), kMetricsContentType);
}

Result<ServiceReply> description(const RouteCall& call) {
  return text_response(call.parts.description, "application/json");
}

}  // namespace

std::span<const ApiRoute> health_routes() {
  static constexpr ApiRoute kRoutes[] = {
      {"GET", "/healthz", AccessRole::anyone, health, RequestLabour::brief, kAtOnce},
      {"GET", "/readyz", AccessRole::anyone, ready},
      {"GET", "/metrics", AccessRole::read, metrics, RequestLabour::brief, kAtOnce},
      {"GET", "/v1/openapi.json", AccessRole::anyone, description},
  };
  return kRoutes;
}

}  // namespace hocket
