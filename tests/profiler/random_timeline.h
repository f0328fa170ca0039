#pragma once

// Generates small random traces with every allowed feature: lanes, overlaps, records without length
// and across windows, unknown times. Pure.

#include <random>

#include "core/trace/rank_trace.h"

namespace hocket {

/// Times lie within [1, kTimelineEnd).
inline constexpr std::int64_t kTimelineEnd = 240;

class RandomTimeline {
 public:
  explicit RandomTimeline(std::uint64_t seed) : random_(seed) {}

  RankTrace trace() {
    RankTrace trace;
    trace.names = {"a", "b"};
    std::int64_t begin_ns = 1 + below(30), step = below(3);
    for (auto left = below(6); left > 0; --left) {
      trace.step_starts.push_back({step, begin_ns});
      step += below(5) == 0 ? 2 : 1;
      begin_ns += 1 + below(60);
    }
    for (auto left = below(25); left > 0; --left) trace.records.push_back(record());
    put_in_order(trace);
    return trace;
  }

  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  std::mt19937_64& engine() { return random_; }

 private:
  std::int64_t maybe_time(std::int64_t around_ns) {
    return below(4) == 0 ? 0 : std::max<std::int64_t>(1, around_ns - 50 + below(70));
  }

  TraceRecord record() {
    TraceRecord record;
    record.kind = static_cast<TraceKind>(below(5));
    record.lane = static_cast<std::int32_t>(below(2));
    record.name = static_cast<std::uint32_t>(below(2));
    record.begin_ns = 1 + below(kTimelineEnd - 60);
    record.end_ns = record.begin_ns + (below(4) == 0 ? 0 : below(below(2) ? 10 : 55));
    record.submitted_ns = maybe_time(record.begin_ns);
    record.ready_ns = maybe_time(record.begin_ns);
    return record;
  }

  std::mt19937_64 random_;
};

}  // namespace hocket
