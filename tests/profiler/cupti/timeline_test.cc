#include "profiler/cupti/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "tests/profiler/cupti/fake_cupti.h"
#include "tests/profiler/cupti/marked_tasks.h"
#include "tests/set_clock.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// Offset of CUPTI's clock from the host's.
constexpr std::int64_t kAheadNs = 1'000'000;
constexpr const char* kAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)";

class TimelineTest : public testing::Test {
 protected:
  TimelineTest() {
    span_.first_step = 4;
    span_.steps = 2;
    span_.begin_cupti_ns = kAheadNs;
    span_.end_cupti_ns = kAheadNs + 1'000'000;
    map_.add({kAheadNs, 0, 0});
    map_.add({kAheadNs + 1'000'000, 1'000'000, 0});
    span_.tasks = TaskNumbers(numbered_tasks(3, 7, 20));
  }

  /// Converts times on the host's clock to CUPTI's.
  static Launched at(std::int64_t begin_ns, std::int64_t end_ns, std::uint32_t stream = 7,
                     std::uint32_t correlation = 0) {
    return {static_cast<std::uint64_t>(begin_ns + kAheadNs),
            static_cast<std::uint64_t>(end_ns + kAheadNs), stream, correlation};
  }
  void add(const RecordBytes& buffer) { timeline_->add(decode_buffer(cupti_, buffer), cupti_); }
  /// Adds a marked launch and its kernel, each in a buffer of its own.
  void launch(std::uint32_t correlation, MarkedTask task, const char* kernel, std::int64_t call_ns,
              std::int64_t begin_ns, std::int64_t end_ns, std::uint32_t stream = 7) {
    add(kernel_record(kernel, at(begin_ns, end_ns, stream, correlation)));
    add(correlation_record(correlation, pack_task(task.step, marked_id(task.task))));
    add(call_record(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 5, at(call_ns, call_ns + 3, 0, correlation)));
  }
  CuptiTrace finish() { return timeline_->finish(map_, span_); }
  /// Returns the records named `name`.
  static std::vector<TraceRecord> named(const CuptiTrace& made, std::string_view name) {
    std::vector<TraceRecord> found;
    for (const TraceRecord& record : made.trace.records) {
      if (made.trace.names[record.name] == name) found.push_back(record);
    }
    return found;
  }

  SetClock clock_;
  FakeCupti cupti_{clock_};
  std::optional<CuptiTimeline> timeline_{std::in_place, 1000};
  ClockMap map_;
  TimelineSpan span_;
};

TEST_F(TimelineTest, HasAHeadAndNothingElseWithoutRecords) {
  span_.rank = 2;
  span_.ranks = 4;
  span_.host = "n7";
  const CuptiTrace made = finish();
  EXPECT_EQ(made.trace.rank, 2);
  EXPECT_EQ(made.trace.ranks, 4);
  EXPECT_EQ(made.trace.host, "n7");
  EXPECT_EQ(made.trace.source, "cupti");
  EXPECT_THAT(made.trace.records, IsEmpty());
  EXPECT_THAT(made.trace.step_starts, IsEmpty());
  EXPECT_THAT(made.trace.clock_samples, SizeIs(2));
}

TEST_F(TimelineTest, TiesAKernelToItsTaskAndItsLaunch) {
  launch(1, {4, 17}, "_Z4gemmPf", 50, 100, 200);
  const CuptiTrace made = finish();
  const auto kernels = named(made, "gemm(float*)");
  ASSERT_THAT(kernels, SizeIs(1));
  EXPECT_EQ(kernels[0].kind, TraceKind::compute);
  EXPECT_EQ(kernels[0].step, 4);
  EXPECT_EQ(kernels[0].task, 17);
  EXPECT_EQ(kernels[0].submitted_ns, 50);
  EXPECT_EQ(kernels[0].begin_ns, 100);
  EXPECT_EQ(kernels[0].end_ns, 200);
  const auto calls = named(made, "cudaLaunchKernel");
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(calls[0].kind, TraceKind::call);
  EXPECT_EQ(calls[0].task, 17);
  EXPECT_EQ(made.device_records, 1);
  EXPECT_EQ(made.marked, 1);
}

TEST_F(TimelineTest, SubmitsWithTheOutermostCallOfALaunch) {
  add(call_record(CUPTI_ACTIVITY_KIND_DRIVER, 307, 5, at(52, 58, 0, 1)));
  add(call_record(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 5, at(50, 60, 0, 1)));
  add(kernel_record("k", at(100, 200, 7, 1)));
  EXPECT_EQ(named(finish(), "k").at(0).submitted_ns, 50);
  EXPECT_THAT(named(finish(), "driver call 307"), SizeIs(1));
}

TEST_F(TimelineTest, GivesStreamsChannelsAndThreadsTheirLanes) {
  add(kernel_record("a", at(10, 20, 7)));
  add(kernel_record("b", at(11, 20, 8)));
  add(copy_record(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 64, at(12, 20, 8)));
  add(fill_record(32, at(13, 20, 9)));
  add(kernel_record(kAllReduce, at(14, 20, 8)));
  add(call_record(CUPTI_ACTIVITY_KIND_RUNTIME, 1, 5, at(15, 20)));
  add(call_record(CUPTI_ACTIVITY_KIND_RUNTIME, 2, 6, at(16, 20)));
  const CuptiTrace made = finish();
  const auto lane = [&](std::string_view name) { return named(made, name).at(0).lane; };
  EXPECT_EQ(lane("a"), 0);
  EXPECT_EQ(lane("b"), 1);
  EXPECT_EQ(lane("memcpy HtoD"), 1);
  EXPECT_EQ(lane("memset"), 2);
  EXPECT_EQ(lane(kAllReduce), 0);
  EXPECT_EQ(lane("cudaCall1"), 0);
  EXPECT_EQ(lane("cudaCall2"), 1);
  EXPECT_EQ(named(made, "memcpy HtoD").at(0).kind, TraceKind::copy);
  EXPECT_EQ(named(made, "memcpy HtoD").at(0).bytes, 64);
  EXPECT_EQ(named(made, "memset").at(0).bytes, 32);
}

TEST_F(TimelineTest, KnowsCollectivesByTheirKernelsAndNumbersThemByTask) {
  // The ranks run the same tasks on different streams and in another order.
  const auto sequences = [&](bool swapped) {
    timeline_.emplace(1000);
    launch(1, {4, 0}, "first", 1, 10, 20);
    launch(2, {4, 3}, kAllReduce, 2, swapped ? 60 : 30, 70, swapped ? 9 : 8);
    launch(3, {4, 5}, kAllReduce, 3, swapped ? 30 : 60, 70, swapped ? 8 : 9);
    launch(4, {5, 0}, "first", 4, 100, 110);
    launch(5, {6, 0}, "first", 5, 200, 210);
    std::map<std::int64_t, std::int64_t> by_task;
    for (const TraceRecord& record : named(finish(), kAllReduce)) {
      EXPECT_EQ(record.kind, TraceKind::communication);
      EXPECT_EQ(record.collective, CollectiveKind::all_reduce);
      by_task[record.task] = record.sequence;
    }
    return by_task;
  };
  const auto here = sequences(false), there = sequences(true);
  EXPECT_THAT(here, SizeIs(2));
  EXPECT_EQ(here, there);
}

TEST_F(TimelineTest, BeginsStepsWithTheirFirstWorkOnTheDevice) {
  span_.host_starts = {{3, 5}, {4, 90}, {5, 190}, {6, 290}};
  launch(1, {3, 0}, "before", 10, 20, 30);
  launch(2, {4, 1}, "late", 95, 130, 140);
  launch(3, {4, 0}, "early", 91, 100, 125);
  launch(4, {5, 0}, "next", 191, 200, 220);
  launch(5, {6, 0}, "behind", 291, 300, 320);
  const CuptiTrace made = finish();
  EXPECT_THAT(made.trace.step_starts,
              ElementsAre(StepStart{4, 100}, StepStart{5, 200}, StepStart{6, 300}));
  EXPECT_THAT(named(made, "before"), IsEmpty());
  EXPECT_THAT(named(made, "behind"), IsEmpty());
  EXPECT_THAT(named(made, "next"), SizeIs(1));
  EXPECT_EQ(made.left_out, 5);  // two records outside, their launches, and the launch of "early"
}

TEST_F(TimelineTest, KeepsWhatRunsIntoAWindow) {
  launch(1, {3, 0}, "before", 10, 20, 130);
  launch(2, {4, 0}, "a", 91, 100, 125);
  launch(3, {5, 0}, "b", 191, 200, 350);
  launch(4, {6, 0}, "c", 291, 300, 320);
  const CuptiTrace made = finish();
  EXPECT_EQ(named(made, "before").at(0).step, 3);
  EXPECT_EQ(named(made, "b").at(0).end_ns, 350);
}

TEST_F(TimelineTest, FallsBackOnTheHostsStepsWhenAStepHasNoWorkThatIsMarked) {
  span_.host_starts = {{4, 90}, {5, 190}, {6, 290}};
  launch(2, {4, 0}, "a", 91, 100, 125);
  add(kernel_record("unmarked", at(200, 210)));
  launch(4, {6, 0}, "c", 291, 300, 320);
  const CuptiTrace made = finish();
  EXPECT_THAT(made.trace.step_starts,
              ElementsAre(StepStart{4, 90}, StepStart{5, 190}, StepStart{6, 290}));
  EXPECT_EQ(named(made, "unmarked").at(0).step, 5);
  EXPECT_EQ(made.device_records, 2);
  EXPECT_EQ(made.marked, 1);
}

TEST_F(TimelineTest, JoinsTheEndsOfRanges) {
  add(marker_record(CUPTI_ACTIVITY_FLAG_MARKER_START, 1, "outer", kAheadNs + 10));
  add(marker_record(CUPTI_ACTIVITY_FLAG_MARKER_START, 2, "inner", kAheadNs + 20));
  add(marker_record(CUPTI_ACTIVITY_FLAG_MARKER_END, 2, nullptr, kAheadNs + 30));
  add(marker_record(CUPTI_ACTIVITY_FLAG_MARKER_END, 1, nullptr, kAheadNs + 40));
  add(marker_record(CUPTI_ACTIVITY_FLAG_MARKER_START, 3, "open", kAheadNs + 50));
  add(marker_record(CUPTI_ACTIVITY_FLAG_MARKER_END, 4, nullptr, kAheadNs + 60));
  const CuptiTrace made = finish();
  ASSERT_THAT(made.trace.records, SizeIs(2));
  EXPECT_EQ(named(made, "outer").at(0).kind, TraceKind::range);
  EXPECT_EQ(named(made, "outer").at(0).end_ns, 40);
  EXPECT_EQ(named(made, "inner").at(0).begin_ns, 20);
  EXPECT_EQ(named(made, "inner").at(0).end_ns, 30);
  EXPECT_EQ(made.quarantined, QuarantineCounts());
}

TEST_F(TimelineTest, PutsWaitsOnTheThreadThatWaited) {
  add(call_record(CUPTI_ACTIVITY_KIND_RUNTIME, 1, 5, at(10, 11)));
  add(call_record(CUPTI_ACTIVITY_KIND_RUNTIME, 2, 6, at(20, 40, 0, 9)));
  add(wait_record(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, 77, at(21, 39, 7, 9)));
  add(event_record(77, 13));
  add(overhead_record(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, at(50, 60), 6));
  const CuptiTrace made = finish();
  const auto waits = named(made, "host waits for event of stream 13");
  ASSERT_THAT(waits, SizeIs(1));
  EXPECT_EQ(waits[0].kind, TraceKind::call);
  EXPECT_EQ(waits[0].lane, named(made, "cudaCall2").at(0).lane);
  EXPECT_EQ(named(made, "CUPTI overhead: buffer flush").at(0).lane, waits[0].lane);
  EXPECT_NE(named(made, "cudaCall1").at(0).lane, waits[0].lane);
}

TEST_F(TimelineTest, QuarantinesWhatLiesOutsideOfTheSession) {
  span_.begin_cupti_ns += 100'000'000;
  span_.end_cupti_ns += 200'000'000;
  add(kernel_record("before", at(50'000'000, 150'000'000)));
  add(kernel_record("in", at(150'000'000, 160'000'000)));
  add(kernel_record("after", at(150'000'000, 300'000'000)));
  const CuptiTrace made = finish();
  EXPECT_EQ(made.quarantined, QuarantineCounts{.outside = 2});
  EXPECT_EQ(made.trace.quarantined, 2);
  EXPECT_THAT(made.trace.records, SizeIs(1));
}

TEST_F(TimelineTest, QuarantinesWhatRanWhileTheClockWasSet) {
  map_.add({kAheadNs + 1'000'000'000'000, 2'000'000, 0});
  map_.add({kAheadNs + 1'000'001'000'000, 3'000'000, 0});
  span_.end_cupti_ns = kAheadNs + 2'000'000'000'000;
  add(kernel_record("before", at(10, 20)));
  add(kernel_record("across", at(20, 1'000'000'000'010)));
  add(kernel_record("hidden", at(1'500'000, 1'600'000)));
  add(kernel_record("after", at(1'000'000'000'010, 1'000'000'000'020)));
  const CuptiTrace made = finish();
  EXPECT_EQ(made.quarantined, QuarantineCounts{.unplaced = 1});
  EXPECT_EQ(named(made, "after").at(0).begin_ns, 2'000'010);
}

TEST_F(TimelineTest, DropsWhatIsBeyondItsCapacityAndSaysSo) {
  CuptiTimeline small(3);
  for (int i = 0; i < 5; ++i) {
    small.add(decode_buffer(cupti_, kernel_record("k", at(10 + i, 20 + i))), cupti_);
  }
  const CuptiTrace made = small.finish(map_, span_);
  EXPECT_EQ(made.trace.dropped, 2);
  EXPECT_THAT(made.trace.records, SizeIs(3));
}

TEST_F(TimelineTest, MakesAPlausibleTraceOfAnything) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    CuptiTimeline timeline(500);
    span_.begin_cupti_ns = 0;
    span_.first_step = static_cast<std::int64_t>(random() % 60);
    std::int64_t decoded = 0;
    for (int buffer = 0; buffer < 10; ++buffer) {
      RecordBytes bytes;
      for (int i = 0; i < 40; ++i) append(bytes, random_record(random));
      const DecodedBuffer read = decode_buffer(cupti_, bytes);
      decoded += read.records();
      timeline.add(read, cupti_);
    }
    ClockMap map;
    map.add({1, 1'000, 0});
    const CuptiTrace made = timeline.finish(map, span_);
    EXPECT_EQ(decoded, 400);
    EXPECT_LE(std::ssize(made.trace.records) + made.quarantined.total() + made.left_out, 400);
    EXPECT_EQ(made.trace.quarantined, made.quarantined.total());
    EXPECT_TRUE(std::ranges::all_of(made.trace.records, is_plausible));
    EXPECT_TRUE(std::ranges::is_sorted(made.trace.records, {}, &TraceRecord::begin_ns));
    for (const TraceRecord& record : made.trace.records) {
      ASSERT_LT(record.name, made.trace.names.size());
    }
  }
}

}  // namespace
}  // namespace hocket
