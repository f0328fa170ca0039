#include "core/host/link_queues.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "core/base/check.h"

namespace hocket {
namespace {

using SharedTime = std::atomic_ref<std::int64_t>;
static_assert(SharedTime::is_always_lock_free, "a lock would not be shared by processes");

}  // namespace

Result<LinkQueues> LinkQueues::make(std::vector<double> bytes_per_second) {
  // The new memory is zero: every link is free since the clock began.
  auto memory = SharedMemory::make(bytes_per_second.size() * sizeof(std::int64_t));
  HOCKET_TRY(memory);
  return LinkQueues(std::move(*memory), std::move(bytes_per_second));
}

Result<LinkQueues> LinkQueues::open(const std::string& name, std::vector<double> bytes_per_second) {
  auto memory = SharedMemory::open(name);
  HOCKET_TRY(memory);
  const std::size_t links = memory->size_bytes() / sizeof(std::int64_t);
  if (links != bytes_per_second.size()) {
    return invalid("emulated links: rank 0 has " + std::to_string(links) + " and this rank " +
                   std::to_string(bytes_per_second.size()) +
                   "; start all ranks with the same options");
  }
  return LinkQueues(std::move(*memory), std::move(bytes_per_second));
}

std::int64_t LinkQueues::carry(double bytes, std::span<const std::uint32_t> links,
                               std::int64_t ready_ns) {
  std::int64_t arrived_ns = ready_ns;
  for (const std::uint32_t link : links) {
    HOCKET_CHECK(link < bytes_per_second_.size(), "there is such a link");
    const std::int64_t takes_ns = std::llround(bytes / bytes_per_second_[link] * 1e9);
    const SharedTime shared_ns(free_ns(link));
    std::int64_t before_ns = shared_ns.load(), after_ns = 0;
    do {
      after_ns = std::max(ready_ns, before_ns) + takes_ns;
    } while (!shared_ns.compare_exchange_weak(before_ns, after_ns));
    arrived_ns = std::max(arrived_ns, after_ns);
  }
  return arrived_ns;
}

Result<LinkQueues> share_link_queues(Collective& collective, std::vector<double> bytes_per_second) {
  if (collective.rank() != 0) {
    const auto name = collective.hear();
    if (!name) return failure(name.error().in("waiting for rank 0's emulated links"));
    return LinkQueues::open(*name, std::move(bytes_per_second));
  }
  auto links = LinkQueues::make(std::move(bytes_per_second));
  HOCKET_TRY(links);
  HOCKET_TRY(collective.tell(links->name()));
  return links;
}

}  // namespace hocket
