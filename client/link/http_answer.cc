#include <algorithm>
#include <nlohmann/json.hpp>

#include "client/link/http_client.h"
#include "core/base/json.h"
#include "core/base/json_reader.h"

namespace hocket {
namespace {

ErrorCode code_of(int status) {
  if (status == 404) return ErrorCode::not_found;
  const bool refused = 400 <= status && status < 500 && status != 408 && status != 429;
  return refused ? ErrorCode::invalid_argument : ErrorCode::unavailable;
}

/// Returns the daemon's error message as ": " and one line of text, or "" if there is none.
std::string stated(const HttpResponse& response) {
  const auto document = parse_object(response.body, "answer");
  if (!document) return "";
  JsonReader reader(*document);
  std::string message;
  reader.object("error", [&](JsonReader& error) { error.text("message", message); });
  if (!reader.done()) return "";
  std::ranges::replace_if(
      message, [](unsigned char c) { return c < 0x20; }, ' ');
  return ": " + message.substr(0, 1000);
}

}  // namespace

Deadline deadline_after_ns(std::int64_t timeout_ns) {
  return std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout_ns);
}

Result<nlohmann::json> read_answer(const HttpResponse& response) {
  if (200 <= response.status && response.status < 300) {
    auto document = parse_object(response.body, "the answer");
    if (!document) return failure(ErrorCode::unavailable, document.error().message);
    return document;
  }
  return failure(code_of(response.status),
                 "it answered " + std::to_string(response.status) + stated(response));
}

}  // namespace hocket
