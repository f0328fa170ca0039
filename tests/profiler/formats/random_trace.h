#pragma once

// Generates random traces that keep the rules of core/trace/rank_trace.h, for tests of readers and
// writers. Pure.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/trace/rank_trace.h"

namespace hocket {

/// Returns a trace of rank `rank` of `ranks`, with all kinds and fields and records that overlap,
/// nest and have no length.
inline RankTrace random_trace(std::int64_t rank, std::int64_t ranks, std::mt19937_64& random) {
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  RankTrace trace;
  trace.rank = rank;
  trace.ranks = ranks;
  trace.host = below(2) ? "node \"é\"" : "";
  trace.source = "host";
  trace.names = {"forward", "back\\ward\n", "all-reduce", "aten::mm<float>()"};
  trace.dropped = below(3);
  trace.quarantined = below(3);
  // Uses times since 1970 as well as small ones.
  const std::int64_t epoch = below(2) ? 1'700'000'000'000'000'000 : 0;
  for (std::int64_t i = below(60); i > 0; --i) {
    TraceRecord record;
    record.kind = static_cast<TraceKind>(below(5));
    record.lane = static_cast<std::int32_t>(below(3));
    record.name = static_cast<std::uint32_t>(below(4));
    record.begin_ns = epoch + below(3000) * (below(2) ? 1 : 100);
    record.end_ns = record.begin_ns + below(2000) * below(2);
    record.step = below(4) - 1;
    record.task = below(5) - 1;
    if (below(2)) record.bytes = below(std::int64_t{1} << 40);
    if (record.kind == TraceKind::communication) {
      record.collective = kCollectiveKinds[random() % kCollectiveKinds.size()];
      record.sequence = i;
    }
    if (below(2)) record.submitted_ns = record.begin_ns;
    if (below(2)) record.ready_ns = record.begin_ns;
    trace.records.push_back(record);
  }
  put_in_order(trace);
  for (std::int64_t i = below(4); i > 0; --i) {
    const StepStart last =
        trace.step_starts.empty() ? StepStart{0, epoch} : trace.step_starts.back();
    trace.step_starts.push_back({last.step + 1 + below(2), last.begin_ns + 1 + below(1000)});
  }
  for (std::int64_t i = below(3); i > 0; --i) {
    trace.clock_samples.push_back({epoch + i, 1'700'000'000'123'456'789 + i});
  }
  return trace;
}

}  // namespace hocket
