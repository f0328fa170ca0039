// Benchmarks trace files: bin/trace_file_benchmark [--benchmark_filter=…]
//
// The trace repeats one training step: two compute streams, two channels, copies, and host ranges
// that last ten records, a step, or the whole run. Files are in the folder for temporary files.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>

#include "store/trace_file.h"

namespace hocket {
namespace {

constexpr std::int64_t kBeginNs = 1'800'000'000'000'000'000, kPeriodNs = 1'000;
constexpr std::int64_t kRecordsAStep = 10'000, kRecordsAnAppend = 65'536;

std::string file_name() {
  return std::filesystem::temp_directory_path() /
         ("hocket-trace-benchmark-" + std::to_string(getpid()) + ".sqlite");
}

TraceRecord record_at(std::int64_t i, std::int64_t count, std::mt19937_64& random) {
  TraceRecord record;
  record.begin_ns = kBeginNs + i * kPeriodNs;
  record.end_ns = record.begin_ns + static_cast<std::int64_t>(random() % (4 * kPeriodNs));
  record.step = i / kRecordsAStep;
  record.task = i % kRecordsAStep;
  record.lane = static_cast<std::int32_t>(i % 2);
  record.name = static_cast<std::uint32_t>(i % 50);
  record.submitted_ns = record.begin_ns - 50'000;
  record.ready_ns = record.begin_ns - static_cast<std::int64_t>(random() % 5'000);
  if (i % kRecordsAStep == 0) {
    record.kind = TraceKind::range;
    record.end_ns = record.begin_ns + (i == 0 ? count : kRecordsAStep) * kPeriodNs;
  } else if (i % 10 < 6) {
    record.kind = TraceKind::compute;
  } else if (i % 10 < 9) {
    record.kind = TraceKind::communication;
    record.collective = CollectiveKind::all_reduce;
    record.bytes = 1 << 20;
    record.sequence = i;
  } else {
    record.kind = i % 20 == 9 ? TraceKind::range : TraceKind::copy;
    record.end_ns = record.begin_ns + 10 * kPeriodNs;
    record.bytes = record.kind == TraceKind::copy ? 4096 : 0;
  }
  return record;
}

/// Returns a trace of `count` records in pieces, as a profile session appends them.
std::vector<RankTrace> make_trace(std::int64_t count) {
  std::mt19937_64 random(1);
  std::vector<RankTrace> parts;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i % kRecordsAnAppend == 0) {
      RankTrace& part = parts.emplace_back();
      for (int name = 0; name < 50; ++name) {
        part.names.push_back("layer." + std::to_string(name) + ".backward");
      }
    }
    parts.back().records.push_back(record_at(i, count, random));
    if (i % kRecordsAStep == 0) {
      parts.back().step_starts.push_back({i / kRecordsAStep, kBeginNs + i * kPeriodNs});
    }
  }
  return parts;
}

bool write(const std::vector<RankTrace>& parts, benchmark::State& state) {
  auto writer = create_trace_file(file_name(), RankTrace());
  if (!writer) return state.SkipWithError(writer.error().message.c_str()), false;
  for (const RankTrace& part : parts) {
    if (auto ok = (*writer)->append(part); !ok) {
      return state.SkipWithError(ok.error().message.c_str()), false;
    }
  }
  if (auto ok = (*writer)->finish(); !ok) {
    return state.SkipWithError(ok.error().message.c_str()), false;
  }
  return true;
}

/// Writes a complete, finished file to the disk.
void BM_Write(benchmark::State& state) {
  const auto parts = make_trace(state.range(0));
  for (auto _ : state) {
    std::filesystem::remove(file_name());
    if (!write(parts, state)) return;
  }
  state.counters["records_per_s"] = benchmark::Counter(
      static_cast<double>(state.range(0)), benchmark::Counter::kIsIterationInvariantRate);
  state.counters["bytes_per_record"] =
      static_cast<double>(std::filesystem::file_size(file_name())) /
      static_cast<double>(state.range(0));
  std::filesystem::remove(file_name());
}
BENCHMARK(BM_Write)->Arg(1'000'000)->UseRealTime()->Unit(benchmark::kMillisecond);

/// Reads windows of range(0) records, spread over a file of a million records.
void BM_ReadWindow(benchmark::State& state) {
  constexpr std::int64_t kRecords = 1'000'000;
  std::filesystem::remove(file_name());
  if (!write(make_trace(kRecords), state)) return;
  auto reader = open_trace_file(file_name());
  if (!reader) return state.SkipWithError(reader.error().message.c_str());
  std::int64_t records = 0, window = 0;
  for (auto _ : state) {
    const std::int64_t first = (++window * 700'001) % (kRecords - state.range(0));
    const std::int64_t begin_ns = kBeginNs + first * kPeriodNs;
    const auto trace = (*reader)->read({begin_ns, begin_ns + state.range(0) * kPeriodNs});
    if (!trace) return state.SkipWithError(trace.error().message.c_str());
    records += static_cast<std::int64_t>(trace->records.size());
  }
  state.counters["records"] =
      static_cast<double>(records) / static_cast<double>(state.iterations());
  std::filesystem::remove(file_name());
}
BENCHMARK(BM_ReadWindow)->Arg(100)->Arg(10'000)->UseRealTime()->Unit(benchmark::kMicrosecond);

/// Opens a file of range(0) records, which reads everything except the records.
void BM_Open(benchmark::State& state) {
  std::filesystem::remove(file_name());
  if (!write(make_trace(state.range(0)), state)) return;
  for (auto _ : state) {
    auto reader = open_trace_file(file_name());
    if (!reader) return state.SkipWithError(reader.error().message.c_str());
    benchmark::DoNotOptimize(reader);
  }
  std::filesystem::remove(file_name());
}
BENCHMARK(BM_Open)->Arg(1'000'000)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace hocket
