#include "daemon/http/request_target.h"

#include <algorithm>

namespace hocket {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Returns the length of the well-formed UTF-8 sequence at the start of `text` (Unicode, table
/// 3-7), or 0 if there is none.
std::size_t sequence_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (first == 0xE0 && second < 0xA0) return 0;
    if (first == 0xED && second > 0x9F) return 0;
    return follows(1) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (first == 0xF0 && second < 0x90) return 0;
    if (first == 0xF4 && second > 0x8F) return 0;
    return follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

bool is_plain_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text.front());
    if (first < 0x20 || first == 0x7F) return false;
    const std::size_t bytes = sequence_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

tl::unexpected<Error> refused(const std::string& why) {
  return failure(ErrorCode::invalid_argument, "the request target " + why);
}

Result<std::string> decode(std::string_view encoded) {
  std::string text;
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    if (encoded[i] != '%') {
      text += encoded[i];
      continue;
    }
    const int high = i + 2 < encoded.size() ? hex_digit(encoded[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(encoded[i + 2]) : -1;
    if (low < 0) return refused("has a '%' without two hexadecimal digits; write a '%' as %25");
    text += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (!is_plain_utf8(text)) return refused("holds control characters, or is not UTF-8");
  return text;
}

/// Returns the text before the next `separator`, and removes it and the separator from `rest`.
std::string_view cut(std::string_view& rest, char separator) {
  const std::size_t at = rest.find(separator);
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return part;
}

Result<void> read_path(std::string_view path, RequestTarget& target) {
  if (path == "/") return {};
  path.remove_prefix(1);
  if (path.ends_with('/')) return refused("has an empty segment in its path");
  while (!path.empty()) {
    auto segment = decode(cut(path, '/'));
    HOCKET_TRY(segment);
    if (segment->empty()) return refused("has an empty segment in its path");
    if (*segment == "." || *segment == "..") return refused("has '.' or '..' in its path");
    target.segments.push_back(std::move(*segment));
  }
  return {};
}

Result<void> read_query(std::string_view query, RequestTarget& target) {
  while (!query.empty()) {
    std::string_view pair = cut(query, '&');
    auto name = decode(cut(pair, '='));
    HOCKET_TRY(name);
    auto value = decode(pair);
    HOCKET_TRY(value);
    if (name->empty()) return refused("has a value without a name in its query");
    if (target.find(*name)) return refused("gives '" + *name + "' twice in its query");
    target.query.emplace_back(std::move(*name), std::move(*value));
  }
  return {};
}

}  // namespace

std::optional<std::string_view> RequestTarget::find(std::string_view name) const {
  const auto found = std::find_if(query.begin(), query.end(),
                                  [&](const auto& pair) { return pair.first == name; });
  if (found == query.end()) return std::nullopt;
  return found->second;
}

Result<RequestTarget> parse_request_target(std::string_view text) {
  if (text.size() > kMaxTargetBytes) {
    return refused("is longer than " + std::to_string(kMaxTargetBytes) + " bytes");
  }
  if (!text.starts_with('/')) return refused("does not start with '/'");
  if (text.find('#') != std::string_view::npos) return refused("holds a '#'; write it as %23");
  std::string_view query = text;
  const std::string_view path = cut(query, '?');
  RequestTarget target;
  HOCKET_TRY(read_path(path, target));
  HOCKET_TRY(read_query(query, target));
  return target;
}

}  // namespace hocket
