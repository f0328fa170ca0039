#include "core/host/emulated_link.h"

namespace hocket {

EmulatedLink::EmulatedLink(Collective& link, const LinkSpec& spec, const Clock& clock)
    : link_(link), spec_(spec), clock_(clock) {}

Result<void> EmulatedLink::all_reduce(std::span<float> values, std::uint64_t index) {
  const int rounds = 2 * (world_size() - 1);
  if (rounds > 0) {
    const std::int64_t sent_ns =
        send(static_cast<double>(values.size_bytes()) * rounds / world_size());
    clock_.sleep_until_ns(sent_ns + rounds * spec_.latency_ns);
  }
  return link_.all_reduce(values, index);
}

std::int64_t EmulatedLink::send(double bytes) {
  std::unique_lock lock(mutex_);
  std::int64_t now_ns = clock_.now_ns();
  end_sent(now_ns);
  const std::uint64_t own = sends_++;
  shared_.begin(own, bytes / spec_.bytes_per_second * 1e9, now_ns);
  sent_ns_[own] = kNotSent;
  while (sent_ns_[own] == kNotSent) {
    // Nothing leaves before the next one does, whoever's it is.
    const std::int64_t next_ns = shared_.next_end()->time_ns;
    lock.unlock();
    clock_.sleep_until_ns(next_ns);
    lock.lock();
    end_sent(clock_.now_ns());
  }
  const std::int64_t sent_ns = sent_ns_[own];
  sent_ns_.erase(own);
  return sent_ns;
}

void EmulatedLink::end_sent(std::int64_t now_ns) {
  for (auto next = shared_.next_end(); next && next->time_ns <= now_ns; next = shared_.next_end()) {
    shared_.end_next(next->time_ns);
    sent_ns_[next->transfer] = next->time_ns;
  }
}

Result<std::string> EmulatedLink::hear() {
  auto message = link_.hear();
  clock_.sleep_until_ns(clock_.now_ns() + spec_.latency_ns);
  return message;
}

}  // namespace hocket
