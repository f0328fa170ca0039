// Benchmarks timelines of profiles: bin/timeline_benchmark [--benchmark_filter=…]
//
// The profile has a million records of four ranks with six lanes each: two compute streams, two
// channels, copies and nested host ranges. Every rank has the same collectives.

#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "profiler/timeline/timeline.h"

namespace hocket {
namespace {

constexpr std::int64_t kBeginNs = 1'800'000'000'000'000'000, kPeriodNs = 1'000;
constexpr std::int64_t kRanks = 4, kRecordsARank = 250'000, kRecordsAStep = 5'000, kNames = 200;

/// Returns the i-th record; six records of different lanes begin in each 6 · kPeriodNs.
TraceRecord record_at(std::int64_t i, std::mt19937_64& random) {
  TraceRecord record;
  record.begin_ns = kBeginNs + i * kPeriodNs + static_cast<std::int64_t>(random() % 200);
  record.end_ns = record.begin_ns + 1000 + static_cast<std::int64_t>(random() % 4'500);
  record.step = i / kRecordsAStep;
  record.task = i % kRecordsAStep;
  record.name = static_cast<std::uint32_t>(i / 6 % kNames);
  record.submitted_ns = record.begin_ns - 50'000;
  record.ready_ns = record.begin_ns - static_cast<std::int64_t>(random() % 5'000);
  const std::int64_t lane = i % 6;
  record.lane = static_cast<std::int32_t>(lane % 2);
  if (lane == 2 || lane == 3) {
    record.kind = TraceKind::communication;
    record.collective = CollectiveKind::all_reduce;
    record.sequence = i;
    record.bytes = 1 << 20;
  } else if (lane == 4) {
    record.kind = TraceKind::copy;
    record.bytes = 4096;
  } else if (lane == 5) {
    record.kind = TraceKind::range;
    // Every hundredth one holds the next fifty.
    if (i / 6 % 100 == 0) record.end_ns = record.begin_ns + 300 * kPeriodNs;
  }
  return record;
}

struct Profile {
  std::vector<RankTrace> traces;
  std::vector<ClockFit> fits;
};

const Profile& profile() {
  static const Profile made = [] {
    std::mt19937_64 random(1);
    Profile result;
    for (std::int64_t rank = 0; rank < kRanks; ++rank) {
      RankTrace& trace = result.traces.emplace_back();
      trace.rank = rank;
      trace.ranks = kRanks;
      for (std::int64_t name = 0; name < kNames; ++name) {
        trace.names.push_back("layer." + std::to_string(name) + ".backward");
      }
      for (std::int64_t i = 0; i < kRecordsARank; ++i) {
        trace.records.push_back(record_at(i, random));
        if (i % kRecordsAStep == 0) {
          trace.step_starts.push_back({i / kRecordsAStep, trace.records.back().begin_ns});
        }
      }
      put_in_order(trace);
      ClockFit& fit = result.fits.emplace_back();
      fit.method = "exchange";
      fit.reference_ns = kBeginNs;
      fit.offset_ns = 700.0 * static_cast<double>(rank);
      fit.drift = 1e-6 * static_cast<double>(rank);
    }
    return result;
  }();
  return made;
}

const Timeline& timeline() {
  static const Timeline made(profile().traces, profile().fits);
  return made;
}

void BM_Build(benchmark::State& state) {
  const Profile& from = profile();
  for (auto _ : state) benchmark::DoNotOptimize(Timeline(from.traces, from.fits));
  state.counters["bytes_per_record"] =
      static_cast<double>(timeline().bytes()) / static_cast<double>(timeline().records());
}
BENCHMARK(BM_Build)->Unit(benchmark::kMillisecond);

/// Makes tiles of level range(0), spread over the axis, of all lanes.
void BM_Tile(benchmark::State& state) {
  const std::int64_t tiles = std::int64_t{1} << state.range(0);
  std::int64_t words = 0, index = 0;
  for (auto _ : state) {
    index = (index + 700'001) % tiles;
    const auto tile = timeline().tile(state.range(0), index);
    if (!tile) return state.SkipWithError(tile.error().message.c_str());
    words += static_cast<std::int64_t>(tile->size());
  }
  state.counters["bytes"] =
      4 * static_cast<double>(words) / static_cast<double>(state.iterations());
}
BENCHMARK(BM_Tile)->Arg(0)->Arg(6)->Arg(12)->Arg(20)->Unit(benchmark::kMicrosecond);

/// Finds the next of 1,250 matches on each rank (range(0) = 0) or nothing (1).
void BM_Find(benchmark::State& state) {
  TimelineSearch search{state.range(0) == 0 ? "LAYER.77." : "nowhere"};
  for (auto _ : state) {
    const auto result = timeline().find(search);
    if (!result) return state.SkipWithError(result.error().message.c_str());
    search.from.reset();
    if (result->found) search.from = result->found->place;
  }
}
BENCHMARK(BM_Find)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

/// Finds the only match of its kind, far from where the search begins.
void BM_FindFar(benchmark::State& state) {
  const TimelineSearch search{"step 48", {}, 0};
  for (auto _ : state) benchmark::DoNotOptimize(timeline().find(search));
}
BENCHMARK(BM_FindFar)->Unit(benchmark::kMicrosecond);

/// Measures ranges of a share 1/range(0) of the axis.
void BM_Range(benchmark::State& state) {
  const std::int64_t length_ns = timeline().end_ns() / state.range(0);
  std::int64_t i = 0;
  for (auto _ : state) {
    const std::int64_t begin_ns = i++ % state.range(0) * length_ns;
    benchmark::DoNotOptimize(timeline().range(begin_ns, begin_ns + length_ns));
  }
}
BENCHMARK(BM_Range)->Arg(1)->Arg(100)->Arg(10'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace hocket
