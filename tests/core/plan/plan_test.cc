#include "core/plan/plan.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

namespace hocket {
namespace {

std::vector<Access> updates(DataId data) {
  return {update(data)};
}

TEST(Plan, AMoreUrgentCollectiveOvertakesAtAPartsBoundary) {
  Plan plan({.partition_bytes = 64, .credit_bytes = 64, .order = PartOrder::priority});
  const TaskId slow =
      plan.submit_collective({.name = {}, .priority = 9}, updates(plan.add_data()), 192);
  const auto first = plan.next_part();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->task, slow);
  const TaskId urgent =
      plan.submit_collective({.name = {}, .priority = 1}, updates(plan.add_data()), 64);
  EXPECT_FALSE(plan.next_part()) << "the window is full";
  plan.finish_part(slow, first->bytes);
  EXPECT_EQ(plan.next_part()->task, urgent);
}

TEST(Plan, EachLaneGetsItsOwnTasksMostUrgentFirst) {
  for (const bool captured : {false, true}) {
    Plan plan({.partition_bytes = 64, .credit_bytes = 64});
    std::vector<CapturedStep::Task> tasks;
    std::array<std::vector<TaskId>, kTaskLanes> expected;
    for (const std::uint32_t priority : {5u, 1u, 3u})
      for (std::size_t lane = 0; lane < kTaskLanes; ++lane)
        tasks.push_back({.name = {},
                         .priority = priority,
                         .accesses = {},
                         .lane = static_cast<TaskLane>(lane)});
    std::vector<TaskId> ids;
    if (captured) {
      const auto step = std::make_shared<const CapturedStep>(tasks);
      const TaskId first = plan.launch(step);
      for (std::uint32_t i = 0; i < step->size(); ++i) ids.push_back(step->id_of(i, first));
    } else {
      for (const auto& task : tasks)
        ids.push_back(plan.submit_compute({.priority = task.priority, .lane = task.lane}, {}));
    }
    for (std::size_t lane = 0; lane < kTaskLanes; ++lane) {
      EXPECT_EQ(plan.ready_computes(static_cast<TaskLane>(lane)), 3U);
      for (const std::size_t index : {1, 2, 0})
        EXPECT_EQ(plan.next_compute(static_cast<TaskLane>(lane)), ids[index * kTaskLanes + lane]);
      EXPECT_FALSE(plan.next_compute(static_cast<TaskLane>(lane)));
    }
  }
}

TEST(Plan, FifoKeepsTheOrderOfSubmissionEvenWhenALaterOneIsReadyFirst) {
  Plan plan({.partition_bytes = 1 << 20, .credit_bytes = 1 << 20, .order = PartOrder::fifo});
  const DataId gradient = plan.add_data();
  plan.submit_compute({.name = {}, .priority = 0}, updates(gradient));
  const TaskId first = plan.submit_collective({.name = {}, .priority = 9}, updates(gradient), 64);
  plan.submit_collective({.name = {}, .priority = 1}, updates(plan.add_data()), 64);
  EXPECT_FALSE(plan.next_part())
      << "the first collective waits for its data, the second for its turn";
  plan.finish_compute(*plan.next_compute());
  EXPECT_EQ(plan.next_part()->task, first);
}

TEST(Plan, APartLargerThanTheWindowGoesAlone) {
  Plan plan({.partition_bytes = 1 << 20, .credit_bytes = 4096, .order = PartOrder::priority});
  const TaskId small =
      plan.submit_collective({.name = {}, .priority = 0}, updates(plan.add_data()), 64);
  const TaskId large =
      plan.submit_collective({.name = {}, .priority = 1}, updates(plan.add_data()), 8192);
  ASSERT_EQ(plan.next_part()->task, small);
  EXPECT_FALSE(plan.next_part());
  plan.finish_part(small, 64);
  ASSERT_EQ(plan.next_part()->task, large);
  EXPECT_EQ(plan.in_flight_bytes(), 8192);
}

TEST(Plan, AnIssuedCollectiveFreesItsSuccessorsBeforeItsCreditReturns) {
  Plan plan({.partition_bytes = 64, .credit_bytes = 128, .order = PartOrder::fifo});
  const DataId gradient = plan.add_data();
  const TaskId collective =
      plan.submit_collective({.name = {}, .priority = 0}, updates(gradient), 128);
  const TaskId after = plan.submit_compute({.name = {}, .priority = 0}, updates(gradient));
  const TaskId other =
      plan.submit_collective({.name = {}, .priority = 0}, updates(plan.add_data()), 64);
  ASSERT_TRUE(plan.next_part());
  ASSERT_TRUE(plan.next_part());
  EXPECT_FALSE(plan.issue_part(collective));
  EXPECT_FALSE(plan.next_compute());
  EXPECT_TRUE(plan.issue_part(collective));
  EXPECT_EQ(plan.next_compute(), after);
  EXPECT_FALSE(plan.next_part()) << "the window is full";
  EXPECT_EQ(plan.in_flight_bytes(), 128);
  plan.return_credit(64);
  EXPECT_EQ(plan.next_part()->task, other);
}

TEST(Plan, ChoosesAmongCollectivesWhoseInputsHaveArrived) {
  Plan plan({.partition_bytes = 64, .credit_bytes = 64, .order = PartOrder::priority});
  plan.await_inputs();
  const TaskId urgent =
      plan.submit_collective({.name = {}, .priority = 1}, updates(plan.add_data()), 64);
  const TaskId early =
      plan.submit_collective({.name = {}, .priority = 2}, updates(plan.add_data()), 128);
  EXPECT_EQ(plan.next_awaiting_inputs(), urgent);
  EXPECT_EQ(plan.next_awaiting_inputs(), early);
  EXPECT_FALSE(plan.next_awaiting_inputs());
  EXPECT_FALSE(plan.next_part());
  plan.inputs_arrived(early);
  EXPECT_EQ(plan.next_part()->task, early);
  plan.inputs_arrived(urgent);
  plan.return_credit(64);
  EXPECT_EQ(plan.next_part()->task, urgent);
}

TEST(Plan, OnePartIsPushedWhileAnotherIsPulledTheMostUrgentFirstEachWay) {
  Plan plan({.partition_bytes = 64,
             .credit_bytes = 64,
             .order = PartOrder::priority,
             .servers = 2,
             .pull_credit_bytes = 64});
  const auto submit = [&](std::uint32_t priority) {
    return plan.submit_collective({.name = {}, .priority = priority}, updates(plan.add_data()), 64);
  };
  const TaskId late = submit(5), urgent = submit(1), next = submit(2);
  const auto push = [&] {
    const auto part = plan.next_part();
    EXPECT_FALSE(plan.next_part()) << "the window of pushes is full";
    return *part;
  };
  const PartDecision first = push();
  EXPECT_EQ(first.task, urgent);
  EXPECT_FALSE(plan.finish_push(first));
  EXPECT_FALSE(plan.next_pull()) << "its sum is not ready";
  plan.summed(first);
  EXPECT_EQ(plan.next_pull(), first);
  const PartDecision second = push();
  EXPECT_EQ(second.task, next);
  EXPECT_NE(second.server, first.server);
  plan.summed(second);
  plan.finish_push(second);
  EXPECT_FALSE(plan.next_pull()) << "the window of pulls is full";
  const PartDecision third = push();
  EXPECT_EQ(third.task, late);
  plan.finish_push(third);
  plan.summed(third);
  EXPECT_TRUE(plan.finish_pull(first)) << "its only part";
  EXPECT_EQ(plan.next_pull(), second);
  plan.finish_pull(second);
  EXPECT_EQ(plan.next_pull(), third);
  plan.finish_pull(third);
  EXPECT_EQ(plan.unfinished(), 0U);
}

TEST(Plan, TheServerOfABytePositionDoesNotDependOnThePartition) {
  std::map<std::int64_t, int> server_of;  // by offset in units
  for (const std::int64_t partition : {1 << 30, 1 << 20, 192 << 10, 64 << 10}) {
    Plan plan({.partition_bytes = partition,
               .credit_bytes = 1 << 30,
               .servers = 3,
               .pull_credit_bytes = 1});
    constexpr std::int64_t kUnit = 64, kBytes = (2 << 20) + 100 * kUnit;
    std::map<int, std::int64_t> bytes_of;
    plan.submit_collective({}, updates(plan.add_data()), 1000);
    const DataId big = plan.add_data();
    plan.submit_collective({}, updates(big), kBytes);
    EXPECT_EQ(plan.next_part()->tensor, 0U);
    std::vector<int> turns;
    while (const auto part = plan.next_part()) {
      EXPECT_EQ(part->tensor, 1U);
      bytes_of[part->server] += part->bytes;
      turns.push_back(part->server);
      for (std::int64_t at = 0; at < part->bytes; at += kUnit)
        EXPECT_EQ(server_of.try_emplace(part->offset_bytes + at, part->server).first->second,
                  part->server);
    }
    ASSERT_EQ(bytes_of.size(), 3U);
    for (const auto& [server, bytes] : bytes_of) EXPECT_LE(std::abs(kBytes / 3 - bytes), 3 * kUnit);
    for (std::size_t i = 1; i < turns.size(); ++i) EXPECT_EQ(turns[i], (turns[i - 1] + 1) % 3);
  }
}

TEST(Plan, TasksWaitForAllOfBothWays) {
  Plan plan({.partition_bytes = 64, .credit_bytes = 256, .servers = 1, .pull_credit_bytes = 256});
  const DataId gradient = plan.add_data();
  plan.submit_collective({}, updates(gradient), 128);
  const TaskId reader = plan.submit_compute({}, {});
  EXPECT_EQ(plan.next_compute(), reader);
  plan.finish_compute(reader);
  const TaskId update = plan.submit_compute({}, updates(gradient));
  const PartDecision first = *plan.next_part(), second = *plan.next_part();
  plan.summed(second);
  plan.summed(first);
  for (const PartDecision& part : {second, first}) {
    EXPECT_EQ(plan.next_pull(), part) << "fifo: in the order in which sums were ready";
    EXPECT_FALSE(plan.finish_pull(part)) << "no push has been acknowledged";
  }
  EXPECT_FALSE(plan.finish_push(first));
  EXPECT_FALSE(plan.next_compute()) << "a push has not finished";
  EXPECT_TRUE(plan.finish_push(second));
  EXPECT_EQ(plan.next_compute(), update);
}

TEST(Plan, AnEmptyCollectiveIsOnePartOfNoBytes) {
  Plan plan({.partition_bytes = 64, .credit_bytes = 64});
  const TaskId empty =
      plan.submit_collective({.name = {}, .priority = 0}, updates(plan.add_data()), 0);
  const auto part = plan.next_part();
  ASSERT_TRUE(part);
  EXPECT_EQ(part->bytes, 0);
  EXPECT_TRUE(plan.finish_part(empty, 0));
  EXPECT_EQ(plan.unfinished(), 0u);
}

/// Starts every part that may start now; returns their sizes.
std::vector<std::int64_t> start_all(Plan& plan) {
  std::vector<std::int64_t> sizes;
  while (const auto part = plan.next_part()) sizes.push_back(part->bytes);
  return sizes;
}

TEST(Plan, ANewPartitionCutsWhatIsSubmittedFromThenOn) {
  Plan plan({.partition_bytes = 64, .credit_bytes = 1 << 20});
  const auto submit = [&] { plan.submit_collective({}, updates(plan.add_data()), 256); };
  submit();
  plan.configure({.partition_bytes = 128, .credit_bytes = 1 << 20});
  submit();
  EXPECT_EQ(start_all(plan), (std::vector<std::int64_t>{64, 64, 64, 64, 128, 128}));
}

TEST(Plan, ASmallerWindowStartsNothingUntilThereIsRoom) {
  Plan plan({.partition_bytes = 64, .credit_bytes = 256});
  const TaskId task = plan.submit_collective({}, updates(plan.add_data()), 64 * 8);
  EXPECT_EQ(start_all(plan).size(), 4u);
  plan.configure({.partition_bytes = 64, .credit_bytes = 128});
  for (const std::size_t starts : {0, 0, 1, 1}) {
    plan.finish_part(task, 64);
    EXPECT_EQ(start_all(plan).size(), starts);
  }
  plan.configure({.partition_bytes = 64, .credit_bytes = 192});
  EXPECT_EQ(start_all(plan).size(), 1u) << "a larger one, at once";
}

TEST(Plan, AnOrderChangesOnlyWhileNothingRuns) {
  PlanOptions options{.partition_bytes = 64, .credit_bytes = 64, .order = PartOrder::priority};
  Plan plan(options);
  for (const auto order : {PartOrder::fifo, PartOrder::announced, PartOrder::priority,
                           PartOrder::announced, PartOrder::fifo}) {
    options.order = order;
    plan.configure(options);
    const TaskId first = plan.submit_collective({.priority = 2}, updates(plan.add_data()), 64);
    const TaskId urgent = plan.submit_collective({.priority = 1}, updates(plan.add_data()), 64);
    const std::uint64_t number = plan.submitted_collectives() - 1;
    if (order == PartOrder::announced) plan.announce(std::vector{number, number - 1});
    auto part = plan.next_part();
    ASSERT_TRUE(part);
    EXPECT_EQ(part->task, order == PartOrder::fifo ? first : urgent);
    plan.finish_part(part->task, 64);
    part = plan.next_part();
    ASSERT_TRUE(part);
    options.order = order == PartOrder::fifo ? PartOrder::priority : PartOrder::fifo;
    EXPECT_DEATH(plan.configure(options), "the order changes while tasks run");
    plan.finish_part(part->task, 64);
  }
}

}  // namespace
}  // namespace hocket
