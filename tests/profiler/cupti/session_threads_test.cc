#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "profiler/cupti/cupti_session.h"
#include "tests/profiler/cupti/fake_cupti.h"
#include "tests/profiler/cupti/marked_tasks.h"

namespace hocket {
namespace {

constexpr std::int64_t kTasks = 40;

/// Names of kernels; each names its task.
const std::vector<std::string> kKernelNames = [] {
  std::vector<std::string> names;
  for (std::int64_t task = 0; task < kTasks; ++task) names.push_back(std::to_string(task));
  return names;
}();

/// Threads launch marked tasks while steps pass, and a profile is taken in each round. Every kernel
/// of a span is in its profile with its own task, or is counted as dropped.
void run_rounds(BufferPoolOptions buffers, std::int64_t flush_period_ns, bool may_drop) {
  constexpr int kLaunchers = 3;
  constexpr std::int64_t kSteps = 6;
  const SteadyClock clock;
  const auto cupti = std::make_shared<FakeCupti>(clock, 1'000'000'000'000);
  auto opened = CuptiSession::open(
      cupti, {.clock = clock, .buffers = buffers, .flush_period_ns = flush_period_ns});
  ASSERT_TRUE(opened) << opened.error().message;
  CuptiSession& session = **opened;

  for (int round = 0; round < 5; ++round) {
    const std::int64_t first = round * 100 + 1;
    std::vector<StepStart> starts;
    session.resume();
    for (std::int64_t step = first - 1; step <= first + kSteps + 2; ++step) {
      if (step >= first && step <= first + kSteps) starts.push_back({step, clock.now_ns()});
      std::vector<std::thread> launchers;
      for (int launcher = 0; launcher < kLaunchers; ++launcher) {
        launchers.emplace_back([&, launcher] {
          for (std::int64_t task = launcher; task < kTasks; task += kLaunchers) {
            const TaskMark mark(&session, step, marked_id(task));
            const std::int64_t now_ns = clock.now_ns();
            cupti->launch(kKernelNames[task].c_str(), static_cast<std::uint32_t>(launcher), now_ns,
                          now_ns + 1, now_ns + 1 + task);
          }
        });
      }
      for (std::thread& launcher : launchers) launcher.join();
    }
    const ProfileResult result = profile_of(session, starts, kTasks);
    EXPECT_EQ(result.trace.quarantined, 0);
    std::int64_t kernels = 0;
    for (const TraceRecord& record : result.trace.records) {
      // Kernels have no task if the record that ties them was dropped.
      if (record.kind != TraceKind::compute || record.task == kNoTask) continue;
      kernels += record.step >= first && record.step < first + kSteps;
      EXPECT_EQ(result.trace.names[record.name], kKernelNames[record.task]);
    }
    const std::int64_t dropped = result.trace.dropped;
    EXPECT_TRUE(may_drop || dropped == 0) << dropped;
    EXPECT_LE(kernels, kSteps * kTasks);
    if (dropped == 0) {
      EXPECT_EQ(kernels, kSteps * kTasks);
      EXPECT_THAT(result.notes, testing::IsEmpty());
    }
  }
  EXPECT_EQ(cupti->open_marks(), 0u);
}

TEST(CuptiSessionThreads, LosesNothingWithBuffersEnough) {
  run_rounds({.buffers = 3, .buffer_bytes = 1 << 20}, 0, false);
}

TEST(CuptiSessionThreads, CountsWhatItLosesWhileItFlushesAllTheTime) {
  run_rounds({.buffers = 3, .buffer_bytes = 2048}, 1, true);
}

TEST(CuptiSessionThreads, IsPausedAndReadByAnotherThread) {
  const SteadyClock clock;
  const auto cupti = std::make_shared<FakeCupti>(clock);
  auto opened =
      CuptiSession::open(cupti, {.clock = clock, .buffers = {.buffers = 2, .buffer_bytes = 2048}});
  ASSERT_TRUE(opened) << opened.error().message;
  CuptiSession& session = **opened;
  std::atomic<bool> is_over = false;
  std::thread job([&] {
    for (std::int64_t step = 0; !is_over; ++step) {
      const TaskMark mark(&session, step, marked_id(0));
      const std::int64_t now_ns = clock.now_ns();
      cupti->launch("kernel", 7, now_ns, now_ns + 1, now_ns + 2);
    }
  });
  for (int round = 0; round < 20; ++round) {
    session.resume();
    profile_of(session, {{0, clock.now_ns()}, {1, clock.now_ns() + 1}}, 1);
  }
  is_over = true;
  job.join();
}

}  // namespace
}  // namespace hocket
