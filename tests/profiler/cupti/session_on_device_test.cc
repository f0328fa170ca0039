// Tests the real CUPTI on a device. Skipped if there is none.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "profiler/cupti/cupti_session.h"
#include "tests/profiler/cupti/device.h"
#include "tests/profiler/cupti/marked_tasks.h"

namespace hocket {
namespace {

using testing::Contains;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

class SessionOnDeviceTest : public testing::Test {
 protected:
  /// Opens CUPTI before the device, as a job should.
  void open(CuptiLevel level) {
    auto opened = CuptiSession::open({.clock = clock_, .level = level});
    if (!opened) GTEST_SKIP() << opened.error().message;
    session_ = std::move(*opened);
    std::string why;
    device_ = TestDevice::open(why);
    if (!device_) GTEST_SKIP() << why;
  }

  void run_steps(std::int64_t from, std::int64_t to) {
    for (std::int64_t step = from; step < to; ++step) {
      session_->on_step(step);
      {
        const TaskMark mark(session_.get(), step, marked_id(0));
        ASSERT_TRUE(device_->spin(0, 20'000));
      }
      {
        const TaskMark mark(session_.get(), step, marked_id(1));
        ASSERT_TRUE(device_->fill(1));
      }
      const TaskMark mark(session_.get(), step, marked_id(2));
      ASSERT_TRUE(device_->copy_to_host(1));
    }
    ASSERT_TRUE(device_->synchronize());
  }

  const SteadyClock clock_;
  std::unique_ptr<CuptiSession> session_;
  std::unique_ptr<TestDevice> device_;
};

TEST_F(SessionOnDeviceTest, RecordsEachTaskOfItsSteps) {
  open(CuptiLevel::l1);
  if (IsSkipped()) return;
  for (const std::int64_t first : {5, 50}) {
    ASSERT_TRUE(session_->start({.first_step = first, .steps = 4}));
    const std::int64_t begin_ns = clock_.now_ns();
    run_steps(first - 3, first + 8);
    const std::int64_t end_ns = clock_.now_ns();
    const auto profile = session_->take(numbered_tasks(first, first + 4, 3));
    ASSERT_TRUE(profile);
    EXPECT_EQ(profile->warning, "");
    EXPECT_EQ(profile->quarantined, QuarantineCounts());
    EXPECT_EQ(profile->trace.dropped, 0);
    EXPECT_THAT(profile->trace.step_starts, SizeIs(5));
    std::map<std::pair<std::int64_t, std::int64_t>, int> seen;
    for (const TraceRecord& record : profile->trace.records) {
      if (record.kind != TraceKind::compute && record.kind != TraceKind::copy) continue;
      if (record.step < first || record.step >= first + 4) continue;
      ++seen[{record.step, record.task}];
      EXPECT_EQ(record.kind, record.task == 0 ? TraceKind::compute : TraceKind::copy);
      EXPECT_EQ(record.bytes, record.task == 0 ? 0 : std::int64_t{TestDevice::kBytes});
      const std::string& name = profile->trace.names[record.name];
      EXPECT_EQ(name, record.task == 0   ? "hocket_spin"
                      : record.task == 1 ? "memset"
                                         : "memcpy DtoH");
      EXPECT_GE(record.submitted_ns, begin_ns);
      // CUPTI converts the device's times to the host's clock, with this accuracy.
      EXPECT_GE(record.begin_ns, record.submitted_ns - 10'000);
      EXPECT_LE(record.end_ns, end_ns);
    }
    EXPECT_EQ(seen.size(), 12u);
    for (const auto& [task, count] : seen) EXPECT_EQ(count, 1);
  }
}

TEST_F(SessionOnDeviceTest, RecordsKernelsAndCopiesAlone) {
  open(CuptiLevel::l0);
  if (IsSkipped()) return;
  ASSERT_TRUE(session_->start({.first_step = 1, .steps = 3}));
  run_steps(0, 8);
  const auto profile = session_->take();
  ASSERT_TRUE(profile);
  EXPECT_THAT(profile->trace.step_starts, SizeIs(4));
  EXPECT_GT(profile->device_records, 0);
  EXPECT_EQ(profile->marked, 0);
}

TEST_F(SessionOnDeviceTest, RecordsCallsButNotThatTheHostAsksTheDevice) {
  open(CuptiLevel::l1);
  if (IsSkipped()) return;
  ASSERT_TRUE(session_->start({.first_step = 1, .steps = 3}));
  for (std::int64_t step = 0; step < 8; ++step) {
    run_steps(step, step + 1);
    ASSERT_TRUE(device_->ask(0));
  }
  const auto profile = session_->take();
  ASSERT_TRUE(profile);
  EXPECT_THAT(profile->trace.names, Contains(StartsWith("cuLaunchKernel")));
  EXPECT_THAT(profile->trace.names, Not(Contains(StartsWith("cuEventQuery"))));
}

TEST_F(SessionOnDeviceTest, RecordsWaitsToo) {
  open(CuptiLevel::l2);
  if (IsSkipped()) return;
  ASSERT_TRUE(session_->start({.first_step = 1, .steps = 100}));
  run_steps(0, 3);
  run_steps(3, 6);
  session_->stop();
  const auto profile = session_->take();
  ASSERT_TRUE(profile);
  EXPECT_THAT(profile->trace.names, Contains("host waits for device"));
}

}  // namespace
}  // namespace hocket
