#include "plugins/nccl/control/plugin_guard.h"

#include <algorithm>
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

/// Compares iterations with events with those without.
struct Comparison {
  Comparison(const std::vector<std::int64_t>& with, const std::vector<std::int64_t>& without) {
    const Quartiles its = quartiles_of(with), other = quartiles_of(without);
    const double ratio = its.median / std::max(other.median, 1.0);
    percent_longer = static_cast<int>(100 * (ratio - 1) + 0.5);
    is_too_slow = ratio > PluginGuard::kTooSlow && its.low > other.high;
    is_faster = its.high < other.low;
  }

  int percent_longer = 0;
  bool is_too_slow = false, is_faster = false;
};

void keep_latest(std::vector<std::int64_t>& times, std::int64_t iteration_ns) {
  if (times.size() == PluginGuard::kCompared) times.erase(times.begin());
  times.push_back(iteration_ns);
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

void PluginGuard::add_iterations(std::int64_t iteration_ns, std::int64_t count, Events events) {
  if (is_comparing_) {
    compare_reporting(iteration_ns, count, events);
  } else {
    compare_timing(iteration_ns, events);
  }
}

void PluginGuard::compare_reporting(std::int64_t iteration_ns, std::int64_t count, Events events) {
  if (events != compared_) return;
  if (events == Events::none) {
    keep_latest(silent_, iteration_ns);
    silent_ns_ += iteration_ns * count;
    if (silent_.size() == kCompared && silent_ns_ >= kFirstNs) compared_ = Events::counted;
    return;
  }
  reported_.push_back(iteration_ns);
  if (reported_.size() < kCompared) return;
  const Comparison its(std::exchange(reported_, {}), std::exchange(silent_, {}));
  slow_reports_ = its.is_too_slow ? slow_reports_ + 1 : 0;
  compared_ = Events::none;
  if (slow_reports_ == kReportingComparisons && must_be_off_.empty()) {
    must_be_off_ = "iterations take " + std::to_string(its.percent_longer) +
                   " % longer while NCCL reports collectives to the plugin";
  }
  const bool is_like_silence = !its.is_too_slow && !its.is_faster;
  if (++comparisons_ == kMostComparisons || is_like_silence) is_comparing_ = false;
}

void PluginGuard::compare_timing(std::int64_t iteration_ns, Events events) {
  if (events != Events::counted && events != Events::timed) return;
  keep_latest(events == Events::timed ? timed_ : untimed_, iteration_ns);
  if (timed_.size() < kCompared || untimed_.size() < kCompared) return;
  if (events != Events::timed) return;
  const Comparison its(std::exchange(timed_, {}), untimed_);
  slow_timings_ = its.is_too_slow ? slow_timings_ + 1 : 0;
  if (slow_timings_ < kTimingComparisons || !timing_cost_.empty()) return;
  timing_cost_ =
      "iterations in which they are timed take " + std::to_string(its.percent_longer) + " % longer";
}

}  // namespace hocket::nccl
