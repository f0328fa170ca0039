// Static orders that a step's own dependencies contradict end with an error: the lanes then wait
// for each other, and no time limit runs, since nothing is under way.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/core/host/ranks.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Order = std::vector<std::uint32_t>;

/// A single rank whose collectives begin in an order.
struct OrderedRank {
  explicit OrderedRank(const Order& order, int streams = 1)
      : scheduler({.streams = streams, .order = CollectiveOrder::static_order}, executor,
                  {.static_order = order}) {}

  SteadyClock clock;
  LocalGroup group{1};
  const std::unique_ptr<Collective> collective = group.join(0);
  HostExecutor executor{*collective, clock};
  Scheduler scheduler;
};

/// Runs steps that `submit` submits, on one rank, and returns what the last call said.
std::string run_steps(const Order& order, int steps, int streams,
                      const std::function<void(Scheduler&, DataId*)>& submit) {
  OrderedRank rank(order, streams);
  Scheduler& scheduler = rank.scheduler;
  std::array<DataId, 8> data;
  for (DataId& each : data) each = scheduler.add_data();
  for (int step = 0; step < steps; ++step) {
    submit(scheduler, data.data());
    if (const auto ok = scheduler.end_step(); !ok) return std::string(ok.error().message);
  }
  const auto ok = scheduler.synchronize();
  return ok ? "" : std::string(ok.error().message);
}

TEST(StaticOrder, ThatItsStepContradictsIsAnErrorWithBothNames) {
  std::vector<float> values(16);
  const auto submit = [&](Scheduler& scheduler, DataId* data) {
    scheduler.all_reduce({.name = "first"}, data[0], values);
    scheduler.compute({.name = "between"}, {read(data[0]), write(data[1])}, [] {});
    scheduler.all_reduce({.name = "second"}, data[1], values);
  };
  EXPECT_EQ(run_steps({0, 1}, 3, 2, submit), "");
  EXPECT_THAT(run_steps({1, 0}, 3, 2, submit),
              AllOf(HasSubstr("\"second\" is next and waits for tasks that cannot begin before it"),
                    HasSubstr("\"first\" waits for its turn"), HasSubstr("static_order()")));
}

TEST(StaticOrder, ThatItsStepContradictsIsAnErrorOfLaunchesToo) {
  OrderedRank rank(Order{1, 0});
  Scheduler& scheduler = rank.scheduler;
  std::vector<float> values(16);
  const DataId data = scheduler.add_data();
  scheduler.begin_capture();
  scheduler.all_reduce({.name = "first"}, data, values);
  scheduler.all_reduce({.name = "second"}, data, values);
  const auto step = scheduler.end_capture();
  Result<void> ok;
  for (int launch = 0; ok && launch < 3; ++launch) ok = scheduler.launch(step);
  ASSERT_FALSE(ok);
  EXPECT_THAT(ok.error().message, HasSubstr("\"second\" is next"));
}

TEST(StaticOrder, WhoWaitsForAStepThatHasNotEndedIsToldSo) {
  OrderedRank rank(Order{1, 0});
  Scheduler& scheduler = rank.scheduler;
  std::vector<float> values(16);
  const DataId data = scheduler.add_data();
  scheduler.all_reduce({.name = "first"}, data, values);
  const auto ok = scheduler.synchronize();
  ASSERT_FALSE(ok);
  EXPECT_THAT(ok.error().message,
              AllOf(HasSubstr("has not been submitted"), HasSubstr("\"first\" waits for its turn"),
                    HasSubstr("end the step")));
}

/// A task of a random step: a collective of the first datum, or a computation that reads it and
/// writes the second.
struct RandomTask {
  bool is_collective = false;
  std::size_t read = 0, written = 0;
};

/// Returns whether `later` must wait for `earlier`.
bool conflict(const RandomTask& earlier, const RandomTask& later) {
  const auto touches = [](const RandomTask& task, std::size_t data) {
    return task.read == data || task.written == data;
  };
  return touches(later, earlier.written) || touches(earlier, later.written);
}

/// Returns whether the tasks run to their end when their collectives begin in `order`.
bool can_run(const std::vector<RandomTask>& tasks, const Order& order) {
  std::vector<std::size_t> collectives;
  std::vector<bool> has_run(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].is_collective) collectives.push_back(i);
  std::size_t due = 0;
  for (bool is_progress = true; is_progress;) {
    is_progress = false;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      bool is_ready = !has_run[i];
      for (std::size_t before = 0; before < i; ++before)
        is_ready = is_ready && (has_run[before] || !conflict(tasks[before], tasks[i]));
      if (!is_ready) continue;
      if (tasks[i].is_collective && collectives[order[due]] != i) continue;
      if (tasks[i].is_collective) ++due;
      has_run[i] = is_progress = true;
    }
  }
  return std::ranges::find(has_run, false) == has_run.end();
}

TEST(StaticOrder, RandomStepsEndOrSayThatTheyCannot) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  int ended = 0, refused = 0;
  for (std::uint64_t round = 0; round < rounds(400); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::vector<RandomTask> tasks(3 + random() % 10);
    std::uint32_t collectives = 0;
    for (RandomTask& task : tasks) {
      const std::size_t first = random() % 8, distance = 1 + random() % 7;
      task = {.is_collective = random() % 2 == 0, .read = first, .written = (first + distance) % 8};
      if (!task.is_collective) continue;
      task.written = task.read;
      ++collectives;
    }
    if (collectives == 0) continue;
    Order order(collectives);
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::shuffle(order, random);
    std::vector<float> values(8 * 16);
    const std::string said = run_steps(
        order, 1 + static_cast<int>(random() % 3), 1 + static_cast<int>(random() % 3),
        [&](Scheduler& scheduler, DataId* data) {
          for (const RandomTask& task : tasks) {
            if (task.is_collective) {
              scheduler.all_reduce({.name = "sum"}, data[task.read],
                                   std::span(values).subspan(16 * task.read, 16));
            } else {
              scheduler.compute({.name = "task"},
                                {read(data[task.read]), update(data[task.written])}, [] {});
            }
          }
        });
    const bool runs = can_run(tasks, order);
    EXPECT_EQ(said.empty(), runs) << said;
    if (!runs) {
      EXPECT_THAT(said, HasSubstr("nothing can begin any more"));
    }
    ++(runs ? ended : refused);
  }
  EXPECT_GT(ended, 10);
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace hocket
