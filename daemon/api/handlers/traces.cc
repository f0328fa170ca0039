// Traces that this daemon serves: sets for them, and their bytes piece by piece.

#include <nlohmann/json.hpp>

#include "archive/profiles/transfer/http_trace_transfer.h"
#include "daemon/api/handlers/call.h"
#include "daemon/traces/served_traces.h"

namespace hocket {
namespace {

/// One rank's trace, and where in it.
struct TraceOffset {
  std::string set;
  std::int64_t rank = 0;
  std::int64_t offset = 0;
};

Result<TraceOffset> trace_offset(const RouteCall& call) {
  const auto rank = parse_trace_rank(call.parameter("rank"));
  if (!rank) {
    return failure(ErrorCode::invalid_argument,
                   "the path ends in a rank, an integer from 0; found \"" +
                       call.parameter("rank").substr(0, 100) + "\"");
  }
  const auto offset = call.number("offset", 0, kMostServedTraceBytes, 0);
  HOCKET_TRY(offset);
  return TraceOffset{call.parameter("set"), *rank, *offset};
}

Result<ServiceReply> make_trace_set(const RouteCall& call) {
  ServiceResponse none;
  none.status = 204;
  if (!call.parts.traces.are_taken()) return none;
  const auto set = call.parts.traces.make_set(call.who.name);
  HOCKET_TRY(set);
  return json_response({{"daemon", set->daemon}, {"set", set->id}}, 201);
}

Result<ServiceReply> put_trace(const RouteCall& call) {
  const auto at = trace_offset(call);
  HOCKET_TRY(at);
  const auto owner = call.parts.traces.owner_of(at->set);
  // An unknown set is none of anybody's: append() says so.
  if (call.parts.traces.has(at->set) && !call.may_act_for(owner.value_or(""))) {
    return forbidden("traces of this set are added by the token that made it; " + call.who.name +
                     " did not");
  }
  const auto bytes = call.parts.traces.append(at->set, at->rank, at->offset, call.request.body);
  HOCKET_TRY(bytes);
  return json_response({{"bytes", *bytes}});
}

Result<ServiceReply> get_served_trace(const RouteCall& call) {
  const auto at = trace_offset(call);
  HOCKET_TRY(at);
  auto piece = call.parts.traces.read(at->set, at->rank, at->offset);
  HOCKET_TRY(piece);
  return bytes_response(std::move(*piece));
}

}  // namespace

std::span<const ApiRoute> trace_routes() {
  static constexpr ApiRoute kRoutes[] = {
      {"POST", "/v1/traces", AccessRole::report, make_trace_set},
      {"PUT", "/v1/traces/{set}/{rank}", AccessRole::report, put_trace},
      {"GET", "/v1/traces/{set}/{rank}", AccessRole::read, get_served_trace},
  };
  return kRoutes;
}

}  // namespace hocket
