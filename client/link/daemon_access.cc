#include "client/link/daemon_access.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/files/owned_path.h"
#include "core/protocol/daemon_token.h"
#include "core/protocol/ip_address.h"
#include "core/protocol/state_folder.h"

namespace hocket {
namespace {

constexpr std::size_t kMaxHostBytes = 253;

/// Counts a file that cannot be used as wrong input: trying again does not help.
Error as_bad_input(Error error) {
  error.code = ErrorCode::invalid_argument;
  return error;
}

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

/// Returns the token for the daemon at `address`; "" if there is none.
Result<std::string> find_token(const DaemonAddress& address, const Environment& environment) {
  if (const auto path = environment("HOCKET_TOKEN_FILE"); path && !path->empty()) {
    auto token = read_daemon_token(*path);
    if (!token) return failure(as_bad_input(token.error()).in("HOCKET_TOKEN_FILE"));
    return token;
  }
  const std::string folder =
      state_folder(environment("XDG_STATE_HOME").value_or(""), environment("HOME").value_or(""));
  if (!is_loopback_host(address.host) || folder.empty()) return std::string();
  if (const auto ok = check_private_folder(folder); !ok)
    return failure(ok.error().in("the daemon's token"));
  auto token = read_daemon_token(daemon_token_path(folder, address.port));
  if (!token && token.error().code == ErrorCode::not_found) return std::string();
  if (!token) return failure(as_bad_input(token.error()).in("the daemon's token"));
  return token;
}

/// Refuses to send a token where others on the way could read it.
Result<void> check_plain(const DaemonAccess& access, const Environment& environment) {
  if (access.token.empty() || access.address.tls || is_loopback_host(access.address.host))
    return {};
  if (environment("HOCKET_ALLOW_PLAIN_TOKEN") == "1") return {};
  return failure(ErrorCode::invalid_argument,
                 "the token is not sent to " + to_string(access.address) +
                     " in plain text, which others could read: use https://, or set "
                     "HOCKET_ALLOW_PLAIN_TOKEN=1 (--allow-plain-token) on a network that you "
                     "trust");
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

Result<DaemonAddress> daemon_address_from_environment(const Environment& environment) {
  const auto text = environment("HOCKET_DAEMON");
  if (!text || text->empty()) return failure(ErrorCode::not_found, "HOCKET_DAEMON is not set");
  auto address = parse_daemon_address(*text);
  if (!address) return failure(address.error().in("HOCKET_DAEMON"));
  return address;
}

Result<DaemonAccess> daemon_from_environment(const Environment& environment) {
  auto address = daemon_address_from_environment(environment);
  HOCKET_TRY(address);
  DaemonAccess access{.address = std::move(*address)};
  access.ca_file = environment("HOCKET_CA_FILE").value_or("");
  auto token = find_token(access.address, environment);
  HOCKET_TRY(token);
  access.token = std::move(*token);
  HOCKET_TRY(check_plain(access, environment));
  return access;
}

}  // namespace hocket
