// Tests the real CUPTI on a device. Skipped if there is none.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "profiler/cupti/cupti_session.h"
#include "tests/profiler/cupti/device.h"
#include "tests/profiler/cupti/marked_tasks.h"

namespace hocket {
namespace {

using testing::Contains;
using testing::IsEmpty;
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
      starts_.push_back({step, clock_.now_ns()});
      {
        const TaskMark mark(session_.get(), step, marked_id(0));
        ASSERT_TRUE(device_->spin(0, 20'000));
      }
      {
        const TaskMark mark(session_.get(), step, marked_id(1));
        ASSERT_TRUE(device_->fill(1));
      }
      {
        const TaskMark mark(session_.get(), step, marked_id(2));
        ASSERT_TRUE(device_->copy_to_host(1));
      }
      // A step's work ends before the next step's begins, which ends its window.
      ASSERT_TRUE(device_->synchronize());
    }
  }

  /// The profile of the steps `from` to `to`, which have run.
  ProfileResult profile(std::int64_t from, std::int64_t to) {
    auto starts = std::exchange(starts_, {});
    std::erase_if(starts, [&](const StepStart& s) { return s.step < from || s.step > to; });
    return profile_of(*session_, std::move(starts), 3);
  }

  const SteadyClock clock_;
  std::vector<StepStart> starts_;
  std::unique_ptr<CuptiSession> session_;
  std::unique_ptr<TestDevice> device_;
};

TEST_F(SessionOnDeviceTest, RecordsEachTaskOfItsSteps) {
  open(CuptiLevel::l1);
  if (IsSkipped()) return;
  for (const std::int64_t first : {5, 50}) {
    session_->resume();
    const std::int64_t begin_ns = clock_.now_ns();
    run_steps(first - 3, first + 8);
    const std::int64_t end_ns = clock_.now_ns();
    const ProfileResult result = profile(first, first + 4);
    EXPECT_THAT(result.notes, IsEmpty());
    EXPECT_EQ(result.trace.quarantined, 0);
    EXPECT_EQ(result.trace.dropped, 0);
    EXPECT_THAT(result.trace.step_starts, SizeIs(5));
    std::map<std::pair<std::int64_t, std::int64_t>, int> seen;
    for (const TraceRecord& record : result.trace.records) {
      if (record.kind != TraceKind::compute && record.kind != TraceKind::copy) continue;
      if (record.step < first || record.step >= first + 4) continue;
      ++seen[{record.step, record.task}];
      EXPECT_EQ(record.kind, record.task == 0 ? TraceKind::compute : TraceKind::copy);
      EXPECT_EQ(record.bytes, record.task == 0 ? 0 : std::int64_t{TestDevice::kBytes});
      const std::string& name = result.trace.names[record.name];
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
  session_->resume();
  run_steps(0, 8);
  const ProfileResult result = profile(1, 4);
  EXPECT_THAT(result.trace.step_starts, SizeIs(4));
  EXPECT_THAT(result.trace.records, Not(IsEmpty()));
  for (const TraceRecord& record : result.trace.records) EXPECT_EQ(record.task, kNoTask);
}

TEST_F(SessionOnDeviceTest, RecordsCallsButNotThatTheHostAsksTheDevice) {
  open(CuptiLevel::l1);
  if (IsSkipped()) return;
  session_->resume();
  for (std::int64_t step = 0; step < 8; ++step) {
    run_steps(step, step + 1);
    ASSERT_TRUE(device_->ask(0));
  }
  const ProfileResult result = profile(1, 4);
  EXPECT_THAT(result.trace.names, Contains(StartsWith("cuLaunchKernel")));
  EXPECT_THAT(result.trace.names, Not(Contains(StartsWith("cuEventQuery"))));
}

TEST_F(SessionOnDeviceTest, RecordsWaitsToo) {
  open(CuptiLevel::l2);
  if (IsSkipped()) return;
  session_->resume();
  run_steps(0, 3);
  run_steps(3, 6);
  const ProfileResult result = profile(1, 5);
  EXPECT_THAT(result.trace.names, Contains("host waits for device"));
}

}  // namespace
}  // namespace hocket
