#include "core/collective/shared_flows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.h"

namespace hocket {
namespace {

/// Longer than any simulation, and far from overflow.
constexpr double kMaxFlowNs = 0x1p60;

}  // namespace

void SharedFlows::begin(std::uint64_t flow, double bytes, std::span<const Use> uses,
                        std::int64_t now_ns) {
  advance(now_ns);
  Flow& begun = flows_.emplace_back();
  begun.id = flow;
  begun.bytes_left = bytes;
  begun.uses.assign(uses.begin(), uses.end());
  if (!count(begun, 1)) return share();
  double bytes_per_second = std::numeric_limits<double>::infinity();
  for (const Use& use : uses)
    bytes_per_second = std::min(bytes_per_second, bytes_per_second_[use.link] / use.times);
  begun.bytes_per_ns = bytes_per_second / 1e9;
}

bool SharedFlows::count(const Flow& flow, int change) {
  bool is_alone = true;
  for (const Use& use : flow.uses) {
    users_[use.link] += change;
    is_alone &= users_[use.link] == (change > 0 ? 1 : 0);
  }
  return is_alone;
}

double SharedFlows::end_after_ns(const Flow& flow) const {
  if (flow.bytes_left <= 0 || flow.uses.empty()) return 0;
  return std::min(flow.bytes_left / (flow.share * flow.bytes_per_ns), kMaxFlowNs);
}

std::optional<SharedFlows::End> SharedFlows::next_end() const {
  if (flows_.empty()) return std::nullopt;
  const auto first =
      std::ranges::min_element(flows_, {}, [this](const Flow& flow) { return end_after_ns(flow); });
  return End{now_ns_ + std::llround(end_after_ns(*first)), first->id};
}

void SharedFlows::end_next(std::int64_t now_ns) {
  HOCKET_CHECK(!flows_.empty(), "no flow is under way");
  const auto first =
      std::ranges::min_element(flows_, {}, [this](const Flow& flow) { return end_after_ns(flow); });
  const auto index = first - flows_.begin();
  advance(now_ns);
  const bool was_alone = count(*first, -1);
  flows_.erase(flows_.begin() + index);
  if (!was_alone) share();
}

void SharedFlows::advance(std::int64_t now_ns) {
  const auto passed_ns = static_cast<double>(now_ns - now_ns_);
  now_ns_ = now_ns;
  for (Flow& flow : flows_)
    flow.bytes_left = std::max(0.0, flow.bytes_left - flow.share * flow.bytes_per_ns * passed_ns);
}

void SharedFlows::share() {
  rates_.fill(
      bytes_per_second_, flows_,
      [](const Flow& flow) -> const std::vector<Use>& { return flow.uses; },
      [](Flow& flow, double rate) { flow.bytes_per_ns = rate / 1e9; });
}

}  // namespace hocket
