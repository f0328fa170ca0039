#include "core/host/emulated_link.h"

namespace hocket {

EmulatedLink::EmulatedLink(Collective& link, const LinkSpec& spec, const Clock& clock)
    : link_(link), spec_(spec), clock_(clock), bucket_(spec.bytes_per_second, 0) {}

Result<void> EmulatedLink::all_reduce(std::span<float> values, std::uint64_t index) {
  const int rounds = 2 * (world_size() - 1);
  if (rounds > 0) {
    const double bytes = static_cast<double>(values.size_bytes()) * rounds / world_size();
    std::int64_t sent_ns = 0;
    {
      std::lock_guard lock(mutex_);
      sent_ns = bucket_.send(bytes, clock_.now_ns());
    }
    clock_.sleep_until_ns(sent_ns + rounds * spec_.latency_ns);
  }
  return link_.all_reduce(values, index);
}

Result<std::string> EmulatedLink::hear() {
  auto message = link_.hear();
  clock_.sleep_until_ns(clock_.now_ns() + spec_.latency_ns);
  return message;
}

}  // namespace hocket
