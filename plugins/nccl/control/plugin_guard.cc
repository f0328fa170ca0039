#include "plugins/nccl/control/plugin_guard.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hocket::nccl {
namespace {

struct Quartiles {
  double low = 0, median = 0, high = 0;
};

Quartiles quartiles_of(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](std::size_t quarter) {
    return static_cast<double>(values[(values.size() - 1) * quarter / 4]);
  };
  return {at(1), at(2), at(3)};
}

}  // namespace

void PluginGuard::add_device(std::uint32_t rank, const DeviceId& device) {
  for (const auto& [other, its] : devices_) {
    if (other == rank || its != device || !must_be_off_.empty()) continue;
    const auto [first, second] = std::minmax(other, rank);
    must_be_off_ = "ranks " + std::to_string(first) + " and " + std::to_string(second) +
                   " share a GPU, whose turns decide how long an iteration takes";
  }
  devices_[rank] = device;
}

void PluginGuard::add_iteration(std::int64_t iteration_ns, bool with_events) {
  auto& kind = with_events ? with_ : without_;
  if (kind.size() == kCompared) kind.erase(kind.begin());
  kind.push_back(iteration_ns);
  if (with_events && kind.size() == kCompared && without_.size() == kCompared) compare();
}

void PluginGuard::compare() {
  const Quartiles with = quartiles_of(std::exchange(with_, {})), without = quartiles_of(without_);
  const double ratio = with.median / std::max(without.median, 1.0);
  slow_in_a_row_ = ratio > kTooSlow && with.low > without.high ? slow_in_a_row_ + 1 : 0;
  if (slow_in_a_row_ < kComparisons || !events_cost_.empty()) return;
  events_cost_ = "iterations in which they are timed take " +
                 std::to_string(std::lround(100 * (ratio - 1))) + " % longer";
}

}  // namespace hocket::nccl
