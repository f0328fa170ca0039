#include "daemon/http/request_parser.h"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>

namespace hocket {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

using Parser = http::request_parser<http::string_body>;

constexpr std::size_t kLeastSpace = 512, kMostSpace = 64 << 10;

std::string text(beast::string_view view) {
  return std::string(view.data(), view.size());
}

/// Returns the values of all fields of that name as one list (RFC 9110, section 5.3).
std::string joined(const Parser::value_type& message, http::field name) {
  std::string list;
  const auto [first, last] = message.equal_range(name);
  for (auto field = first; field != last; ++field) {
    if (!list.empty()) list += ", ";
    list += text(field->value());
  }
  return list;
}

ServiceResponse refusal_for(beast::error_code error, std::size_t header_bytes,
                            std::size_t body_bytes) {
  if (error == http::error::header_limit) {
    return error_response(431, "the header is longer than " + std::to_string(header_bytes) +
                                   " bytes; send fewer or shorter fields");
  }
  if (error == http::error::body_limit || error == http::error::buffer_overflow) {
    return error_response(413, "the body is longer than " + std::to_string(body_bytes) +
                                   " bytes; send it in several requests");
  }
  return error_response(400, "this is no HTTP/1.1 request: " + error.message());
}

constexpr const char* kFetchSite = "Sec-Fetch-Site";

/// Returns the error in a complete header, or "" if there is none.
std::string objection(const Parser::value_type& message) {
  // With two hosts or credentials, the server could use another one than the proxy in front of it.
  for (const http::field name : {http::field::host, http::field::authorization, http::field::origin,
                                 http::field::content_type}) {
    if (message.count(name) > 1) return "the field " + text(to_string(name)) + " is there twice";
  }
  if (message.count(kFetchSite) > 1) return "the field Sec-Fetch-Site is there twice";
  if (message.version() == 11 && message.count(http::field::host) == 0) {
    return "the field Host is missing, which HTTP/1.1 asks for";
  }
  return "";
}

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

/// Returns whether somebody opens the page, from whatever site the link was on.
bool opens_page(const Parser::value_type& message) {
  const std::string_view path = view(message.target().substr(0, message.target().find('?')));
  return message.method() == http::verb::get && path == "/" &&
         message["Sec-Fetch-Mode"] == "navigate" && message["Sec-Fetch-Dest"] == "document";
}

/// Returns views into the parser's message.
RequestHead head_of(const Parser& parser) {
  const Parser::value_type& message = parser.get();
  return {.host = view(message[http::field::host]),
          .origin = view(message[http::field::origin]),
          .fetch_site = view(message[kFetchSite]),
          .opens_page = opens_page(message),
          .content_type = view(message[http::field::content_type]),
          .has_body = parser.chunked() || parser.content_length().value_or(0) > 0};
}

}  // namespace

struct RequestParser::Parts {
  std::size_t header_bytes, body_bytes;
  beast::flat_buffer buffer;
  std::optional<Parser> parser;
  std::size_t header_taken_bytes = 0;
  bool told_to_continue = false;
  bool is_checked = false;
  HeadCheck check;
  std::optional<ServiceResponse> refusal;

  /// Checks a complete header. Returns false if it is refused.
  bool accepts_head() {
    if (is_checked) return true;
    is_checked = true;
    if (const std::string wrong = objection(parser->get()); !wrong.empty()) {
      refusal = error_response(400, wrong);
    } else {
      refusal = check(head_of(*parser));
    }
    return !refusal;
  }

  void begin() {
    parser.emplace();
    parser->header_limit(static_cast<std::uint32_t>(header_bytes));
    parser->body_limit(body_bytes);
    header_taken_bytes = 0;
    told_to_continue = false;
    is_checked = false;
  }
};

RequestParser::RequestParser(std::size_t header_bytes, std::size_t body_bytes, HeadCheck check)
    : parts_(std::make_unique<Parts>()) {
  parts_->header_bytes = header_bytes;
  parts_->body_bytes = body_bytes;
  parts_->check = std::move(check);
  parts_->begin();
}

RequestParser::~RequestParser() = default;

std::span<char> RequestParser::space() {
  beast::flat_buffer& buffer = parts_->buffer;
  const std::size_t bytes = std::clamp(buffer.capacity() - buffer.size(), kLeastSpace, kMostSpace);
  const auto space = buffer.prepare(bytes);
  return {static_cast<char*>(space.data()), space.size()};
}

void RequestParser::received(std::size_t bytes) {
  parts_->buffer.commit(bytes);
}

RequestParser::State RequestParser::next() {
  Parts& parts = *parts_;
  if (parts.refusal) return State::refused;
  Parser& parser = *parts.parser;
  beast::error_code error;
  // A chunk's header may be completed only by the next bytes, so the rest stays in the buffer.
  while (!error && !parser.is_done() && parts.buffer.size() > 0) {
    const bool in_header = !parser.is_header_done();
    parser.eager(!in_header);  // stops at the end of the header
    const std::size_t taken = parser.put(parts.buffer.data(), error);
    parts.buffer.consume(taken);
    if (in_header) parts.header_taken_bytes += taken;
  }
  if (error == http::error::need_more) error = {};
  // Beast applies its limit to the rest of a header, not to the lines it has already consumed.
  const std::size_t pending_bytes = parser.is_header_done() ? 0 : parts.buffer.size();
  if (!error && parts.header_taken_bytes + pending_bytes > parts.header_bytes) {
    error = http::error::header_limit;
  }
  if (error) {
    parts.refusal = refusal_for(error, parts.header_bytes, parts.body_bytes);
    return State::refused;
  }
  if (!parser.is_header_done()) return State::needs_more;
  if (!parts.accepts_head()) return State::refused;
  if (parser.is_done()) return State::complete;
  if (!parts.told_to_continue && parser.get().version() == 11 &&
      beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    parts.told_to_continue = true;
    return State::needs_continue;
  }
  return State::needs_more;
}

ParsedRequest RequestParser::take() {
  const bool keep_alive = parts_->parser->get().keep_alive();
  Parser::value_type message = parts_->parser->release();
  ParsedRequest parsed;
  parsed.is_head = message.method() == http::verb::head;
  if (keep_alive) {
    parsed.after =
        message.version() == 10 ? AfterResponse::keep_alive_http_1_0 : AfterResponse::keep_alive;
  }
  ServiceRequest& request = parsed.request;
  request.method = parsed.is_head ? "GET" : text(message.method_string());
  request.target = text(message.target());
  request.authorization = text(message[http::field::authorization]);
  request.if_none_match = joined(message, http::field::if_none_match);
  request.last_event_id = text(message["Last-Event-ID"]);
  request.accept_encoding = joined(message, http::field::accept_encoding);
  request.body = std::move(message.body());
  parts_->begin();
  return parsed;
}

const ServiceResponse& RequestParser::refusal() const {
  return *parts_->refusal;
}

bool RequestParser::is_within_request() const {
  return parts_->buffer.size() > 0 || parts_->parser->got_some();
}

}  // namespace hocket
