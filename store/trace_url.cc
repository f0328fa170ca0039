#include "store/trace_url.h"

#include <algorithm>
#include <charconv>

namespace hocket {
namespace {

constexpr std::string_view kTracesPath = "/v1/traces/";

/// Returns whether `text` is "http://" or "https://" and a host, with or without a port.
bool is_daemon(std::string_view text) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!text.starts_with(scheme)) continue;
    text.remove_prefix(scheme.size());
    return !text.empty() && std::ranges::all_of(text, [](char c) {
      return c > ' ' && c < '\x7f' &&
             std::string_view("/?#@\\\"").find(c) == std::string_view::npos;
    });
  }
  return false;
}

}  // namespace

bool is_trace_set(std::string_view text) {
  return text.size() == kTraceSetDigits && std::ranges::all_of(text, [](char c) {
           return ('0' <= c && c <= '9') || ('a' <= c && c <= 'f');
         });
}

std::optional<std::int64_t> parse_trace_rank(std::string_view text) {
  std::int64_t rank = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc() || end != text.data() + text.size() || rank < 0) return std::nullopt;
  return rank;
}

std::optional<TraceUrl> parse_trace_url(std::string_view text) {
  const auto path = text.find(kTracesPath);
  if (path == std::string_view::npos || !is_daemon(text.substr(0, path))) return std::nullopt;
  const auto set = text.substr(path + kTracesPath.size());
  if (set.size() < kTraceSetDigits + 2 || set[kTraceSetDigits] != '/') return std::nullopt;
  const auto rank = parse_trace_rank(set.substr(kTraceSetDigits + 1));
  if (!is_trace_set(set.substr(0, kTraceSetDigits)) || !rank) return std::nullopt;
  return TraceUrl{std::string(text.substr(0, path)), std::string(set.substr(0, kTraceSetDigits)),
                  *rank};
}

std::string TraceUrl::text() const {
  return daemon + std::string(kTracesPath) + set + "/" + std::to_string(rank);
}

}  // namespace hocket
