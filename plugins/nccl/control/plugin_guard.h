#pragma once

// Decides on rank 0 whether the plugin harms the job by being there, so that it has to step back:
//
//  - Ranks that share a device take turns on it. What an iteration takes there is made of these
//    turns, not of transfers, and a thread or an event more may cost a turn. So the plugin is
//    switched off.
//  - Iterations in which the collectives are timed are slower than those before and after. So the
//    collectives are timed no more.
//
// Pure; one thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plugins/nccl/control/rank_device.h"

namespace hocket::nccl {

class PluginGuard {
 public:
  /// Iterations of each kind that are compared.
  static constexpr std::size_t kCompared = 12;
  /// Iterations with events are too slow above this ratio of medians, if this many comparisons in a
  /// row say so and the quartiles lie apart.
  static constexpr double kTooSlow = 1.03;
  static constexpr int kComparisons = 2;

  void add_device(std::uint32_t rank, const DeviceId& device);
  void add_iteration(std::int64_t iteration_ns, bool with_events);

  /// Why the plugin must be off on all ranks: "" if it need not.
  const std::string& must_be_off() const { return must_be_off_; }
  /// Why collectives must not be timed: "" if they may.
  const std::string& events_cost() const { return events_cost_; }

 private:
  void compare();

  std::map<std::uint32_t, DeviceId> devices_;
  std::vector<std::int64_t> with_, without_;  // the latest, at most kCompared
  int slow_in_a_row_ = 0;
  std::string must_be_off_, events_cost_;
};

}  // namespace hocket::nccl
