// Laws of the plan, checked over random runs.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "core/collective/part_sizes.h"
#include "core/plan/plan.h"

namespace hocket {
namespace {

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
      place_of_data_.clear();
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
    ASSERT_TRUE(part.server >= 0 && part.server < options_.servers);
    const std::pair place(part.server, part.tensor);
    const auto [before, is_first] = place_of_collective_.try_emplace(part.collective, place);
    ASSERT_EQ(before->second, place) << "a small collective is at one server";
    if (!data_of_.contains(part.collective)) return;
    const auto [known, is_new] = place_of_data_.try_emplace(data_of_[part.collective], place);
    ASSERT_EQ(known->second, place) << "the same data are at the same server";
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
  std::map<std::uint64_t, std::pair<int, std::uint32_t>> place_of_collective_;
  std::map<std::uint32_t, std::pair<int, std::uint32_t>> place_of_data_;
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
