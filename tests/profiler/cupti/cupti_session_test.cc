#include "profiler/cupti/cupti_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "tests/profiler/cupti/fake_cupti.h"
#include "tests/profiler/cupti/marked_tasks.h"

namespace hocket {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr std::int64_t kStepNs = 1'000'000;
constexpr std::int64_t kFirstStepNs = 1'000'000'000;

/// A clock that the session's thread reads while a test sets it.
class SharedClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return now; }
  void sleep_until_ns(std::int64_t) const override {}

  std::atomic<std::int64_t> now = kFirstStepNs;
};

class CuptiSessionTest : public testing::Test {
 protected:
  void open(CuptiLevel level = CuptiLevel::l1, BufferPoolOptions buffers = {4, 4096},
            bool detaches = false, std::int64_t flush_period_ns = 0) {
    auto opened = CuptiSession::open(cupti_, {.clock = clock_,
                                              .level = level,
                                              .rank = 1,
                                              .ranks = 2,
                                              .host = "n1",
                                              .buffers = buffers,
                                              .flush_period_ns = flush_period_ns,
                                              .detaches = detaches});
    ASSERT_TRUE(opened) << opened.error().message;
    session_ = std::move(*opened);
  }

  /// Submits two tasks on the host, which run on the device a step later.
  void run_step(std::int64_t step) {
    clock_.now = host_start_ns(step);
    for (std::int64_t task = 0; task < 2; ++task) {
      const TaskMark mark(session_.get(), step, marked_id(task));
      const std::int64_t begin_ns = clock_.now + kStepNs + task * 400;
      cupti_->launch(task == 0 ? "gemm" : "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                     task == 0 ? 7 : 8, clock_.now + task, begin_ns, begin_ns + 300);
    }
  }
  void run_steps(std::int64_t from, std::int64_t to) {
    for (std::int64_t step = from; step < to; ++step) run_step(step);
  }
  static std::int64_t host_start_ns(std::int64_t step) { return kFirstStepNs + step * kStepNs; }

  /// Ends the recording, once everything has run; the profile of the steps `from` to `to`.
  ProfileResult profile(std::int64_t from, std::int64_t to) {
    clock_.now += 3 * kStepNs;
    std::vector<StepStart> starts;
    for (std::int64_t step = from; step <= to; ++step)
      starts.push_back({step, host_start_ns(step)});
    return profile_of(*session_, starts, 2);
  }

  SharedClock clock_;
  const std::shared_ptr<FakeCupti> cupti_ = std::make_shared<FakeCupti>(clock_, 123'456'789);
  std::unique_ptr<CuptiSession> session_;
};

TEST_F(CuptiSessionTest, RecordsTheStepsOfItsSpan) {
  open();
  run_steps(0, 9);
  session_->resume();
  run_steps(9, 16);
  const ProfileResult result = profile(10, 13);
  const RankTrace& trace = result.trace;
  EXPECT_EQ(trace.source, "cupti");
  const auto starts_ns = [](std::int64_t step) { return host_start_ns(step + 1); };
  EXPECT_THAT(trace.step_starts,
              ElementsAre(StepStart{10, starts_ns(10)}, StepStart{11, starts_ns(11)},
                          StepStart{12, starts_ns(12)}, StepStart{13, starts_ns(13)}));
  std::map<std::int64_t, int> device_records;
  for (const TraceRecord& record : trace.records) {
    if (record.kind == TraceKind::call) continue;
    ++device_records[record.step];
    EXPECT_EQ(record.begin_ns, starts_ns(record.step) + record.task * 400);
    EXPECT_EQ(record.submitted_ns, starts_ns(record.step) - kStepNs + record.task);
    EXPECT_EQ(record.kind, record.task == 0 ? TraceKind::compute : TraceKind::communication);
  }
  EXPECT_EQ(device_records, (std::map<std::int64_t, int>{{10, 2}, {11, 2}, {12, 2}}));
  EXPECT_EQ(trace.quarantined, 0);
  EXPECT_EQ(trace.dropped, 0);
  EXPECT_THAT(result.notes, IsEmpty());
}

TEST_F(CuptiSessionTest, AsksCuptiForNothingWhileItIsPaused) {
  open();
  EXPECT_THAT(cupti_->enabled(), IsEmpty());
  run_steps(0, 5);
  EXPECT_EQ(cupti_->recorded(), 0);
  EXPECT_FALSE(session_->begin_task(5, marked_id(0)));
  session_->resume();
  EXPECT_THAT(cupti_->enabled(), Not(IsEmpty()));
  run_steps(5, 9);
  session_->pause();
  EXPECT_THAT(cupti_->enabled(), IsEmpty());
  const std::int64_t recorded = cupti_->recorded();
  EXPECT_GT(recorded, 0);
  run_steps(9, 12);
  EXPECT_EQ(cupti_->recorded(), recorded);
  EXPECT_EQ(cupti_->open_marks(), 0u);
}

TEST_F(CuptiSessionTest, AddsNothingWhereItRecordedNothing) {
  open();
  const ProfileResult result = profile(0, 3);
  EXPECT_THAT(result.trace.records, IsEmpty());
  EXPECT_THAT(result.trace.step_starts, SizeIs(4));
  EXPECT_THAT(result.notes, IsEmpty());
}

TEST_F(CuptiSessionTest, LetsThreadsThatComeAndGoShareBuffers) {
  open();
  EXPECT_TRUE(cupti_->shares_buffers());
}

TEST_F(CuptiSessionTest, EnablesTheKindsOfItsLevel) {
  for (const CuptiLevel level : {CuptiLevel::l0, CuptiLevel::l1, CuptiLevel::l2}) {
    open(level);
    session_->resume();
    const auto kinds = activity_kinds(level);
    EXPECT_EQ(cupti_->enabled(), std::set<std::uint32_t>(kinds.begin(), kinds.end()));
    EXPECT_EQ(session_->begin_task(0, marked_id(0)), level != CuptiLevel::l0);
    if (level != CuptiLevel::l0) session_->end_task();
    session_.reset();
    EXPECT_THAT(cupti_->enabled(), IsEmpty());
  }
}

TEST_F(CuptiSessionTest, LeavesOutThatTheHostAsksWhetherTheDeviceIsDone) {
  open(CuptiLevel::l2);
  EXPECT_FALSE(cupti_->records_vain_queries());
  const auto calls = polling_calls();
  for (int i = 0; i < 2; ++i) {
    session_->resume();
    const std::int64_t recorded = cupti_->recorded();
    for (const CudaCall& call : calls) {
      const bool is_runtime = call.domain == ApiDomain::runtime;
      cupti_->record(call_record(
          is_runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER, call.id, 5, {}));
    }
    EXPECT_EQ(cupti_->recorded(), recorded) << "pause " << i;
    cupti_->record(call_record(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 5, {}));
    EXPECT_EQ(cupti_->recorded(), recorded + 1);
    session_->pause();
  }
}

TEST_F(CuptiSessionTest, FindsStepsOnTheHostAtL0) {
  open(CuptiLevel::l0);
  session_->resume();
  run_steps(0, 8);
  const ProfileResult result = profile(2, 4);
  EXPECT_THAT(result.trace.step_starts,
              ElementsAre(StepStart{2, host_start_ns(2)}, StepStart{3, host_start_ns(3)},
                          StepStart{4, host_start_ns(4)}));
  EXPECT_THAT(result.trace.records, Not(IsEmpty()));
  for (const TraceRecord& record : result.trace.records) EXPECT_EQ(record.task, kNoTask);
}

TEST_F(CuptiSessionTest, RecordsOneSpanAfterAnother) {
  open();
  std::vector<std::size_t> sizes;
  for (std::int64_t first = 5; first < 60; first += 20) {
    session_->resume();
    run_steps(first - 1, first + 5);
    const ProfileResult result = profile(first, first + 2);
    EXPECT_EQ(result.trace.step_starts.front().step, first);
    EXPECT_THAT(result.notes, IsEmpty());
    sizes.push_back(result.trace.records.size());
  }
  EXPECT_GT(sizes[0], 0u);
  EXPECT_THAT(sizes, ElementsAre(sizes[0], sizes[0], sizes[0]));
}

TEST_F(CuptiSessionTest, SaysWhyItCannotOpen) {
  cupti_->other_subscriber = "Nsight Compute";
  const auto opened = CuptiSession::open(cupti_, {.clock = clock_});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::unavailable);
  EXPECT_THAT(opened.error().message, HasSubstr("\"Nsight Compute\" records already"));
}

TEST_F(CuptiSessionTest, GivesCuptiBackAtItsEnd) {
  open();
  EXPECT_TRUE(cupti_->is_subscribed());
  session_.reset();
  EXPECT_FALSE(cupti_->is_subscribed());
  EXPECT_EQ(cupti_->detached(), 0);
  auto detaching = CuptiSession::open(cupti_, {.clock = clock_, .detaches = true});
  ASSERT_TRUE(detaching);
  detaching->reset();
  EXPECT_EQ(cupti_->detached(), 1);
}

TEST_F(CuptiSessionTest, LeavesTheProcessAfterASpanAndComesBackForTheNext) {
  open(CuptiLevel::l1, {4, 4096}, true);
  EXPECT_EQ(cupti_->detached(), 0) << "it must know the modules that are loaded before the span";
  std::vector<std::size_t> sizes;
  for (std::int64_t span = 1; span <= 3; ++span) {
    const std::int64_t first = 20 * span;
    session_->resume();
    EXPECT_TRUE(cupti_->is_subscribed());
    run_steps(first - 1, first + 5);
    const ProfileResult result = profile(first, first + 2);
    EXPECT_THAT(result.notes, IsEmpty());
    sizes.push_back(result.trace.records.size());
    EXPECT_FALSE(cupti_->is_subscribed());
    EXPECT_EQ(cupti_->detached(), span);
    run_steps(first + 5, first + 9);
  }
  EXPECT_GT(sizes[0], 0u);
  EXPECT_THAT(sizes, ElementsAre(sizes[0], sizes[0], sizes[0]));
  session_.reset();
  EXPECT_EQ(cupti_->calls_while_gone(), 0);
}

TEST_F(CuptiSessionTest, LeavesTheProcessWhenAPauseLasts) {
  constexpr std::int64_t kPeriodNs = 100'000;
  const auto record_twice = [&](std::int64_t first, bool detaches) {
    clock_.now = host_start_ns(first - 2);
    open(CuptiLevel::l1, {4, 4096}, detaches, kPeriodNs);
    const std::int64_t before = cupti_->detached();
    session_->resume();
    run_steps(first - 1, first + 2);
    clock_.now += 2 * kStepNs;  // until all of it has run
    session_->pause();
    while (detaches && cupti_->detached() == before) std::this_thread::yield();
    run_steps(first + 5, first + 8);
    session_->resume();
    run_steps(first + 8, first + 11);
    clock_.now += 2 * kStepNs;
    session_->pause();
    const ProfileResult result = profile(first, first + 10);
    EXPECT_THAT(result.notes, IsEmpty());
    session_.reset();
    return result.trace.records.size();
  };
  const std::size_t attached = record_twice(10, false);
  EXPECT_GT(attached, 0u);
  EXPECT_EQ(record_twice(40, true), attached);
  EXPECT_EQ(cupti_->calls_while_gone(), 0);
}

TEST_F(CuptiSessionTest, SaysWhyItCannotComeBack) {
  open(CuptiLevel::l1, {4, 4096}, true);
  session_->resume();
  run_steps(0, 6);
  EXPECT_THAT(profile(1, 3).trace.records, Not(IsEmpty()));
  cupti_->other_subscriber = "Nsight Systems";
  session_->resume();
  EXPECT_FALSE(session_->begin_task(20, marked_id(0)));
  run_steps(20, 26);
  EXPECT_THAT(profile(21, 23).notes, ElementsAre(HasSubstr("\"Nsight Systems\" records already")));
  cupti_->other_subscriber.clear();
  session_->resume();
  run_steps(40, 46);
  const ProfileResult result = profile(41, 43);
  EXPECT_THAT(result.notes, IsEmpty());
  EXPECT_THAT(result.trace.records, Not(IsEmpty()));
}

TEST_F(CuptiSessionTest, CountsBuffersThatCuptiKeepsAndThoseThatComeLate) {
  open();
  session_->resume();
  cupti_->keeps_on_flush = true;
  run_steps(0, 6);
  EXPECT_THAT(profile(0, 2).notes, ElementsAre(HasSubstr("1 buffer not given back")));
  cupti_->complete_buffer();

  cupti_->keeps_on_flush = false;
  session_->resume();
  run_steps(19, 26);
  const ProfileResult second = profile(20, 22);
  // Records read after the second span began lie outside it; otherwise the buffer counts as late.
  EXPECT_THAT(second.notes, ElementsAre(AnyOf(HasSubstr("1 buffer came after an earlier span"),
                                              HasSubstr("from outside of the span"))));
  EXPECT_EQ(second.trace.step_starts.front().step, 20);
}

TEST_F(CuptiSessionTest, OutlivesBuffersThatCuptiKeeps) {
  open();
  session_->resume();
  cupti_->keeps_on_flush = true;
  run_steps(0, 3);
  session_.reset();
  // CUPTI continues to write into the buffer, and gives it back after the session has ended.
  cupti_->complete_buffer();
}

TEST_F(CuptiSessionTest, CountsWhatCuptiDropsAtTheCap) {
  open(CuptiLevel::l1, {1, 1024});
  session_->resume();
  run_steps(0, 60);
  const ProfileResult result = profile(0, 50);
  EXPECT_EQ(result.trace.dropped, cupti_->dropped_in_all());
  const bool told = std::ranges::any_of(
      result.notes, [](const auto& note) { return note.find("refused at the cap") != note.npos; });
  EXPECT_EQ(told, cupti_->dropped_in_all() > 0);
}

TEST_F(CuptiSessionTest, GoesOnWhicheverCallFails) {
  // Returns true if a failure was told.
  const auto run = [&] {
    auto opened = CuptiSession::open(
        cupti_, {.clock = clock_, .buffers = {4, 4096}, .flush_period_ns = 0, .detaches = true});
    if (!opened) {
      EXPECT_THAT(cupti_->enabled(), IsEmpty());
      EXPECT_FALSE(cupti_->is_subscribed());
      return true;
    }
    session_ = std::move(*opened);
    session_->resume();
    run_steps(0, 6);
    const ProfileResult result = profile(1, 3);
    session_->resume();
    run_steps(20, 26);
    const ProfileResult second = profile(21, 23);
    session_.reset();
    EXPECT_THAT(cupti_->enabled(), IsEmpty());
    EXPECT_EQ(cupti_->open_marks(), 0u);
    EXPECT_FALSE(cupti_->is_subscribed());
    return !result.notes.empty() || !second.notes.empty();
  };
  EXPECT_FALSE(run());
  const std::int64_t calls = cupti_->fallible_calls();
  int told = 0;
  for (std::int64_t i = 0; i < calls; ++i) {
    cupti_->fails_at = cupti_->fallible_calls() + i;
    told += run();
  }
  // Other failures, such as of a clock reading or a mark, give no warning.
  EXPECT_GT(told, 10);
}

}  // namespace
}  // namespace hocket
