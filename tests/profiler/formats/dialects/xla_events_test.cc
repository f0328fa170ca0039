#include "profiler/formats/dialects/xla_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/profiler/formats/dialects/dialect_import.h"

namespace hocket::dialects {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Not;

constexpr int kHost = 701;

json event(int process, int thread, const std::string& name, double ts, double dur,
           json args = json::object()) {
  return {{"ph", "X"}, {"pid", process}, {"tid", thread},          {"name", name},
          {"ts", ts},  {"dur", dur},     {"args", std::move(args)}};
}

json document(json events) {
  events.push_back(json::object());  // the profiler ends its list with an empty event
  return {{"displayTimeUnit", "ns"},
          {"metadata", {{"highres-ticks", true}}},
          {"traceEvents", std::move(events)}};
}

/// Steps of 10 ms on GPUs: 8 ms of computation in a stream, 1.5 ms of NCCL beside it and 1 ms after
/// it. The lines that XLA derives from these repeat them.
json gpu_events(int devices, bool has_step_line, int steps = 5) {
  json events = json::array();
  events.push_back(named(kHost, "/host:CPU"));
  events.push_back(named(kHost, "python", 5));
  for (int device = 0; device < devices; ++device) {
    const int process = device + 1;
    events.push_back(named(process, "/device:GPU:" + std::to_string(device)));
    events.push_back(named(process, "Stream #13(Compute)", 13));
    events.push_back(named(process, "Stream #14(Compute,MemcpyD2H)", 14));
    events.push_back(named(process, "XLA Ops", 100));
    events.push_back(named(process, "XLA Modules", 101));
    events.push_back(named(process, "Framework Name Scope", 103));
    if (has_step_line) events.push_back(named(process, "Steps", 102));
    for (int step = 0; step < steps; ++step) {
      const double t = 10'000.0 * step;
      events.push_back(
          event(process, 13, "gemm_fusion_dot_3", t + 500, 4000, {{"hlo_op", "dot.3"}}));
      events.push_back(event(process, 13, "loop_add_fusion", t + 4600, 4000));
      const char* nccl = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096>)";
      events.push_back(event(process, 14, nccl, t + 6000, 1500));
      events.push_back(event(process, 14, nccl, t + 8600, 1000));
      events.push_back(event(process, 14, "MemcpyD2H", t + 9700, 100));
      events.push_back(event(process, 100, "all-reduce.1", t + 6000, 1500));
      events.push_back(event(process, 103, "jit(step)", t + 500, 9000));
      events.push_back(event(process, 101, "jit_step(123)", t + 500, 9200));
      if (has_step_line) events.push_back(event(process, 102, std::to_string(step + 7), t, 10'000));
    }
  }
  for (int step = 0; step < steps; ++step) {
    const double t = 10'000.0 * step;
    events.push_back(event(kHost, 5, "train", t, 9000, {{"step_num", std::to_string(step + 7)}}));
    events.push_back(event(kHost, 5, "$train.py:12 step", t + 10, 500));
    events.push_back(event(kHost, 5, "PjitFunction(step)", t + 20, 400));
  }
  return events;
}

void expect_gpu(const RankTrace& trace, int steps) {
  EXPECT_EQ(trace.source, "xla");
  EXPECT_EQ(total_ns(trace, TraceKind::compute), 8'000'000 * steps);
  EXPECT_EQ(total_ns(trace, TraceKind::communication), 2'500'000 * steps);
  EXPECT_EQ(count(trace, TraceKind::communication, CollectiveKind::all_reduce), 2 * steps);
  EXPECT_EQ(total_ns(trace, TraceKind::copy), 100'000 * steps);
  ASSERT_FALSE(trace.step_starts.empty());
  EXPECT_EQ(trace.step_starts[0].step, 7);
}

TEST(XlaEvents, StreamsOfADeviceAreWorkAndOtherLinesRepeatThem) {
  const auto import = read(document(gpu_events(1, true)));
  ASSERT_EQ(import.traces.size(), 1U);
  expect_gpu(import.traces[0], 5);
  EXPECT_EQ(import.traces[0].step_starts.size(), 6U);
}

TEST(XlaEvents, EachDeviceIsARank) {
  const auto import = read(document(gpu_events(4, true)));
  ASSERT_EQ(import.traces.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(import.traces[i].rank, static_cast<std::int64_t>(i));
    EXPECT_EQ(import.traces[i].ranks, 4);
    expect_gpu(import.traces[i], 5);
  }
}

TEST(XlaEvents, WithoutALineOfStepsTheHostsMarksCount) {
  const auto import = read(document(gpu_events(2, false)));
  ASSERT_EQ(import.traces.size(), 2U);
  for (const RankTrace& trace : import.traces) expect_gpu(trace, 5);
}

TEST(XlaEvents, NamesMayComeLast) {
  json events = gpu_events(1, true);
  std::reverse(events.begin(), events.end());
  expect_gpu(read(document(std::move(events))).traces.at(0), 5);
}

/// Steps of 10 ms on a TPU: a loop of 9 ms that holds two fusions of 4 ms. An all-reduce lasts from
/// its start, before the second fusion, to the end of its done, 500 us after it.
json tpu_events(int steps = 5) {
  json events = json::array();
  events.push_back(named(3, "/device:TPU:0"));
  events.push_back(named(3, "XLA Ops", 1));
  events.push_back(named(3, "Steps", 2));
  events.push_back(named(3, "Async XLA Ops", 3));
  for (int step = 0; step < steps; ++step) {
    const double t = 10'000.0 * step;
    events.push_back(event(3, 2, std::to_string(step), t, 10'000));
    events.push_back(event(3, 1, "while.2", t, 9000));
    events.push_back(event(3, 1, "fusion.3", t, 4000));
    events.push_back(event(3, 1, "all-reduce-start.7", t + 4000, 10));
    events.push_back(event(3, 1, "copy-start.1", t + 4010, 5));
    events.push_back(event(3, 1, "fusion.4", t + 4100, 4000));
    events.push_back(event(3, 1, "copy-done.1", t + 8100, 5));
    events.push_back(event(3, 1, "all-reduce-done.7", t + 8110, 490));
    events.push_back(event(3, 1, "reduce-scatter.9", t + 9000, 100));
    events.push_back(event(3, 3, "all-reduce-start.7", t + 4000, 4600));
  }
  return events;
}

TEST(XlaEvents, InstructionsAreWorkWhereThereAreNoStreams) {
  const auto import = read(document(tpu_events()));
  ASSERT_EQ(import.traces.size(), 1U);
  const RankTrace& trace = import.traces[0];
  EXPECT_EQ(count(trace, TraceKind::compute), 10) << "without the loop that holds them";
  EXPECT_EQ(total_ns(trace, TraceKind::compute), 5 * 8'000'000);
  EXPECT_EQ(count(trace, TraceKind::communication, CollectiveKind::all_reduce), 5);
  EXPECT_EQ(count(trace, TraceKind::communication, CollectiveKind::reduce_scatter), 5);
  EXPECT_EQ(total_ns(trace, TraceKind::communication), 5 * (4'600'000 + 100'000));
  EXPECT_EQ(count(trace, TraceKind::copy), 5);
  EXPECT_THAT(trace.names, AllOf(Contains("all-reduce.7"), Not(Contains("all-reduce-done.7"))));
  EXPECT_EQ(trace.step_starts.size(), 6U);
}

TEST(XlaEvents, StartsAndDonesOfOtherNumbersAreJoinedInTheirOrder) {
  json events = json::array({named(3, "/device:TPU:0"), named(3, "XLA Ops", 1)});
  events.push_back(event(3, 1, "all-gather-start.1", 0, 10));
  events.push_back(event(3, 1, "all-gather-start.2", 20, 10));
  events.push_back(event(3, 1, "fusion.1", 40, 10));
  events.push_back(event(3, 1, "all-gather-done.2", 60, 10));
  events.push_back(event(3, 1, "all-gather-done", 100, 10));
  events.push_back(event(3, 1, "all-gather-done.9", 200, 10));
  const auto import = read(document(std::move(events)));
  const RankTrace& trace = import.traces.at(0);
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  for (const TraceRecord& record : trace.records)
    if (record.kind == TraceKind::communication) found.emplace_back(record.begin_ns, record.end_ns);
  using Times = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(found, (Times{{0, 110'000}, {20'000, 70'000}, {200'000, 210'000}}));
}

TEST(XlaEvents, OnAHostTheInstructionsAreWork) {
  json events = json::array({named(kHost, "/host:CPU"), named(kHost, "tf_XLAEigen", 9)});
  for (int step = 0; step < 5; ++step) {
    const double t = 1000.0 * step;
    events.push_back(event(kHost, 5, "train", t, 1000, {{"step_num", "1" + std::to_string(step)}}));
    events.push_back(event(kHost, 9, "dot.3", t + 100, 400, {{"hlo_op", "dot.3"}}));
    events.push_back(event(kHost, 9, "all-reduce.4", t + 500, 300, {{"hlo_op", "all-reduce.4"}}));
    events.push_back(event(kHost, 9, "ThreadpoolListener::Record", t, 10));
  }
  const auto import = read(document(std::move(events)));
  ASSERT_EQ(import.traces.size(), 1U);
  EXPECT_EQ(total_ns(import.traces[0], TraceKind::compute), 5 * 400'000);
  EXPECT_EQ(total_ns(import.traces[0], TraceKind::communication), 5 * 300'000);
  EXPECT_EQ(import.traces[0].step_starts.at(0).step, 10);
}

}  // namespace
}  // namespace hocket::dialects
