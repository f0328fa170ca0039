#include "core/plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "core/collective/collective_parts.h"

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

/// Runs a random plan to its end with random timing and checks its invariants on the way. From time
/// to time it changes the partition and the window, and the order unless that is announced.
class RandomRun {
 public:
  RandomRun(std::uint64_t seed, const PlanOptions& options)
      : random_(seed), options_(options), plan_(options) {
    for (std::size_t i = 0; i < 1 + seed % 7; ++i) data_.push_back(plan_.add_data());
  }

  void run() {
    for (int i = 0; i < 40; ++i) {
      if (submissions_() % 8 == 0) configure();
      submit();
      for (auto n = random_() % 4; n > 0; --n) advance();
    }
    while (plan_.unfinished() > 0) {
      const auto state = [this] {
        return plan_.unfinished() + running_.size() + in_flight_.size() + started_.size() +
               2 * pulls_.size() + pulled_ + 3 * unsummed_.size();
      };
      const std::size_t before = state();
      advance();
      stalls_ = before == state() ? stalls_ + 1 : 0;
      ASSERT_LT(stalls_, 1000) << "deadlock";
    }
    for (const auto& [task, bytes] : bytes_) ASSERT_EQ(started_bytes_[task], bytes);
    ASSERT_TRUE(summed_.empty()) << "parts were pushed and never pulled";
  }

  /// Returns the collective of each started part, in order.
  const std::vector<std::uint64_t>& started() const { return started_; }
  void announce(const std::vector<std::uint64_t>& order) { plan_.announce(order); }

 private:
  void configure() {
    // The partition must not depend on timing; the window may.
    options_.partition_bytes = static_cast<std::int64_t>(1 + submissions_() % 600);
    options_.credit_bytes = static_cast<std::int64_t>(1 + random_() % 1200);
    if (plan_.unfinished() == 0 && options_.order != PartOrder::announced) {
      options_.order = random_() % 2 ? PartOrder::fifo : PartOrder::priority;
      options_.servers = static_cast<int>(random_() % 4);
      first_server_.clear();
    }
    options_.pull_credit_bytes =
        options_.servers > 0 ? static_cast<std::int64_t>(1 + random_() % 1200) : 0;
    plan_.configure(options_);
    order_since_ = started_.size();
  }

  void submit() {
    std::vector<Access> accesses;
    // Submissions must not depend on timing, so they have their own random generator.
    for (auto n = submissions_() % 3; n > 0; --n) {
      accesses.push_back(
          {data_[submissions_() % data_.size()], static_cast<AccessMode>(submissions_() % 3)});
    }
    const auto priority = static_cast<std::uint32_t>(submissions_() % 5);
    if (submissions_() % 2) {
      plan_.submit_compute({.name = {}, .priority = priority}, accesses);
    } else {
      const auto bytes = static_cast<std::int64_t>(submissions_() % 1000);
      plan_.submit_collective({.name = {}, .priority = priority}, accesses, bytes);
      partition_[bytes_.size()] = options_.partition_bytes;
      priority_[bytes_.size()] = priority;
      if (!accesses.empty()) data_of_[bytes_.size()] = accesses.front().data.index;
      bytes_[bytes_.size()] = bytes;
    }
  }

  void advance() {
    switch (random_() % 7) {
      case 0:
        if (const auto task = plan_.next_compute()) running_.push_back(*task);
        break;
      case 1:
        if (const auto part = plan_.next_part()) start(*part);
        break;
      case 2:
        if (!running_.empty()) {
          std::swap(running_[random_() % running_.size()], running_.back());
          plan_.finish_compute(running_.back());
          running_.pop_back();
        }
        break;
      case 3:
        if (const auto part = plan_.next_pull()) pull(*part);
        break;
      case 4:
        if (!pulls_.empty()) {
          std::swap(pulls_[random_() % pulls_.size()], pulls_.back());
          plan_.finish_pull(pulls_.back());
          ++pulled_;
          pulls_.pop_back();
        }
        break;
      case 5:
        if (!unsummed_.empty()) {
          std::swap(unsummed_[random_() % unsummed_.size()], unsummed_.back());
          plan_.summed(unsummed_.back());
          summed_.push_back(unsummed_.back());
          unsummed_.pop_back();
        }
        break;
      default:
        if (!in_flight_.empty()) {
          std::swap(in_flight_[random_() % in_flight_.size()], in_flight_.back());
          const PartDecision part = in_flight_.back();
          in_flight_.pop_back();
          options_.servers > 0 ? plan_.finish_push(part) : plan_.finish_part(part.task, part.bytes);
        }
    }
  }

  /// Checks a part that is handed out to be pulled.
  void pull(const PartDecision& part) {
    const auto found = std::ranges::find(summed_, part);
    ASSERT_NE(found, summed_.end()) << "a part is pulled once, when its sum is ready";
    if (options_.order == PartOrder::fifo) {
      ASSERT_EQ(found, summed_.begin()) << "pulls keep the order in which sums were ready";
    } else if (options_.order == PartOrder::priority) {
      for (const PartDecision& other : summed_)
        ASSERT_LE(priority_[part.collective], priority_[other.collective]);
    }
    summed_.erase(found);
    pulls_.push_back(part);
    ASSERT_TRUE(plan_.pulled_in_flight_bytes() <= options_.pull_credit_bytes || pulls_.size() == 1)
        << "credit of pulls exceeded";
  }

  /// Checks the server of a part.
  void expect_server(const PartDecision& part) {
    if (options_.servers == 0) {
      ASSERT_EQ(part.server, 0);
      return;
    }
    const std::int64_t each = part_bytes(bytes_[part.collective], partition_[part.collective]);
    const auto index = static_cast<int>(part.offset_bytes / each);
    const int first =
        ((part.server - index) % options_.servers + options_.servers) % options_.servers;
    ASSERT_TRUE(part.server >= 0 && part.server < options_.servers);
    if (!data_of_.contains(part.collective)) return;
    const auto [known, is_new] = first_server_.try_emplace(data_of_[part.collective], first);
    ASSERT_EQ(known->second, first) << "the same data begin at the same server";
  }

  void start(const PartDecision& part) {
    ASSERT_EQ(part.bytes,
              std::min(bytes_[part.collective] - part.offset_bytes,
                       part_bytes(bytes_[part.collective], partition_[part.collective])))
        << "cut by the partition of its submission";
    ASSERT_EQ(part.offset_bytes, started_bytes_[part.collective])
        << "parts start in order, each once";
    started_bytes_[part.collective] += part.bytes;
    in_flight_.push_back(part);
    if (options_.servers > 0) unsummed_.push_back(part);
    started_.push_back(part.collective);
    ASSERT_NO_FATAL_FAILURE(expect_server(part));
    ASSERT_TRUE(plan_.in_flight_bytes() <= options_.credit_bytes || in_flight_.size() == 1)
        << "credit exceeded";
    if (options_.order == PartOrder::fifo && started_.size() > order_since_ + 1) {
      ASSERT_LE(started_[started_.size() - 2], started_.back());
    }
  }

  std::mt19937_64 random_;
  std::mt19937_64 submissions_{5};
  PlanOptions options_;
  Plan plan_;
  std::vector<DataId> data_;
  std::vector<TaskId> running_;
  std::vector<PartDecision> in_flight_;
  /// With servers: parts without a sum, with one, in this order, and parts that are being pulled.
  std::vector<PartDecision> unsummed_, summed_, pulls_;
  std::size_t pulled_ = 0;
  std::vector<std::uint64_t> started_;
  std::size_t order_since_ = 0;  // index in started_
  std::map<std::uint64_t, std::int64_t> bytes_, partition_, started_bytes_;
  std::map<std::uint64_t, std::uint32_t> priority_, data_of_;
  std::map<std::uint32_t, int> first_server_;
  int stalls_ = 0;
};

PlanOptions random_options(std::uint64_t seed, PartOrder order) {
  std::mt19937_64 random(seed);
  return {.partition_bytes = static_cast<std::int64_t>(1 + random() % 600),
          .credit_bytes = static_cast<std::int64_t>(1 + random() % 1200),
          .order = order};
}

PlanOptions with_servers(PlanOptions options, std::uint64_t seed) {
  options.servers = static_cast<int>(seed % 4);
  if (options.servers > 0) options.pull_credit_bytes = static_cast<std::int64_t>(1 + seed % 1200);
  return options;
}

TEST(Plan, RandomRunsFinishWithinTheCreditWindowEachPartOnce) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    const PartOrder order = seed % 2 ? PartOrder::fifo : PartOrder::priority;
    RandomRun run(seed, with_servers(random_options(seed, order), seed / 2));
    ASSERT_NO_FATAL_FAILURE(run.run());
  }
}

TEST(Plan, AFollowerStartsPartsInTheAnnouncedOrderWhateverItsTiming) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    RandomRun leader(seed, random_options(seed, PartOrder::priority));
    ASSERT_NO_FATAL_FAILURE(leader.run());
    // The number of data (seed mod 7) is the same, the timing differs.
    RandomRun follower(seed + 7 * 1000, random_options(seed, PartOrder::announced));
    follower.announce(leader.started());
    ASSERT_NO_FATAL_FAILURE(follower.run());
    ASSERT_EQ(follower.started(), leader.started());
  }
}

/// Runs `launches` of a random step with random timing, either deriving each anew or replaying one
/// capture; returns the order in which tasks ended, as indices over all launches.
std::vector<std::uint64_t> order_of_ends(std::uint64_t seed, const PlanOptions& options,
                                         const std::vector<CapturedStep::Task>& tasks, int launches,
                                         bool replayed) {
  std::mt19937_64 random(seed);
  Plan plan(options);
  const auto step = std::make_shared<const CapturedStep>(tasks);
  for (int i = 0; i < 8; ++i) plan.add_data();
  const auto n = static_cast<std::uint64_t>(tasks.size());
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> number_of;
  std::uint64_t submitted = 0, finished = 0;
  std::vector<std::uint64_t> ends;
  std::vector<TaskId> running;
  std::vector<PartDecision> in_flight;
  const auto submit = [&] {
    if (replayed && !plan.may_launch(*step)) return;
    // Submission may run one launch ahead, as with a scheduler.
    if (!replayed && submitted - finished > n) return;
    const TaskId first = replayed ? plan.launch(step) : TaskId{};
    for (std::uint32_t i = 0; i < tasks.size(); ++i) {
      const auto& task = tasks[i];
      const TaskOptions of_task{.name = task.name, .priority = task.priority};
      const TaskId id = replayed ? step->id_of(i, first)
                        : task.is_collective
                            ? plan.submit_collective(of_task, task.accesses, task.bytes)
                            : plan.submit_compute(of_task, task.accesses);
      number_of[{id.slot, id.generation}] = submitted++;
    }
  };
  const auto end = [&](TaskId id) {
    ends.push_back(number_of.at({id.slot, id.generation}));
    ++finished;
  };
  const std::uint64_t all = n * static_cast<std::uint64_t>(launches);
  for (int idle = 0; finished < all; ++idle) {
    EXPECT_LT(idle, 100'000) << "deadlock";
    if (idle >= 100'000) break;
    if (submitted < all && random() % 8 == 0) submit();
    if (const auto task = plan.next_compute()) running.push_back(*task);
    if (const auto part = plan.next_part()) in_flight.push_back(*part);
    if (!running.empty() && random() % 2) {
      std::swap(running[random() % running.size()], running.back());
      plan.finish_compute(running.back());
      end(running.back());
      running.pop_back();
    }
    if (!in_flight.empty() && random() % 2) {
      std::swap(in_flight[random() % in_flight.size()], in_flight.back());
      const PartDecision part = in_flight.back();
      if (plan.finish_part(part.task, part.bytes)) end(part.task);
      in_flight.pop_back();
    }
  }
  return ends;
}

TEST(Plan, ALaunchedStepKeepsTheOrderOfConflictingAccesses) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<CapturedStep::Task> tasks(1 + random() % 12);
    for (auto& task : tasks) {
      task.priority = static_cast<std::uint32_t>(random() % 4);
      task.is_collective = random() % 3 == 0;
      task.bytes = task.is_collective ? static_cast<std::int64_t>(random() % 900) : 0;
      for (auto n = random() % 4; n > 0; --n) {
        task.accesses.push_back({DataId{static_cast<std::uint32_t>(random() % 5)},
                                 static_cast<AccessMode>(random() % 3)});
      }
    }
    const auto options = random_options(seed, seed % 2 ? PartOrder::fifo : PartOrder::priority);
    const bool replayed = seed % 3 != 0;
    const auto ends = order_of_ends(seed, options, tasks, 6, replayed);
    const auto n = tasks.size();
    ASSERT_EQ(ends.size(), 6 * n);
    std::vector<std::size_t> place(ends.size(), ~std::size_t{0});
    for (std::size_t i = 0; i < ends.size(); ++i) {
      ASSERT_EQ(place[ends[i]], ~std::size_t{0}) << "a task ended twice";
      place[ends[i]] = i;
    }
    const auto conflict = [&](std::size_t a, std::size_t b) {
      for (const Access& x : tasks[a % n].accesses) {
        for (const Access& y : tasks[b % n].accesses) {
          if (x.data == y.data && (x.mode != AccessMode::read || y.mode != AccessMode::read))
            return true;
        }
      }
      return false;
    };
    for (std::size_t a = 0; a < ends.size(); ++a) {
      for (std::size_t b = a + 1; b < ends.size(); ++b) {
        if (conflict(a, b)) {
          ASSERT_LT(place[a], place[b]) << a << " before " << b;
        }
      }
    }
  }
}

TEST(Plan, TheSameCallsGiveTheSameDecisions) {
  RandomRun a(3, random_options(3, PartOrder::priority)),
      b(3, random_options(3, PartOrder::priority));
  a.run();
  b.run();
  EXPECT_EQ(a.started(), b.started());
}

}  // namespace
}  // namespace hocket
