#pragma once

// Which requests the server passes on, decided from the head of a request before its body is read.
// A web page can make a browser send requests to a daemon that the page's author cannot reach. The
// browser says where they come from: after DNS rebinding in Host, otherwise in Origin and
// Sec-Fetch-Site (Fetch Metadata Request Headers). A page cannot set Content-Type to
// application/json on a request to another origin without asking the daemon first, which the daemon
// refuses (Fetch Standard, CORS-preflight). Pure; thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/ip_address.h"
#include "daemon/http/service.h"

namespace hocket {

/// The hosts that operators add to those that the daemon answers to by itself.
class HostNames {
 public:
  HostNames() = default;

  /// Takes names and IP addresses without ports; IPv6 with or without brackets. Returns
  /// invalid_argument for anything else.
  static Result<HostNames> parse(const std::vector<std::string>& hosts);

  bool contains(std::string_view name) const;
  bool contains(const IpBytes& address) const;

 private:
  std::vector<std::string> names_;  ///< in lower case
  std::vector<IpBytes> addresses_;
};

/// Fields of a request's head, empty when absent.
struct RequestHead {
  std::string_view host = {}, origin = {}, fetch_site = {};
  bool opens_page = false;  ///< a browser shows the answer, the page without data, in its window
  std::string_view content_type = {};
  bool has_body = false;
};

/// The address and port at which a connection arrived.
struct ServedAs {
  IpBytes address = {};
  std::uint16_t port = 0;
  bool tls = false;
};

/// Returns the response to a request that must not be passed on; nothing for the others:
/// - 421 unless Host names the address at which the connection arrived, "localhost" or a loopback
///   address if that address is one, or one of `names`; with any port, because ports are forwarded;
/// - 403 if Origin is not such a host with the daemon's port or Host's, or if Sec-Fetch-Site says
///   that a page of another origin sent it, unless by a link to the page;
/// - 415 if it has a body or a Content-Type, and the latter is neither application/json nor
///   application/octet-stream.
std::optional<ServiceResponse> refuse_origin(const RequestHead& head, const ServedAs& served,
                                             const HostNames& names);

}  // namespace hocket
