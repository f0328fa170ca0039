#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "capi/call_guard.h"
#include "capi/hocket_client.h"
#include "client/link/daemon_access.h"
#include "client/link/http_client.h"
#include "core/base/json_reader.h"

namespace hocket {
namespace {

constexpr std::int64_t kTimeoutNs = 2'000'000'000;

Result<nlohmann::json> ask(const std::string& method, const std::string& name,
                           const std::string& body) {
  auto daemon = daemon_from_environment();
  HOCKET_TRY(daemon);
  HttpClient client(std::move(*daemon));
  const auto response =
      client.send({.method = method, .target = "/v1/meetings/" + name, .body = body},
                  deadline_after_ns(kTimeoutNs));
  HOCKET_TRY(response);
  return read_answer(*response);
}

Result<int> publish(const char* name, const char* text) {
  if (name == nullptr || text == nullptr)
    return failure(ErrorCode::invalid_argument, "hocket_meeting_publish: an argument is NULL");
  const nlohmann::json body = {{"text", text}};
  HOCKET_TRY(ask("PUT", name, body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
  return 0;
}

Result<int> find(const char* name, char* text, std::size_t bytes) {
  if (name == nullptr || text == nullptr || bytes == 0)
    return failure(ErrorCode::invalid_argument, "hocket_meeting_find: an argument is NULL");
  const auto answer = ask("GET", name, "");
  HOCKET_TRY(answer);
  std::string found;
  JsonReader reader(*answer);
  reader.text("text", found);
  HOCKET_TRY(reader.done());
  if (found.size() >= bytes) {
    return failure(ErrorCode::invalid_argument,
                   "hocket_meeting_find: the text has " + std::to_string(found.size()) + " bytes");
  }
  std::memcpy(text, found.c_str(), found.size() + 1);
  return 0;
}

}  // namespace
}  // namespace hocket

int hocket_meeting_publish(const char* name, const char* text) {
  return hocket::guarded(-1, [&] { return hocket::publish(name, text); });
}

int hocket_meeting_find(const char* name, char* text, size_t text_bytes) {
  return hocket::guarded(-1, [&] { return hocket::find(name, text, text_bytes); });
}
