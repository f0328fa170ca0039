#include "core/host/emulated_link.h"

#include "core/collective/collective_blocks.h"

namespace hocket {

EmulatedLink::EmulatedLink(Collective& link, const LinkSpec& spec, const Clock& clock,
                           const std::optional<LinkSpec>& inside)
    : link_(link), latency_ns_(spec.latency_ns), clock_(clock), network_(spec, clock) {
  if (inside) inside_.emplace(*inside, clock);
}

Result<void> EmulatedLink::run(const CollectiveWork& work) {
  if (has_no_blocks(work.kind)) {
    const auto [ranks, own] = group_members(mesh(), work.group, rank());
    if (auto ok = check_message(work, ranks.size(), own); !ok) return ok;
    carry_message(work, ranks, own);
    return link_.run(work);
  }
  const CollectiveBlocks blocks(work, mesh(), rank());
  const auto members = static_cast<std::int64_t>(blocks.members());
  const std::int64_t rounds = (work.kind == CollectiveKind::all_reduce ? 2 : 1) * (members - 1);
  const double bytes = static_cast<double>(blocks.size() * work.values.element_bytes()) *
                       static_cast<double>(rounds) / static_cast<double>(members);
  // On a single host, `link` stands for the one between its ranks.
  const bool is_inside = work.group.tier == GroupTier::inside ||
                         (grid().hosts() > 1 && !mesh().crosses_hosts(work.group));
  if (rounds > 0 && is_inside) {
    if (inside_) inside_->carry(bytes, rounds);
  } else if (rounds > 0) {
    network_.carry(bytes * static_cast<double>(mesh().groups_on_host(work.group)), rounds);
  }
  return link_.run(work);
}

void EmulatedLink::carry_message(const CollectiveWork& work, std::span<const std::int64_t> ranks,
                                 std::size_t own) {
  double inside_bytes = 0, network_bytes = 0;
  const auto sends = [&](std::size_t to, std::size_t values) {
    if (to == own) return;
    const bool leaves = grid().hosts() == 1 ? work.group.tier != GroupTier::inside
                                            : grid().host_of(ranks[to]) != grid().host_of(rank());
    (leaves ? network_bytes : inside_bytes) +=
        static_cast<double>(values * work.values.element_bytes());
  };
  std::int64_t rounds = 1;
  if (work.kind == CollectiveKind::send) {
    sends(work.peer, work.values.size());
  } else if (work.kind == CollectiveKind::all_to_all) {
    const std::vector<ValueRange> ranges = exchanged_ranges(work, work.sent_counts);
    for (std::size_t to = 0; to < ranks.size(); ++to) sends(to, ranges[to].size());
    rounds = static_cast<std::int64_t>(ranks.size()) - 1;
  } else if (work.kind == CollectiveKind::broadcast && ranks.size() > 1) {
    // Along a chain: each member but the last sends the values once.
    const std::size_t next = (own + 1) % ranks.size();
    if (next != work.peer) sends(next, work.values.size());
  }
  if (inside_bytes > 0 && inside_) inside_->carry(inside_bytes, rounds);
  if (network_bytes > 0) {
    network_.carry(network_bytes * static_cast<double>(mesh().groups_on_host(work.group)), rounds);
  }
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
