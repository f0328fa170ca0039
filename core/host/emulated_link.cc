#include "core/host/emulated_link.h"

#include "core/collective/collective_blocks.h"

namespace hocket {

EmulatedLink::EmulatedLink(Collective& link, const LinkSpec& spec, const Clock& clock,
                           const std::optional<LinkSpec>& inside)
    : link_(link), latency_ns_(spec.latency_ns), clock_(clock), network_(spec, clock) {
  if (inside) inside_.emplace(*inside, clock);
}

Result<void> EmulatedLink::run(const CollectiveWork& work) {
  const CollectiveBlocks blocks(work, grid(), rank());
  const auto members = static_cast<std::int64_t>(blocks.members());
  const std::int64_t rounds = (work.kind == CollectiveKind::all_reduce ? 2 : 1) * (members - 1);
  const double bytes = static_cast<double>(blocks.size() * sizeof(float)) *
                       static_cast<double>(rounds) / static_cast<double>(members);
  if (rounds > 0 && work.group == CollectiveGroup::inside) {
    if (inside_) inside_->carry(bytes, rounds);
  } else if (rounds > 0) {
    const int sharing = work.group == CollectiveGroup::between ? ranks_per_host() : 1;
    network_.carry(bytes * sharing, rounds);
  }
  return link_.run(work);
}

void EmulatedLink::Wire::carry(double bytes, std::int64_t rounds) {
  std::unique_lock lock(mutex_);
  const std::int64_t now_ns = clock_.now_ns();
  end_sent(now_ns);
  const std::uint64_t own = sends_++;
  shared_.begin(own, bytes / spec_.bytes_per_second * 1e9, now_ns);
  sent_ns_[own] = kNotSent;
  while (sent_ns_[own] == kNotSent) {
    // No transfer leaves before the next one to end, whichever part it belongs to.
    const std::int64_t next_ns = shared_.next_end()->time_ns;
    lock.unlock();
    clock_.sleep_until_ns(next_ns);
    lock.lock();
    end_sent(clock_.now_ns());
  }
  const std::int64_t sent_ns = sent_ns_[own];
  sent_ns_.erase(own);
  lock.unlock();
  clock_.sleep_until_ns(sent_ns + rounds * spec_.latency_ns);
}

void EmulatedLink::Wire::end_sent(std::int64_t now_ns) {
  for (auto next = shared_.next_end(); next && next->time_ns <= now_ns; next = shared_.next_end()) {
    shared_.end_next(next->time_ns);
    sent_ns_[next->transfer] = next->time_ns;
  }
}

Result<std::string> EmulatedLink::hear() {
  auto message = link_.hear();
  HOCKET_TRY(message);
  clock_.sleep_until_ns(clock_.now_ns() + latency_ns_);
  return message;
}

}  // namespace hocket
