// Meetings of a job's processes. All of them need tokens of one name.

#include <nlohmann/json.hpp>

#include "core/base/json_reader.h"
#include "daemon/api/handlers/call.h"

namespace hocket {
namespace {

const std::string& name_in(const RouteCall& call) {
  return call.parameter("meeting");
}

Result<ServiceReply> put_meeting(const RouteCall& call) {
  const auto body = call.body();
  HOCKET_TRY(body);
  std::string text;
  JsonReader reader(*body);
  reader.text("text", text);
  HOCKET_TRY(reader.done());
  HOCKET_TRY(call.parts.meetings.put(call.who.name, name_in(call), std::move(text),
                                     call.parts.clock.now_ns()));
  return json_response(nlohmann::json::object());
}

Result<ServiceReply> get_meeting(const RouteCall& call) {
  const auto text =
      call.parts.meetings.find(call.who.name, name_in(call), call.parts.clock.now_ns());
  if (!text) {
    return failure(ErrorCode::not_found, "nobody whose token has the name " + call.who.name +
                                             " has left a text for the meeting \"" + name_in(call) +
                                             "\" yet");
  }
  return json_response({{"text", *text}});
}

}  // namespace

std::span<const ApiRoute> meeting_routes() {
  static constexpr ApiRoute kRoutes[] = {
      {"PUT", "/v1/meetings/{meeting}", AccessRole::report, put_meeting},
      {"GET", "/v1/meetings/{meeting}", AccessRole::report, get_meeting},
  };
  return kRoutes;
}

}  // namespace hocket
