#pragma once

// Generates random traces for tests of storage. Pure.

#include <limits>
#include <random>
#include <string>

#include "core/trace/rank_trace.h"

namespace hocket {

inline TraceRecord random_record(std::mt19937_64& random, std::size_t names) {
  const auto below = [&](std::int64_t end) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end));
  };
  // Mostly small numbers, so that records overlap; sometimes the largest ones.
  const auto number = [&](std::int64_t end) {
    return below(50) == 0 ? std::numeric_limits<std::int64_t>::max() - below(3) : below(end);
  };
  TraceRecord record;
  record.kind = static_cast<TraceKind>(below(5));
  if (below(2) == 0) record.collective = static_cast<CollectiveKind>(below(4));
  record.lane = static_cast<std::int32_t>(below(20) == 0 ? std::numeric_limits<std::int32_t>::max()
                                                         : below(4));
  record.name = static_cast<std::uint32_t>(below(static_cast<std::int64_t>(names)));
  record.begin_ns = below(1'000);
  record.end_ns = record.begin_ns + below(below(5) == 0 ? 1'000 : 20);
  if (below(2) == 0) record.step = number(10);
  if (below(2) == 0) record.task = number(100);
  if (below(2) == 0) record.bytes = number(1'000'000);
  if (below(2) == 0) record.sequence = number(1'000);
  if (below(2) == 0) record.submitted_ns = number(1'000);
  if (below(2) == 0) record.ready_ns = number(1'000);
  return record;
}

/// Returns up to `most` plausible records in any order, with the other parts of a trace.
inline RankTrace random_trace(std::mt19937_64& random, std::size_t most) {
  RankTrace trace;
  trace.rank = 3;
  trace.ranks = 8;
  trace.host = "node\xc3\xa9";
  trace.source = "host";
  for (std::uint64_t i = random() % 5 + 1; i > 0; --i) {
    trace.names.push_back("name" + std::to_string(random() % 9));
  }
  const std::int64_t groups = static_cast<std::int64_t>(random() % 4);
  for (std::int64_t i = 0; i < groups; ++i) {
    // Groups of one name differ in their ranks.
    trace.groups.push_back({i < 2 ? "tp" : "", {i, i + 3, 100 + i}});
  }
  if (random() % 2 == 0) trace.groups.push_back({"pp", {}});
  for (std::uint64_t i = random() % (most + 1); i > 0; --i) {
    TraceRecord& record = trace.records.emplace_back(random_record(random, trace.names.size()));
    record.group = static_cast<std::int32_t>(random() % (trace.groups.size() + 1)) - 1;
  }
  for (std::uint64_t i = random() % 4; i > 0; --i) {
    trace.step_starts.push_back({static_cast<std::int64_t>(random() % 9), 5});
    trace.clock_samples.push_back({static_cast<std::int64_t>(random() % 9), 7});
  }
  trace.dropped = static_cast<std::int64_t>(random() % 3);
  trace.quarantined = static_cast<std::int64_t>(random() % 3);
  return trace;
}

}  // namespace hocket
