#include "tuner/client/link/daemon_access.h"

#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/base/json.h"

namespace hocket {
namespace {

constexpr std::size_t kMaxHostBytes = 253, kMaxTokenBytes = 4096;

Error bad_address(std::string_view text) {
  const std::string found = nlohmann::json(text.substr(0, 300))
                                .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return {ErrorCode::invalid_argument,
          "the daemon's address must be http://HOST:PORT or https://HOST:PORT, found " + found};
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool is_name(std::string_view host) {
  return std::ranges::all_of(host, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_';
  });
}

bool is_ipv6(std::string_view host) {
  return host.find(':') != std::string_view::npos && std::ranges::all_of(host, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == ':' || c == '.' || c == '%';
         });
}

/// Returns the host at the start of `text` and removes it: "sample" from "[sample]:7077" or
/// "sample:7077"; ":7077" remains in `text`.
std::string_view take_host(std::string_view& text) {
  const bool bracket = take_prefix(text, "[");
  const std::size_t end = text.find(bracket ? ']' : ':');
  if (bracket && end == std::string_view::npos) return {};
  const std::string_view host = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), host.size() + (bracket ? 1 : 0)));
  return (bracket ? is_ipv6(host) : is_name(host)) ? host : std::string_view();
}

Result<std::string> read_token(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
    return failure(ErrorCode::invalid_argument, "cannot read a file " + path);
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return failure(ErrorCode::invalid_argument,
                   path + " can be read by others, so its token is not used; chmod 600 it");
  }
  auto text = read_file(path, kMaxTokenBytes);
  if (!text) return text;
  while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
  const bool printable =
      std::ranges::all_of(*text, [](unsigned char c) { return 0x20 < c && c < 0x7F; });
  if (text->empty() || !printable) {
    return failure(ErrorCode::invalid_argument,
                   path + " must hold one token of printable ASCII without spaces");
  }
  return text;
}

}  // namespace

Result<DaemonAddress> parse_daemon_address(std::string_view text) {
  DaemonAddress address;
  std::string_view rest = text;
  address.tls = take_prefix(rest, "https://");
  if (!address.tls && !take_prefix(rest, "http://")) return failure(bad_address(text));
  if (rest.ends_with('/')) rest.remove_suffix(1);
  address.host = take_host(rest);
  if (address.host.empty() || address.host.size() > kMaxHostBytes)
    return failure(bad_address(text));
  address.port = address.tls ? 443 : 80;
  if (rest.empty()) return address;
  const char* const end = rest.data() + rest.size();
  const auto [stop, error] = std::from_chars(rest.data() + 1, end, address.port);
  if (rest.front() != ':' || error != std::errc() || stop != end || address.port == 0)
    return failure(bad_address(text));
  return address;
}

std::string to_string(const DaemonAddress& address) {
  const bool ipv6 = address.host.find(':') != std::string::npos;
  return (address.tls ? "https://" : "http://") + (ipv6 ? "[" + address.host + "]" : address.host) +
         ":" + std::to_string(address.port);
}

Result<DaemonAccess> daemon_from_environment(const Environment& environment) {
  const auto text = environment("HOCKET_DAEMON");
  if (!text || text->empty()) return failure(ErrorCode::not_found, "HOCKET_DAEMON is not set");
  auto address = parse_daemon_address(*text);
  if (!address) return failure(address.error().in("HOCKET_DAEMON"));
  DaemonAccess options{.address = std::move(*address)};
  options.ca_file = environment("HOCKET_CA_FILE").value_or("");
  if (const auto path = environment("HOCKET_TOKEN_FILE"); path && !path->empty()) {
    auto token = read_token(*path);
    if (!token) return failure(token.error().in("HOCKET_TOKEN_FILE"));
    options.token = std::move(*token);
  }
  return options;
}

}  // namespace hocket
