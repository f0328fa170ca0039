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
constexpr std::size_t kLastChunkBytes = std::string_view("0\r\n\r\n").size();

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

/// Returns whether every line ends with CR LF, has neither elsewhere, and does not go on in the
/// next one: a proxy in front of the daemon could take such lines for others (RFC 9112, 2.2
/// and 5.2).
bool has_plain_lines(std::string_view lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const char next = i + 1 < lines.size() ? lines[i + 1] : 'x';
    if (lines[i] == '\0' || (lines[i] == '\r' && next != '\n')) return false;
    if (lines[i] == '\n' && (i == 0 || lines[i - 1] != '\r' || next == ' ' || next == '\t')) {
      return false;
    }
  }
  return true;
}

/// Returns what is wrong with the fields that say where the body ends, or "" if nothing is. What
/// follows would be read as another request by whoever understands them otherwise, so there is one
/// way only to write each (RFC 9112, section 6).
std::string length_objection(const Parser::value_type& message) {
  const auto codings = message.count(http::field::transfer_encoding);
  const auto lengths = message.count(http::field::content_length);
  if (codings > 0 && message.version() != 11) return "HTTP/1.0 has no Transfer-Encoding";
  if (codings > 0 && lengths > 0) {
    return "there is both a Content-Length and a Transfer-Encoding; send one of them";
  }
  if (codings > 1 ||
      (codings == 1 && !beast::iequals(message[http::field::transfer_encoding], "chunked"))) {
    return "the Transfer-Encoding is not `chunked` alone; send the body so, or with a "
           "Content-Length";
  }
  const auto length = message[http::field::content_length];
  if (lengths > 1 || (lengths == 1 && length.find_first_not_of("0123456789") != length.npos)) {
    return "the Content-Length is not one number; send it once, in digits";
  }
  return "";
}

/// Returns the error in a complete header, or "" if there is none.
std::string objection(const Parser::value_type& message) {
  const auto target = message.target();
  if (!target.starts_with('/') && target != "*") {
    return "its target is not a path that begins with '/'; the host belongs into the field Host";
  }
  // With two hosts or credentials, the server could use another one than the proxy in front of it.
  for (const http::field name : {http::field::host, http::field::authorization, http::field::origin,
                                 http::field::content_type}) {
    if (message.count(name) > 1) return "the field " + text(to_string(name)) + " is there twice";
  }
  if (message.count(kFetchSite) > 1) return "the field Sec-Fetch-Site is there twice";
  if (message.version() == 11 && message.count(http::field::host) == 0) {
    return "the field Host is missing, which HTTP/1.1 asks for";
  }
  return length_objection(message);
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

/// Returns the request without its body. Fields that follow a chunked body do not count.
ParsedRequest request_of(const Parser::value_type& message) {
  ParsedRequest parsed;
  parsed.is_head = message.method() == http::verb::head;
  if (message.keep_alive()) {
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
  return parsed;
}

}  // namespace

struct RequestParser::Parts {
  std::size_t header_bytes, body_bytes;
  beast::flat_buffer buffer;
  std::optional<Parser> parser;
  std::size_t header_taken_bytes = 0;
  bool told_to_continue = false;
  bool is_checked = false;
  bool is_waiting = false;  ///< for the rest of a line among chunks
  HeadCheck check;
  ParsedRequest request;
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
    if (!refusal) request = request_of(parser->get());
    return !refusal;
  }

  /// Parses the next part: lines of the header, of a chunk or after the last one, or of the body.
  beast::error_code parse_part() {
    const bool in_header = !parser->is_header_done();
    // Beast asserts that it is not asked again for a last chunk that cannot be whole.
    if (!in_header && is_waiting && buffer.size() < kLastChunkBytes) {
      return http::error::need_more;
    }
    const std::size_t body_before = parser->get().body().size();
    const std::string_view bytes(static_cast<const char*>(buffer.data().data()), buffer.size());
    beast::error_code error;
    parser->eager(false);
    const std::size_t taken = parser->put(buffer.data(), error);
    const bool is_body = parser->get().body().size() > body_before;
    const std::string_view lines = bytes.substr(0, is_body ? 0 : taken);
    buffer.consume(taken);
    is_waiting = !in_header && taken == 0;
    if (error && error != http::error::need_more) return error;
    if (!has_plain_lines(lines)) return http::error::bad_line_ending;
    // Beast limits neither the lines of a header that it has consumed nor those among chunks.
    if (in_header) header_taken_bytes += taken;
    const std::size_t pending_bytes = error ? buffer.size() : 0;
    const std::size_t line_bytes = (in_header ? header_taken_bytes : lines.size()) + pending_bytes;
    return !is_body && line_bytes > header_bytes ? http::error::header_limit : error;
  }

  void begin() {
    parser.emplace();
    parser->header_limit(static_cast<std::uint32_t>(header_bytes));
    parser->body_limit(body_bytes);
    header_taken_bytes = 0;
    told_to_continue = false;
    is_checked = false;
    is_waiting = false;
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
  // A line may be completed only by the next bytes, so the rest stays in the buffer.
  beast::error_code error;
  while (!error && !parser.is_done() && parts.buffer.size() > 0) {
    if (parser.is_header_done() && !parts.accepts_head()) return State::refused;
    error = parts.parse_part();
  }
  if (error && error != http::error::need_more) {
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
  ParsedRequest parsed = std::move(parts_->request);
  parsed.request.body = std::move(parts_->parser->get().body());
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
