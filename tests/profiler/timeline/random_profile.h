#pragma once

// Random profiles of one to three ranks, and a timeline's records one by one, for tests of
// timelines. Pure.

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "core/trace/rank_trace.h"
#include "profiler/clocks/clock_fit.h"
#include "profiler/timeline/timeline.h"
#include "tests/profiler/formats/random_trace.h"

namespace hocket {

struct TimelineInput {
  std::vector<RankTrace> traces;
  std::vector<ClockFit> fits;

  /// Adds a trace whose times on the reference's clock are `offset_ns` later.
  RankTrace& add(std::int64_t rank, std::int64_t offset_ns = 0) {
    RankTrace& trace = traces.emplace_back();
    trace.rank = rank;
    trace.names = {"a", "b"};
    ClockFit& fit = fits.emplace_back();
    fit.method = "exchange";
    fit.offset_ns = static_cast<double>(offset_ns);
    return trace;
  }
  Timeline timeline() const { return Timeline(traces, fits); }
};

inline TraceRecord record_of(TraceKind kind, std::int64_t begin_ns, std::int64_t end_ns,
                             std::int32_t lane = 0, std::uint32_t name = 0) {
  TraceRecord record;
  record.kind = kind;
  record.lane = lane;
  record.name = name;
  record.begin_ns = begin_ns;
  record.end_ns = end_ns;
  return record;
}

/// Clocks differ by whole nanoseconds, so that times on the axis can be told exactly. Ranks have
/// collectives of equal sequence.
inline TimelineInput random_input(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  constexpr std::int64_t kEpochNs = 1'700'000'000'000'000'000;
  const std::int64_t epoch_ns = below(2) ? kEpochNs : 10'000;
  TimelineInput input;
  for (std::int64_t rank = 0, ranks = 1 + below(3); rank < ranks; ++rank) {
    const std::int64_t offset_ns = rank == 0 ? 0 : below(4000) - 2000;
    RankTrace trace = random_trace(rank, ranks, random);
    const auto move = [&](std::int64_t& time_ns) {
      time_ns += epoch_ns - (time_ns >= kEpochNs ? kEpochNs : 0);
    };
    for (TraceRecord& record : trace.records) {
      move(record.begin_ns);
      move(record.end_ns);
      if (record.submitted_ns != 0) move(record.submitted_ns);
      if (record.ready_ns != 0) move(record.ready_ns);
    }
    for (StepStart& start : trace.step_starts) move(start.begin_ns);
    input.add(rank, offset_ns) = std::move(trace);
    input.fits.back().reference_ns = epoch_ns;
  }
  return input;
}

/// All records of a timeline, by lane.
inline std::vector<std::vector<RecordDetails>> records_by_lane(const Timeline& timeline) {
  std::vector<std::vector<RecordDetails>> lanes;
  for (const TimelineLane& lane : timeline.lanes()) {
    auto& records = lanes.emplace_back();
    for (std::uint32_t i = 0; i < lane.records; ++i) {
      auto record = timeline.record(std::ssize(lanes) - 1, i);
      EXPECT_TRUE(record);
      if (record) records.push_back(std::move(*record));
    }
  }
  return lanes;
}

/// Returns whether a lane holds records of a trace.
inline bool is_own(LaneKind kind) {
  return kind != LaneKind::iteration && kind != LaneKind::exposed;
}

}  // namespace hocket
