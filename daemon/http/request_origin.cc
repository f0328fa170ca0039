#include "daemon/http/request_origin.h"

#include <algorithm>
#include <charconv>

#include "daemon/http/http_message.h"

namespace hocket {
namespace {

constexpr std::size_t kMaxHostBytes = 253, kMaxQuotedBytes = 100;

char lower(char c) {
  return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

/// A host with an optional port, as in Host and in Origin (RFC 3986, section 3.2).
struct Authority {
  std::string_view host;  ///< without brackets
  std::optional<std::uint16_t> port = {};
};

std::optional<Authority> parse_authority(std::string_view text) {
  const bool in_brackets = text.starts_with('[');
  if (in_brackets) text.remove_prefix(1);
  const std::size_t end = text.find(in_brackets ? ']' : ':');
  if (in_brackets && end == std::string_view::npos) return std::nullopt;
  Authority authority{text.substr(0, end)};
  if (authority.host.empty()) return std::nullopt;
  text.remove_prefix(std::min(text.size(), authority.host.size() + (in_brackets ? 1 : 0)));
  if (text.empty()) return authority;
  std::uint16_t port = 0;
  const char* const last = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 1, last, port);
  if (text.front() != ':' || error != std::errc() || stop != last) return std::nullopt;
  authority.port = port;
  return authority;
}

bool is_own(std::string_view host, const ServedAs& served, const HostNames& names) {
  if (is_loopback(served.address) && is_loopback_host(host)) return true;
  if (const auto address = parse_ip(host)) {
    return *address == served.address || names.contains(*address);
  }
  return names.contains(host);
}

bool is_own_origin(std::string_view origin, const Authority& host, const ServedAs& served,
                   const HostNames& names) {
  const bool is_https = origin.starts_with("https://");
  if (!is_https && !origin.starts_with("http://")) return false;
  // A proxy in front of the daemon may add TLS, but not remove it.
  if (served.tls && !is_https) return false;
  const auto authority = parse_authority(origin.substr(is_https ? 8 : 7));
  if (!authority || !is_own(authority->host, served, names)) return false;
  const std::uint16_t default_port = is_https ? 443 : 80;
  const std::uint16_t port = authority->port.value_or(default_port);
  return port == served.port || port == host.port.value_or(default_port);
}

/// Returns whether a browser asks the daemon before it sends a body of this type for a page of
/// another origin (Fetch Standard, "CORS-safelisted request-header"), and a route takes it.
bool is_taken_type(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  return equal_ignoring_case(type, "application/json") ||
         equal_ignoring_case(type, "application/octet-stream");
}

std::string shown(std::string_view text) {
  return "\"" + std::string(text.substr(0, kMaxQuotedBytes)) + "\"";
}

}  // namespace

Result<HostNames> HostNames::parse(const std::vector<std::string>& hosts) {
  HostNames names;
  for (const std::string& host : hosts) {
    std::string_view text = host;
    if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
    if (const auto address = parse_ip(text)) {
      names.addresses_.push_back(*address);
      continue;
    }
    const bool is_name =
        !host.empty() && host.size() <= kMaxHostBytes && std::ranges::all_of(host, [](char c) {
          const char l = lower(c);
          return ('a' <= l && l <= 'z') || ('0' <= l && l <= '9') || l == '-' || l == '.' ||
                 l == '_';
        });
    if (!is_name) {
      return failure(ErrorCode::invalid_argument,
                     "expected a host name or an IP address without a port, such as "
                     "tuner.example.org, found " +
                         shown(host));
    }
    std::string& name = names.names_.emplace_back(host);
    std::ranges::transform(name, name.begin(), lower);
  }
  return names;
}

bool HostNames::contains(std::string_view name) const {
  return std::ranges::any_of(names_,
                             [&](const auto& own) { return equal_ignoring_case(own, name); });
}

bool HostNames::contains(const IpBytes& address) const {
  return std::ranges::find(addresses_, address) != addresses_.end();
}

std::optional<ServiceResponse> refuse_origin(const RequestHead& head, const ServedAs& served,
                                             const HostNames& names) {
  const auto host = parse_authority(head.host);
  if (!host || !is_own(host->host, served, names)) {
    return error_response(421, "the daemon does not answer to the host " + shown(head.host) +
                                   "; use the address that it listens on, or start it with "
                                   "--name and this host");
  }
  if (!head.origin.empty() && !is_own_origin(head.origin, *host, served, names)) {
    return error_response(
        403, "a web page of the origin " + shown(head.origin) + " may not use this daemon");
  }
  const std::string_view site = head.fetch_site;
  if (!site.empty() && site != "same-origin" && site != "none" && !head.opens_page) {
    return error_response(403, "a web page of another origin may not use this daemon");
  }
  if ((head.has_body || !head.content_type.empty()) && !is_taken_type(head.content_type)) {
    return error_response(415,
                          "the body must be JSON and the request must say so: Content-Type: "
                          "application/json (a piece of a trace: application/octet-stream)");
  }
  return std::nullopt;
}

}  // namespace hocket
