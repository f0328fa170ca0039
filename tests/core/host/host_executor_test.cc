#include "core/host/host_executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "tests/core/host/ranks.h"

namespace hocket {
namespace {

TEST(HostExecutor, IndependentTasksRunAtOnceOnAsManyStreams) {
  SteadyClock clock;
  LocalGroup group(1);
  const auto collective = group.join(0);
  HostExecutor executor(*collective, clock);
  Scheduler scheduler({.streams = 3}, executor);
  // Each task waits until all three run: only three streams at once can finish them.
  std::atomic<int> running = 0;
  for (int i = 0; i < 3; ++i) {
    scheduler.compute({}, {}, [&] {
      ++running;
      running.notify_all();
      for (int seen = running; seen < 3; seen = running) running.wait(seen);
    });
  }
  EXPECT_TRUE(scheduler.synchronize());
}

TEST(HostExecutor, TasksOfEqualReadinessRunMostUrgentFirst) {
  SteadyClock clock;
  LocalGroup group(1);
  const auto collective = group.join(0);
  HostExecutor executor(*collective, clock);
  Scheduler scheduler({}, executor);
  std::promise<void> gate;
  std::vector<int> order;
  scheduler.compute({}, {}, [&] { gate.get_future().wait(); });
  for (const int priority : {5, 1, 3}) {
    scheduler.compute({.priority = static_cast<std::uint32_t>(priority)}, {},
                      [&, priority] { order.push_back(priority); });
  }
  gate.set_value();
  ASSERT_TRUE(scheduler.synchronize());
  EXPECT_EQ(order, (std::vector<int>{1, 3, 5}));
}

}  // namespace
}  // namespace hocket
