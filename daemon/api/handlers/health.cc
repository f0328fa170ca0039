// The state of the daemon itself, and the description of its interface.

#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/api/handlers/call.h"
#include "daemon/metrics/metrics.h"

namespace hocket {
namespace {

Response text_response(std::string text, std::string content_type) {
  Response response;
  response.content_type = std::move(content_type);
  response.body = std::make_shared<const std::string>(std::move(text));
  return response;
}

Result<Reply> health(const Call&) {
  return json_response({{"status", "ok"}});
}

/// Not ready while the store cannot be reached, though the daemon serves what it knows.
Result<Reply> ready(const Call& call) {
  const auto count = call.parts.store.change_count();
  if (!count) return failure(count.error().in("degraded: only what is known here is served"));
  return json_response({{"status", "ready"}});
}

Result<Reply> metrics(const Call& call) {
  return text_response(call.parts.metrics(), kMetricsContentType);
}

Result<Reply> description(const Call& call) {
  return text_response(call.parts.description, "application/json");
}

}  // namespace

std::span<const Route> health_routes() {
  static constexpr Route kRoutes[] = {
      {"GET", "/healthz", Role::anyone, health, Labour::brief, kAtOnce},
      {"GET", "/readyz", Role::anyone, ready},
      {"GET", "/metrics", Role::read, metrics, Labour::brief, kAtOnce},
      {"GET", "/v1/openapi.json", Role::anyone, description},
  };
  return kRoutes;
}

}  // namespace hocket
