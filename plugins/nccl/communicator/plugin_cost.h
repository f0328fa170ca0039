#pragma once

// The plugin's cost to a communicator on this rank, for its closing line: the time of decisions,
// of which one in kEvery is timed, the waiting at gates, and the share of the time in which
// collectives were timed by events. Pure: times are passed in. For the thread of NCCL's calls.

#include <cstdint>
#include <cstdio>
#include <string>

namespace hocket::nccl {

class PluginCost {
 public:
  static constexpr std::uint64_t kEvery = 64;

  static bool is_timed(std::uint64_t call) { return call % kEvery == kEvery - 1; }
  void add_decision(std::int64_t ns) {
    ++timed_;
    decisions_ns_ += ns;
  }
  void set_events(bool are_on, std::int64_t now_ns) {
    if (events_since_ns_ >= 0) events_ns_ += now_ns - events_since_ns_;
    events_since_ns_ = are_on ? now_ns : -1;
  }

  /// Returns "", if no decision was timed.
  std::string line(std::uint64_t calls, std::int64_t gates_ns, std::int64_t opened_ns,
                   std::int64_t now_ns) {
    if (timed_ == 0) return "";
    set_events(events_since_ns_ >= 0, now_ns);
    const double all_ns = static_cast<double>(now_ns - opened_ns) + 1;
    char text[160];
    std::snprintf(text, sizeof text,
                  "the plugin's cost: %llu decisions of %.0f ns, %.1f ms of waiting at changes, "
                  "collectives timed in %.1f %% of %.0f s",
                  static_cast<unsigned long long>(calls),
                  static_cast<double>(decisions_ns_) / static_cast<double>(timed_),
                  static_cast<double>(gates_ns) / 1e6,
                  100 * static_cast<double>(events_ns_) / all_ns, all_ns / 1e9);
    return text;
  }

 private:
  std::uint64_t timed_ = 0;
  std::int64_t decisions_ns_ = 0, events_ns_ = 0, events_since_ns_ = -1;
};

}  // namespace hocket::nccl
