#include "tests/fault/slow_link.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>

namespace hocket {
namespace {

bool quietly(const std::string& command) {
  return std::system(("( " + command + " ) >/dev/null 2>&1").c_str()) == 0;
}

bool move_to(int network) {
  return network >= 0 && setns(network, CLONE_NEWNET) == 0;
}

}  // namespace

SlowLink::SlowLink(int slow, const std::string& rate) : own_(std::to_string(getpid())) {
  // A switch of its own: that of this machine may filter.
  const std::string hub = name(kHosts);
  made_ = quietly("ip netns add " + hub + " && ip -n " + hub +
                  " link add hub type bridge && ip -n " + hub + " link set hub up");
  for (int host = 0; host < kHosts && made_; ++host) {
    const std::string in = "ip -n " + name(host) + " ", port = "port" + std::to_string(host);
    made_ = quietly("ip netns add " + name(host)) &&
            quietly("ip link add wire netns " + name(host) + " type veth peer name " + port +
                    " netns " + hub) &&
            quietly("ip -n " + hub + " link set " + port + " master hub up") &&
            quietly(in + "addr add " + address(host) + "/24 dev wire") &&
            quietly(in + "link set lo up && " + in + "link set wire up");
  }
  made_ = made_ && quietly("tc -n " + name(slow) + " qdisc add dev wire root tbf rate " + rate +
                           " burst 64kb latency 400ms");
}

SlowLink::~SlowLink() {
  if (outside_ >= 0) {
    (void)move_to(outside_);
    close(outside_);
  }
  for (int host = 0; host <= kHosts; ++host) quietly("ip netns del " + name(host));
}

bool SlowLink::enter() {
  outside_ = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  const int inside = open(("/run/netns/" + name(0)).c_str(), O_RDONLY | O_CLOEXEC);
  const bool entered = move_to(inside);
  if (inside >= 0) close(inside);
  return entered;
}

bool SlowLink::silence(int host) const {
  return quietly("ip -n " + name(kHosts) + " link set port" + std::to_string(host) + " nomaster");
}

std::vector<std::string> SlowLink::launcher(int host) const {
  return {"/usr/bin/env", "ip", "netns", "exec", name(host)};
}

std::string SlowLink::name(int host) const {
  return "hkslow" + own_ + "-" + std::to_string(host);
}

}  // namespace hocket
