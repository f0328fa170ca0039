#pragma once

// A second reading of HTTP/1.1 requests, line by line and without any lenience: whatever request
// the daemon's parser finds, this one must find with the same body and the same end, or a program
// in front of the daemon could take a part of it for another request. Pure.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace hocket {

struct StrictRequest {
  std::string_view method = {}, target = {};
  std::string body = {};
  std::size_t bytes = 0;  ///< of the whole request
};

/// Takes the line at the start of `bytes`, which CR LF ends; nothing if there is none, or it has
/// either byte or NUL within it.
inline std::optional<std::string_view> take_line(std::string_view& bytes) {
  const std::size_t end = bytes.find("\r\n");
  if (end == bytes.npos) return std::nullopt;
  const std::string_view line = bytes.substr(0, end);
  if (line.find_first_of(std::string_view("\r\n\0", 3)) != line.npos) return std::nullopt;
  bytes.remove_prefix(end + 2);
  return line;
}

inline std::optional<std::size_t> number_of(std::string_view digits, int base) {
  std::size_t value = 0;
  const char* const last = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), last, value, base);
  if (digits.empty() || error != std::errc() || stop != last) return std::nullopt;
  return value;
}

/// Takes a body in chunks, and the fields after it.
inline bool take_chunks(std::string_view& bytes, std::string& body) {
  for (;;) {
    const auto line = take_line(bytes);
    if (!line) return false;
    const auto size = number_of(line->substr(0, line->find_first_of(" \t;")), 16);
    if (!size) return false;
    if (*size == 0) break;
    if (bytes.size() < *size + 2 || bytes.substr(*size, 2) != "\r\n") return false;
    body += bytes.substr(0, *size);
    bytes.remove_prefix(*size + 2);
  }
  for (;;) {
    const auto line = take_line(bytes);
    if (!line) return false;
    if (line->empty()) return true;
  }
}

/// Returns the request at the start of `bytes`; nothing if there is no whole one that everybody
/// reads alike.
inline std::optional<StrictRequest> read_strictly(const std::string_view bytes) {
  std::string_view rest = bytes;
  const auto first = take_line(rest);
  if (!first) return std::nullopt;
  StrictRequest request;
  request.method = first->substr(0, first->find(' '));
  request.target = first->substr(std::min(first->size(), request.method.size() + 1));
  request.target = request.target.substr(0, request.target.find(' '));
  std::optional<std::string> length, coding;
  for (;;) {
    const auto line = take_line(rest);
    if (!line) return std::nullopt;
    if (line->empty()) break;
    const std::size_t colon = line->find(':');
    if (colon == 0 || colon == line->npos ||
        line->substr(0, colon).find_first_of(" \t") != line->npos) {
      return std::nullopt;
    }
    const auto lower = [](std::string_view text) {
      std::string all(text);
      std::ranges::transform(all, all.begin(), [](unsigned char c) {
        return 'A' <= c && c <= 'Z' ? static_cast<char>(c + 32) : static_cast<char>(c);
      });
      return all;
    };
    std::string_view value = line->substr(colon + 1);
    while (value.starts_with(' ') || value.starts_with('\t')) value.remove_prefix(1);
    while (value.ends_with(' ') || value.ends_with('\t')) value.remove_suffix(1);
    const std::string name = lower(line->substr(0, colon));
    auto* const field = name == "content-length"      ? &length
                        : name == "transfer-encoding" ? &coding
                                                      : nullptr;
    if (field == nullptr) continue;
    if (*field) return std::nullopt;
    *field = lower(value);
  }
  if (coding) {
    if (length || *coding != "chunked" || !first->ends_with(" HTTP/1.1")) return std::nullopt;
    if (!take_chunks(rest, request.body)) return std::nullopt;
  } else if (length) {
    const auto size = number_of(*length, 10);
    if (!size || rest.size() < *size) return std::nullopt;
    request.body = rest.substr(0, *size);
    rest.remove_prefix(*size);
  }
  request.bytes = bytes.size() - rest.size();
  return request;
}

}  // namespace hocket
