#include "core/scheduler/dispatch/work_exchange.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

namespace hocket {
namespace {

std::vector<ComputeWork> work_of(std::uint32_t first, std::uint32_t count) {
  std::vector<ComputeWork> work(count);
  for (std::uint32_t i = 0; i < count; ++i) work[i].task = {first + i, 0};
  return work;
}

TEST(WorkExchange, GivesWhatWasOfferedInOrderAndKeepsWhatIsFinished) {
  WorkExchange exchange;
  std::array<ComputeWork, 2> taken;
  EXPECT_EQ(exchange.exchange({}, taken), 0u);
  exchange.offer(work_of(10, 3));
  EXPECT_EQ(exchange.ready(), 3u);
  const TaskId finished{7, 1};
  ASSERT_EQ(exchange.exchange({&finished, 1}, taken), 2u);
  EXPECT_EQ(taken[0].task.slot, 10u);
  EXPECT_EQ(taken[1].task.slot, 11u);
  exchange.offer(work_of(20, 1));
  ASSERT_EQ(exchange.exchange({}, taken), 2u);
  EXPECT_EQ(taken[0].task.slot, 12u);
  EXPECT_EQ(taken[1].task.slot, 20u);
  std::vector<TaskId> collected;
  exchange.collect(collected);
  ASSERT_EQ(collected.size(), 1u);
  EXPECT_EQ(collected[0], finished);
  collected.clear();
  exchange.collect(collected);
  EXPECT_TRUE(collected.empty());
}

TEST(WorkExchange, WithdrawnWorkIsGone) {
  WorkExchange exchange;
  exchange.offer(work_of(0, 3));
  exchange.withdraw();
  std::array<ComputeWork, 4> taken;
  EXPECT_EQ(exchange.ready(), 0u);
  EXPECT_FALSE(exchange.wait_briefly(10));
  EXPECT_EQ(exchange.exchange({}, taken), 0u);
}

TEST(WorkExchange, EveryTaskGoesToOneStreamAndComesBackOnce) {
  constexpr std::uint32_t kTasks = 20'000;
  WorkExchange exchange;
  std::vector<int> collected(kTasks);
  {
    std::vector<std::jthread> streams;
    for (int stream = 0; stream < 3; ++stream) {
      streams.emplace_back([&](std::stop_token stop) {
        std::array<ComputeWork, 8> work;
        std::vector<TaskId> finished;
        do {
          const std::size_t taken = exchange.exchange(finished, work);
          finished.clear();
          for (std::size_t i = 0; i < taken; ++i) finished.push_back(work[i].task);
          if (taken == 0) exchange.wait_briefly(100);
        } while (!stop.stop_requested() || !finished.empty() || exchange.ready() > 0);
      });
    }
    std::vector<TaskId> back;
    for (std::uint32_t next = 0, returned = 0; returned < kTasks;) {
      if (next < kTasks && exchange.ready() == 0) {
        exchange.offer(work_of(next, 16));
        next += 16;
      }
      exchange.collect(back);
      for (const TaskId task : back) ++collected[task.slot];
      returned += static_cast<std::uint32_t>(back.size());
      back.clear();
    }
  }
  for (const int times : collected) ASSERT_EQ(times, 1);
}

}  // namespace
}  // namespace hocket
