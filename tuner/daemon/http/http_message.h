#pragma once

// The text of HTTP/1.1 responses (RFC 9112) and of server-sent events (HTML Living Standard,
// section 9.2). Pure functions; thread-safe.

#include <string>
#include <string_view>

#include "tuner/daemon/http/feed.h"
#include "tuner/daemon/http/service.h"

namespace hocket {

/// {"error": `message`}, as the server answers by itself.
Response error_response(int status, std::string_view message);

/// Whether a response of that status has a body at all.
bool may_have_body(int status);

enum class AfterResponse { close, keep_alive, keep_alive_http_1_0 };

/// Replaces `head` with status line and fields, through the empty line. `date` as in RFC 9110,
/// section 5.6.7. The body's length is stated also where the body is left out, for HEAD.
void write_head(const Response& response, AfterResponse after, std::string_view date,
                std::string& head);

/// The head of a stream of events, which ends with the connection.
std::string event_stream_head(std::string_view date);

/// The fields id, event and data, through the empty line.
std::string event_text(const Event& event);

/// A comment that keeps proxies from closing a quiet stream.
inline constexpr std::string_view kPing = ": ping\n\n";

}  // namespace hocket
