#include "core/plan/dependency_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace hocket {
namespace {

struct NoGraphFields {};
using Graph = DependencyGraph<NoGraphFields>;

bool conflict(const std::vector<Access>& a, const std::vector<Access>& b) {
  for (const Access& x : a) {
    for (const Access& y : b) {
      if (x.data == y.data && (x.mode != AccessMode::read || y.mode != AccessMode::read))
        return true;
    }
  }
  return false;
}

struct Submitted {
  TaskId id;
  std::vector<Access> accesses;
  bool ready = false, finished = false;
};

std::vector<Access> random_accesses(std::mt19937_64& random, const std::vector<DataId>& data) {
  std::vector<Access> accesses;
  for (auto n = random() % 4; n > 0; --n) {
    accesses.push_back({data[random() % data.size()], static_cast<AccessMode>(random() % 3)});
  }
  return accesses;
}

/// Expects a task to be ready exactly when every earlier task that it conflicts with is finished.
void expect_ready_as_conflicts_say(const std::vector<Submitted>& tasks) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].finished) continue;
    const bool free = std::none_of(
        tasks.begin(), tasks.begin() + static_cast<std::ptrdiff_t>(i),
        [&](const auto& t) { return !t.finished && conflict(t.accesses, tasks[i].accesses); });
    ASSERT_EQ(tasks[i].ready, free) << "task " << i;
  }
}

TEST(DependencyGraph, ATaskIsReadyExactlyWhenNoEarlierConflictingTaskIsUnfinished) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Graph graph;
    std::vector<DataId> data(1 + random() % 6);
    for (auto& d : data) d = graph.add_data();
    std::vector<Submitted> tasks;
    const auto finish_one = [&] {
      std::vector<std::size_t> running;
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        if (tasks[i].ready && !tasks[i].finished) running.push_back(i);
      }
      if (running.empty()) return false;
      Submitted& done = tasks[running[random() % running.size()]];
      done.finished = true;
      graph.finish(done.id, [&](std::uint32_t slot) {
        const auto freed = std::find_if(tasks.begin(), tasks.end(), [&](const auto& t) {
          return !t.finished && t.id.slot == slot;
        });
        ASSERT_NE(freed, tasks.end());
        ASSERT_FALSE(freed->ready) << "made ready twice";
        freed->ready = true;
      });
      return true;
    };
    for (int i = 0; i < 60; ++i) {
      auto accesses = random_accesses(random, data);
      const auto added = graph.add(accesses);
      tasks.push_back({added.task, std::move(accesses), added.ready});
      if (random() % 2) finish_one();
      ASSERT_NO_FATAL_FAILURE(expect_ready_as_conflicts_say(tasks));
    }
    while (finish_one()) ASSERT_NO_FATAL_FAILURE(expect_ready_as_conflicts_say(tasks));
    EXPECT_EQ(graph.live(), 0u);
    EXPECT_TRUE(std::all_of(tasks.begin(), tasks.end(), [](const auto& t) { return t.finished; }));
  }
}

TEST(DependencyGraph, ManyReadersOfDataThatIsNeverWrittenStayCheapAndCorrect) {
  Graph graph;
  const DataId constant = graph.add_data();
  const auto first = graph.add(std::vector<Access>{write(constant)});
  graph.finish(first.task, [](std::uint32_t) {});
  for (int i = 0; i < 100'000; ++i) {
    const auto reader = graph.add(std::vector<Access>{read(constant)});
    ASSERT_TRUE(reader.ready);
    graph.finish(reader.task, [](std::uint32_t) {});
  }
  const auto unfinished_reader = graph.add(std::vector<Access>{read(constant)});
  const auto writer = graph.add(std::vector<Access>{write(constant)});
  EXPECT_FALSE(writer.ready);
  bool freed = false;
  graph.finish(unfinished_reader.task,
               [&](std::uint32_t slot) { freed = slot == writer.task.slot; });
  EXPECT_TRUE(freed);
}

TEST(DependencyGraphDeathTest, RefusesToFinishATaskTwice) {
  Graph graph;
  const auto task = graph.add({});
  graph.finish(task.task, [](std::uint32_t) {});
  EXPECT_DEATH(graph.finish(task.task, [](std::uint32_t) {}), "finished twice");
}

}  // namespace
}  // namespace hocket
