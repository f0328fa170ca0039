#pragma once

// Serializes HTTP/1.1 responses (RFC 9112) and server-sent events (HTML Living Standard, section
// 9.2). Pure functions; thread-safe.

#include <string>
#include <string_view>

#include "daemon/http/feed.h"
#include "daemon/http/service.h"

namespace hocket {

/// Returns {"error": {"code", "message"}}, an error that the server produces itself. The code is
/// the status in words: "content_too_large".
ServiceResponse error_response(int status, std::string_view message);

/// Returns whether a response with that status may have a body.
bool may_have_body(int status);

enum class AfterResponse { close, keep_alive, keep_alive_http_1_0 };

/// Replaces `head` with the status line and fields, including the empty line. `date` as in RFC
/// 9110, section 5.6.7. States the body's length even if the body is omitted for HEAD.
void write_head(const ServiceResponse& response, AfterResponse after, std::string_view date,
                std::string& head);

/// Returns the head of an event stream, which ends with the connection.
std::string event_stream_head(std::string_view date);

/// Returns the fields id, event and data, including the empty line.
std::string event_text(const FeedEvent& event);

/// A comment line that keeps proxies from closing an idle stream.
inline constexpr std::string_view kPing = ": ping\n\n";

}  // namespace hocket
