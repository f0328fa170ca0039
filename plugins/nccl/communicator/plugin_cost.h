#pragma once

// The plugin's cost to a communicator on this rank: the time of decisions, of which one in kEvery
// is timed, the waiting at gates, and the share of the time in which collectives were timed by
// events. For its closing line; decisions and waiting also as a share of the time, for its jobs.
// Pure: times are passed in. For the thread of NCCL's calls, except share_percent().

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>

namespace hocket::nccl {

class PluginCost {
 public:
  static constexpr std::uint64_t kEvery = 64;

  explicit PluginCost(std::int64_t opened_ns) : opened_ns_(opened_ns) {}

  static bool is_timed(std::uint64_t call) { return call % kEvery == kEvery - 1; }
  /// Adds the time of a decision. `calls`, `gates_ns`: number of decisions and time of waiting up
  /// to now.
  void add_decision(std::int64_t ns, std::uint64_t calls, std::int64_t gates_ns,
                    std::int64_t now_ns) {
    ++timed_;
    decisions_ns_ += ns;
    const double all_ns =
        mean_decision_ns() * static_cast<double>(calls) + static_cast<double>(gates_ns);
    share_percent_.store(std::clamp(100 * all_ns / open_ns(now_ns), 0.0, 100.0),
                         std::memory_order_relaxed);
  }
  /// Returns the share of the time since the communicator was opened that decisions and waiting
  /// have taken up to the last timed decision; -1 before the first. Any thread.
  double share_percent() const { return share_percent_.load(std::memory_order_relaxed); }
  void set_events(bool are_on, std::int64_t now_ns) {
    if (events_since_ns_ >= 0) events_ns_ += now_ns - events_since_ns_;
    events_since_ns_ = are_on ? now_ns : -1;
  }

  /// Returns "", if no decision was timed.
  std::string line(std::uint64_t calls, std::int64_t gates_ns, std::int64_t now_ns) {
    if (timed_ == 0) return "";
    set_events(events_since_ns_ >= 0, now_ns);
    const double all_ns = open_ns(now_ns);
    char text[160];
    std::snprintf(text, sizeof text,
                  "the plugin's cost: %llu decisions of %.0f ns, %.1f ms of waiting at changes, "
                  "collectives timed in %.1f %% of %.0f s",
                  static_cast<unsigned long long>(calls), mean_decision_ns(),
                  static_cast<double>(gates_ns) / 1e6,
                  100 * static_cast<double>(events_ns_) / all_ns, all_ns / 1e9);
    return text;
  }

 private:
  double open_ns(std::int64_t now_ns) const { return static_cast<double>(now_ns - opened_ns_) + 1; }
  double mean_decision_ns() const {
    return static_cast<double>(decisions_ns_) / static_cast<double>(timed_);
  }

  const std::int64_t opened_ns_;
  std::uint64_t timed_ = 0;
  std::int64_t decisions_ns_ = 0, events_ns_ = 0, events_since_ns_ = -1;
  std::atomic<double> share_percent_{-1};
};

}  // namespace hocket::nccl
