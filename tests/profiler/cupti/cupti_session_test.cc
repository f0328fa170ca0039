#include "profiler/cupti/cupti_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/profiler/cupti/fake_cupti.h"
#include "tests/profiler/cupti/marked_tasks.h"
#include "tests/set_clock.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr std::int64_t kStepNs = 1'000'000;
constexpr std::int64_t kFirstStepNs = 1'000'000'000;

class CuptiSessionTest : public testing::Test {
 protected:
  void open(CuptiLevel level = CuptiLevel::l1, BufferPoolOptions buffers = {4, 4096}) {
    auto opened = CuptiSession::open(cupti_, {.clock = clock_,
                                              .level = level,
                                              .rank = 1,
                                              .ranks = 2,
                                              .host = "n1",
                                              .buffers = buffers,
                                              .flush_period_ns = 0});
    ASSERT_TRUE(opened) << opened.error().message;
    session_ = std::move(*opened);
  }

  /// Submits two tasks on the host, which run on the device a step later.
  void run_step(std::int64_t step) {
    clock_.now = kFirstStepNs + step * kStepNs;
    session_->on_step(step);
    for (std::int64_t task = 0; task < 2; ++task) {
      const TaskMark mark(session_.get(), step, marked_id(task));
      const std::int64_t begin_ns = clock_.now + kStepNs + task * 400;
      cupti_->launch(task == 0 ? "gemm" : "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                     task == 0 ? 7 : 8, clock_.now + task, begin_ns, begin_ns + 300);
    }
  }
  void run_steps(std::int64_t from, std::int64_t to) {
    for (std::int64_t step = from; step < to; ++step) run_step(step);
    clock_.now += 3 * kStepNs;
  }

  SetClock clock_{kFirstStepNs};
  const std::shared_ptr<FakeCupti> cupti_ = std::make_shared<FakeCupti>(clock_, 123'456'789);
  std::unique_ptr<CuptiSession> session_;
};

TEST_F(CuptiSessionTest, RecordsTheStepsOfItsSpan) {
  open();
  ASSERT_TRUE(session_->start({.first_step = 10, .steps = 3}));
  run_steps(0, 20);
  ASSERT_TRUE(session_->is_done());
  const auto profile = session_->take(numbered_tasks(0, 20, 2));
  ASSERT_TRUE(profile);
  const RankTrace& trace = profile->trace;
  EXPECT_EQ(trace.rank, 1);
  EXPECT_EQ(trace.ranks, 2);
  EXPECT_EQ(trace.source, "cupti");
  const auto starts_ns = [](std::int64_t step) { return kFirstStepNs + (step + 1) * kStepNs; };
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
  EXPECT_EQ(profile->marked, 6);
  EXPECT_EQ(profile->device_records, 6);
  EXPECT_EQ(profile->quarantined, QuarantineCounts());
  EXPECT_EQ(trace.dropped, 0);
  EXPECT_EQ(profile->warning, "");
  EXPECT_FALSE(session_->take());
}

TEST_F(CuptiSessionTest, AsksCuptiForNothingOutsideOfItsSpan) {
  open();
  EXPECT_THAT(cupti_->enabled(), IsEmpty());
  run_steps(0, 5);
  EXPECT_EQ(cupti_->recorded(), 0);
  EXPECT_FALSE(session_->begin_task(5, marked_id(0)));
  ASSERT_TRUE(session_->start({.first_step = 10, .steps = 1}));
  run_steps(5, 9);
  EXPECT_EQ(cupti_->recorded(), 0);
  run_step(9);
  EXPECT_THAT(cupti_->enabled(), Not(IsEmpty()));
  run_steps(10, 13);
  EXPECT_THAT(cupti_->enabled(), Not(IsEmpty()));
  run_step(13);
  EXPECT_THAT(cupti_->enabled(), IsEmpty());
  const std::int64_t recorded = cupti_->recorded();
  run_steps(14, 20);
  EXPECT_EQ(cupti_->recorded(), recorded);
  EXPECT_EQ(cupti_->open_marks(), 0u);
}

TEST_F(CuptiSessionTest, LetsThreadsThatComeAndGoShareBuffers) {
  open();
  EXPECT_TRUE(cupti_->shares_buffers());
}

TEST_F(CuptiSessionTest, EnablesTheKindsOfItsLevel) {
  for (const CuptiLevel level : {CuptiLevel::l0, CuptiLevel::l1, CuptiLevel::l2}) {
    open(level);
    ASSERT_TRUE(session_->start({.first_step = 0, .steps = 1}));
    run_step(0);
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
  ASSERT_TRUE(session_->start({.first_step = 2, .steps = 2}));
  run_steps(0, 8);
  const auto profile = session_->take();
  ASSERT_TRUE(profile);
  EXPECT_THAT(profile->trace.step_starts, ElementsAre(StepStart{2, kFirstStepNs + 2 * kStepNs},
                                                      StepStart{3, kFirstStepNs + 3 * kStepNs},
                                                      StepStart{4, kFirstStepNs + 4 * kStepNs}));
  EXPECT_EQ(profile->marked, 0);
  EXPECT_GT(profile->device_records, 0);
}

TEST_F(CuptiSessionTest, TakesOneSpanAfterAnother) {
  open();
  std::vector<std::size_t> sizes;
  for (std::int64_t first = 5; first < 60; first += 20) {
    ASSERT_TRUE(session_->start({.first_step = first, .steps = 2}));
    const auto twice = session_->start({.first_step = first, .steps = 2});
    ASSERT_FALSE(twice);
    EXPECT_THAT(twice.error().message, HasSubstr("under way, or not taken"));
    EXPECT_FALSE(session_->take());
    run_steps(first - 5, first + 10);
    const auto profile = session_->take();
    ASSERT_TRUE(profile);
    EXPECT_EQ(profile->trace.step_starts.front().step, first);
    sizes.push_back(profile->trace.records.size());
  }
  EXPECT_THAT(sizes, ElementsAre(sizes[0], sizes[0], sizes[0]));
}

TEST_F(CuptiSessionTest, StopsWithWhatThereIs) {
  open();
  session_->stop();
  EXPECT_FALSE(session_->is_done());
  ASSERT_TRUE(session_->start({.first_step = 5, .steps = 10}));
  run_steps(0, 9);
  session_->stop();
  session_->stop();
  ASSERT_TRUE(session_->is_done());
  EXPECT_THAT(cupti_->enabled(), IsEmpty());
  const auto profile = session_->take();
  ASSERT_TRUE(profile);
  EXPECT_THAT(profile->trace.step_starts, SizeIs(4));
  // The span never began.
  ASSERT_TRUE(session_->start({.first_step = 100, .steps = 10}));
  session_->stop();
  EXPECT_THAT(session_->take()->trace.records, IsEmpty());
}

TEST_F(CuptiSessionTest, RefusesNumbersOutOfRange) {
  open();
  for (const CuptiSpan span : {CuptiSpan{-1, 1}, CuptiSpan{std::int64_t{1} << 61, 1},
                               CuptiSpan{0, 0}, CuptiSpan{0, kMaxCuptiSteps + 1}}) {
    const auto refused = session_->start(span);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(refused.error().message, HasSubstr("allowed are"));
  }
  EXPECT_TRUE(session_->start({.first_step = 0, .steps = kMaxCuptiSteps}));
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
  auto detaching = CuptiSession::open(cupti_, {.clock = clock_, .detach_at_end = true});
  ASSERT_TRUE(detaching);
  detaching->reset();
  EXPECT_EQ(cupti_->detached(), 1);
}

TEST_F(CuptiSessionTest, CountsBuffersThatCuptiKeepsAndThoseThatComeLate) {
  open();
  ASSERT_TRUE(session_->start({.first_step = 0, .steps = 2}));
  cupti_->keeps_on_flush = true;
  run_steps(0, 6);
  const auto first = session_->take();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->missing_buffers, 1);
  EXPECT_EQ(first->late_buffers, 0);
  cupti_->complete_buffer();

  cupti_->keeps_on_flush = false;
  ASSERT_TRUE(session_->start({.first_step = 20, .steps = 2}));
  run_steps(19, 26);
  const auto second = session_->take();
  ASSERT_TRUE(second);
  // Records read after the second span began lie outside it; otherwise the buffer counts as late.
  EXPECT_TRUE(second->late_buffers == 1 || second->quarantined.outside > 0);
  EXPECT_EQ(second->missing_buffers, 0);
  EXPECT_EQ(second->trace.step_starts.front().step, 20);
}

TEST_F(CuptiSessionTest, OutlivesBuffersThatCuptiKeeps) {
  open();
  ASSERT_TRUE(session_->start({.first_step = 0, .steps = 2}));
  cupti_->keeps_on_flush = true;
  run_steps(0, 3);
  session_.reset();
  // CUPTI continues to write into the buffer, and gives it back after the session has ended.
  cupti_->complete_buffer();
}

TEST_F(CuptiSessionTest, CountsWhatCuptiDropsAtTheCap) {
  open(CuptiLevel::l1, {1, 1024});
  ASSERT_TRUE(session_->start({.first_step = 0, .steps = 50}));
  run_steps(0, 60);
  const auto profile = session_->take();
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->trace.dropped, cupti_->dropped_in_all());
  EXPECT_EQ(profile->refused_buffers > 0, cupti_->dropped_in_all() > 0);
}

TEST_F(CuptiSessionTest, GoesOnWhicheverCallFails) {
  const auto run = [&]() -> std::string {
    auto opened =
        CuptiSession::open(cupti_, {.clock = clock_, .buffers = {4, 4096}, .flush_period_ns = 0});
    if (!opened) {
      EXPECT_THAT(cupti_->enabled(), IsEmpty());
      EXPECT_FALSE(cupti_->is_subscribed());
      return opened.error().message;
    }
    session_ = std::move(*opened);
    EXPECT_TRUE(session_->start({.first_step = 1, .steps = 2}));
    run_steps(0, 6);
    const auto profile = session_->take();
    EXPECT_TRUE(profile);
    session_.reset();
    EXPECT_THAT(cupti_->enabled(), IsEmpty());
    EXPECT_EQ(cupti_->open_marks(), 0u);
    return profile ? profile->warning : "no profile";
  };
  EXPECT_EQ(run(), "");
  const std::int64_t calls = cupti_->fallible_calls();
  int told = 0;
  for (std::int64_t i = 0; i < calls; ++i) {
    cupti_->fails_at = cupti_->fallible_calls() + i;
    told += run() != "";
  }
  // Other failures, such as of a clock reading or a mark, give no warning.
  EXPECT_GT(told, 10);
}

}  // namespace
}  // namespace hocket
