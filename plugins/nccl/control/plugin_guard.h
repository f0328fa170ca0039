#pragma once

// Decides on rank 0 whether the plugin harms the job by being there, so that it has to step back:
//
//  - Ranks that share a device take turns on it. What an iteration takes there is made of these
//    turns, not of transfers, and a thread or an event more may cost a turn. So the plugin is
//    switched off.
//  - Iterations are slower while NCCL reports collectives to the plugin, which it needs for
//    changing anything, than without any events. This is compared at the beginning, before
//    anything is changed, in alternation. So the plugin is switched off.
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
#include "plugins/nccl/tuning/events.h"

namespace hocket::nccl {

class PluginGuard {
 public:
  /// Iterations of each kind that are compared.
  static constexpr std::size_t kCompared = 12;
  /// Iterations with events are too slow above this ratio of medians, if so many comparisons in a
  /// row say so and the quartiles lie apart: of timing, and of reporting.
  static constexpr double kTooSlow = 1.03;
  static constexpr int kTimingComparisons = 2, kReportingComparisons = 3;
  /// Least duration of the first iterations without events.
  static constexpr std::int64_t kFirstNs = 1'000'000'000;
  /// Comparisons of reporting, at most: without events a job may be slower for long, as programs
  /// are when they start.
  static constexpr int kMostComparisons = 6;

  /// `compares_reporting`: events can be had, and what reporting costs is compared first.
  explicit PluginGuard(bool compares_reporting) : is_comparing_(compares_reporting) {}

  void add_device(std::uint32_t rank, const DeviceId& device);
  /// Adds iterations that were measured together, of this mean, with NCCL's own choices or such as
  /// were kept, while these events were asked for.
  void add_iterations(std::int64_t iteration_ns, std::int64_t count, Events events);

  /// Returns whether nothing may be changed yet, since the cost of reporting is being compared.
  bool is_comparing() const { return is_comparing_; }
  /// No iterations are to be had: there is nothing to compare.
  void cannot_compare() { is_comparing_ = false; }
  /// Events to ask for while no collectives are to be timed.
  Events events() const { return is_comparing_ ? compared_ : Events::counted; }

  /// Why the plugin must be off on all ranks: "" if it need not.
  const std::string& must_be_off() const { return must_be_off_; }
  /// Why collectives must not be timed: "" if they may.
  const std::string& timing_cost() const { return timing_cost_; }

 private:
  using Times = std::vector<std::int64_t>;

  void compare_reporting(std::int64_t iteration_ns, std::int64_t count, Events events);
  void compare_timing(std::int64_t iteration_ns, Events events);

  std::map<std::uint32_t, DeviceId> devices_;
  std::string must_be_off_, timing_cost_;

  bool is_comparing_;
  Events compared_ = Events::none;
  Times silent_, reported_;  // of this comparison
  std::int64_t silent_ns_ = 0;
  int comparisons_ = 0, slow_reports_ = 0;

  Times timed_, untimed_;  // the latest, at most kCompared
  int slow_timings_ = 0;
};

}  // namespace hocket::nccl
