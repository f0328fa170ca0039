#include "daemon/http/http_message.h"

#include <nlohmann/json.hpp>

namespace hocket {
namespace {

std::string_view reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    case 507:
      return "Insufficient Storage";
    default:
      return "";
  }
}

/// Appends `value` without line breaks, so that it cannot start another header field.
void append_line(std::string& text, std::string_view value) {
  for (const char c : value) {
    if (c != '\r' && c != '\n') text += c;
  }
}

void write_field(std::string& head, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  head.append(name).append(": ");
  append_line(head, value);
  head += "\r\n";
}

void write_status(std::string& head, int status, std::string_view date) {
  head = "HTTP/1.1 ";
  head.append(std::to_string(status)).append(" ").append(reason(status)).append("\r\n");
  write_field(head, "Date", date);
}

void write_data(std::string& text, std::string_view data) {
  for (;;) {
    const std::size_t end = data.find_first_of("\r\n");
    text.append("data: ").append(data.substr(0, end)).append("\n");
    if (end == std::string_view::npos) return;
    data.remove_prefix(data.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
  }
}

/// Returns the reason as a word, such as "content_too_large".
std::string code(int status) {
  std::string word(reason(status));
  for (char& c : word) {
    if (c == ' ') c = '_';
    if ('A' <= c && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return word;
}

}  // namespace

ServiceResponse error_response(int status, std::string_view message) {
  const nlohmann::json body = {{"error", {{"code", code(status)}, {"message", message}}}};
  using Handler = nlohmann::json::error_handler_t;
  ServiceResponse response;
  response.status = status;
  response.body =
      std::make_shared<const std::string>(body.dump(-1, ' ', false, Handler::replace) + "\n");
  return response;
}

bool may_have_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

void write_head(const ServiceResponse& response, AfterResponse after, std::string_view date,
                std::string& head) {
  write_status(head, response.status, date);
  if (may_have_body(response.status)) {
    const std::size_t bytes = response.body ? response.body->size() : 0;
    if (bytes > 0) write_field(head, "Content-Type", response.content_type);
    write_field(head, "Content-Length", std::to_string(bytes));
  }
  if (!response.etag.empty()) {
    write_field(head, "ETag", response.etag);
    write_field(head, "Cache-Control", "no-cache");
  }
  for (const auto& [name, value] : response.fields) write_field(head, name, value);
  write_field(head, "Allow", response.allow);
  if (response.status == 401) write_field(head, "WWW-Authenticate", "Bearer");
  if (response.retry_after_seconds) {
    write_field(head, "Retry-After", std::to_string(*response.retry_after_seconds));
  }
  if (after == AfterResponse::close) write_field(head, "Connection", "close");
  if (after == AfterResponse::keep_alive_http_1_0) write_field(head, "Connection", "keep-alive");
  head += "\r\n";
}

std::string event_stream_head(std::string_view date) {
  std::string head;
  write_status(head, 200, date);
  write_field(head, "Content-Type", "text/event-stream");
  write_field(head, "Cache-Control", "no-store");
  write_field(head, "X-Accel-Buffering", "no");  // prevents nginx from buffering events
  write_field(head, "Connection", "close");
  head += "\r\n";
  return head;
}

std::string event_text(const FeedEvent& event) {
  std::string text;
  if (event.id) text.append("id: ").append(std::to_string(*event.id)).append("\n");
  if (!event.type.empty()) {
    text += "event: ";
    append_line(text, event.type);
    text += "\n";
  }
  write_data(text, event.data);
  text += "\n";
  return text;
}

}  // namespace hocket
