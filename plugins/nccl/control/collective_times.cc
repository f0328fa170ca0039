#include "plugins/nccl/control/collective_times.h"

#include <algorithm>

namespace hocket::nccl {
namespace {

/// Collectives of which a rank's time is missing for good are given up in the end.
constexpr std::size_t kMostPartial = 8192;

}  // namespace

void CollectiveTimes::add(std::uint32_t rank, std::string_view bytes) {
  auto sent = measure::decode_collectives(bytes);
  if (!sent || sent->rank != static_cast<int>(rank)) return;
  for (const measure::MeasuredCollective& collective : sent->collectives) {
    Partial& partial = partial_[{collective.function, collective.sequence}];
    if (partial.ranks++ == 0 || collective.time_ns < partial.shortest.time_ns)
      partial.shortest = collective;
    partial.is_usable = partial.is_usable && collective.is_complete();
  }
  while (partial_.size() > kMostPartial) partial_.erase(partial_.begin());
  auto kept = std::find_if(kept_.begin(), kept_.end(),
                           [&](const auto& each) { return each.rank == sent->rank; });
  if (kept == kept_.end()) {
    kept_.push_back(std::move(*sent));
    return;
  }
  auto& collectives = kept->collectives;
  collectives.insert(collectives.end(), sent->collectives.begin(), sent->collectives.end());
  if (collectives.size() > kMostKept)
    collectives.erase(collectives.begin(),
                      collectives.end() - static_cast<std::ptrdiff_t>(kMostKept));
}

std::vector<TimedCollective> CollectiveTimes::take() {
  std::vector<TimedCollective> result;
  for (auto at = partial_.begin(); at != partial_.end();) {
    const Partial& partial = at->second;
    if (partial.ranks < ranks_) {
      ++at;
      continue;
    }
    const measure::MeasuredCollective& shortest = partial.shortest;
    if (partial.is_usable && shortest.function >= 0 && shortest.function < kFunctions)
      result.push_back({class_of(shortest.function, shortest.bytes), shortest.time_ns});
    at = partial_.erase(at);
  }
  return result;
}

}  // namespace hocket::nccl
