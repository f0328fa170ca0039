#include "core/host/messages/message_address.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>

namespace hocket {

Result<std::string> address_of_interface(const std::string& name) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0)
    return failure(ErrorCode::unavailable, "the network interfaces of this host cannot be listed");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, ::freeifaddrs);
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* each = first; each; each = each->ifa_next) {
      if (!each->ifa_addr || each->ifa_addr->sa_family != family || name != each->ifa_name)
        continue;
      const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
      std::array<char, NI_MAXHOST> text;
      if (::getnameinfo(each->ifa_addr, size, text.data(), text.size(), nullptr, 0,
                        NI_NUMERICHOST) == 0)
        return std::string(text.data());
    }
  }
  return failure(ErrorCode::not_found, "network interface \"" + name + "\" has no address");
}

}  // namespace hocket
