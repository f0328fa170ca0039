#include "core/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace hocket {
namespace {

std::vector<Access> updates(DataId data) {
  return {update(data)};
}

TEST(Plan, AMoreUrgentCollectiveOvertakesAtAPartsBoundary) {
  Plan plan({.partition_bytes = 64, .credit_bytes = 64, .order = PartOrder::priority});
  const TaskId slow = plan.submit_collective(9, updates(plan.add_data()), 192);
  const auto first = plan.next_part();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->task, slow);
  const TaskId urgent = plan.submit_collective(1, updates(plan.add_data()), 64);
  EXPECT_FALSE(plan.next_part()) << "the window is full";
  plan.finish_part(slow, first->bytes);
  EXPECT_EQ(plan.next_part()->task, urgent);
}

TEST(Plan, FifoKeepsTheOrderOfSubmissionEvenWhenALaterOneIsReadyFirst) {
  Plan plan({.partition_bytes = 1 << 20, .credit_bytes = 1 << 20, .order = PartOrder::fifo});
  const DataId gradient = plan.add_data();
  plan.submit_compute(0, updates(gradient));
  const TaskId first = plan.submit_collective(9, updates(gradient), 64);
  plan.submit_collective(1, updates(plan.add_data()), 64);
  EXPECT_FALSE(plan.next_part())
      << "the first collective waits for its data, the second for its turn";
  plan.finish_compute(*plan.next_compute());
  EXPECT_EQ(plan.next_part()->task, first);
}

TEST(Plan, APartLargerThanTheWindowGoesAlone) {
  Plan plan({.partition_bytes = 1 << 20, .credit_bytes = 4096, .order = PartOrder::priority});
  const TaskId small = plan.submit_collective(0, updates(plan.add_data()), 64);
  const TaskId large = plan.submit_collective(1, updates(plan.add_data()), 8192);
  ASSERT_EQ(plan.next_part()->task, small);
  EXPECT_FALSE(plan.next_part());
  plan.finish_part(small, 64);
  ASSERT_EQ(plan.next_part()->task, large);
  EXPECT_EQ(plan.in_flight_bytes(), 8192);
}

TEST(Plan, AnEmptyCollectiveIsOnePartOfNoBytes) {
  Plan plan({.partition_bytes = 64, .credit_bytes = 64});
  const TaskId empty = plan.submit_collective(0, updates(plan.add_data()), 0);
  const auto part = plan.next_part();
  ASSERT_TRUE(part);
  EXPECT_EQ(part->bytes, 0);
  EXPECT_TRUE(plan.finish_part(empty, 0));
  EXPECT_EQ(plan.unfinished(), 0u);
}

/// Drives a random plan to its end with random timing and checks its laws on the way.
class RandomRun {
 public:
  RandomRun(std::uint64_t seed, const PlanOptions& options)
      : random_(seed), options_(options), plan_(options) {
    for (std::size_t i = 0; i < 1 + seed % 7; ++i) data_.push_back(plan_.add_data());
  }

  void run() {
    for (int i = 0; i < 40; ++i) {
      submit();
      for (auto n = random_() % 4; n > 0; --n) advance();
    }
    while (plan_.unfinished() > 0) {
      const std::size_t before =
          plan_.unfinished() + running_.size() + in_flight_.size() + started_.size();
      advance();
      stalls_ = before == plan_.unfinished() + running_.size() + in_flight_.size() + started_.size()
                    ? stalls_ + 1
                    : 0;
      ASSERT_LT(stalls_, 1000) << "deadlock";
    }
    for (const auto& [task, bytes] : bytes_) ASSERT_EQ(started_bytes_[task], bytes);
  }

  /// Which collective each started part belongs to, in order.
  const std::vector<std::uint64_t>& started() const { return started_; }
  void announce(const std::vector<std::uint64_t>& order) { plan_.announce(order); }

 private:
  void submit() {
    std::vector<Access> accesses;
    // What is submitted must not depend on timing, so it has a generator of its own.
    for (auto n = submissions_() % 3; n > 0; --n) {
      accesses.push_back(
          {data_[submissions_() % data_.size()], static_cast<AccessMode>(submissions_() % 3)});
    }
    const auto priority = static_cast<std::uint32_t>(submissions_() % 5);
    if (submissions_() % 2) {
      plan_.submit_compute(priority, accesses);
    } else {
      const auto bytes = static_cast<std::int64_t>(submissions_() % 1000);
      plan_.submit_collective(priority, accesses, bytes);
      bytes_[bytes_.size()] = bytes;
    }
  }

  void advance() {
    switch (random_() % 4) {
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
      default:
        if (!in_flight_.empty()) {
          std::swap(in_flight_[random_() % in_flight_.size()], in_flight_.back());
          plan_.finish_part(in_flight_.back().task, in_flight_.back().bytes);
          in_flight_.pop_back();
        }
    }
  }

  void start(const PartDecision& part) {
    ASSERT_LE(part.bytes, std::max(options_.partition_bytes, std::int64_t{64}));
    ASSERT_EQ(part.offset_bytes, started_bytes_[part.collective])
        << "parts start in order, each once";
    started_bytes_[part.collective] += part.bytes;
    in_flight_.push_back(part);
    started_.push_back(part.collective);
    ASSERT_TRUE(plan_.in_flight_bytes() <= options_.credit_bytes || in_flight_.size() == 1)
        << "credit exceeded";
    if (options_.order == PartOrder::fifo && started_.size() > 1) {
      ASSERT_LE(started_[started_.size() - 2], started_.back());
    }
  }

  std::mt19937_64 random_;
  std::mt19937_64 submissions_{5};
  const PlanOptions options_;
  Plan plan_;
  std::vector<DataId> data_;
  std::vector<TaskId> running_;
  std::vector<PartDecision> in_flight_;
  std::vector<std::uint64_t> started_;
  std::map<std::uint64_t, std::int64_t> bytes_, started_bytes_;
  int stalls_ = 0;
};

PlanOptions random_options(std::uint64_t seed, PartOrder order) {
  std::mt19937_64 random(seed);
  return {.partition_bytes = static_cast<std::int64_t>(1 + random() % 600),
          .credit_bytes = static_cast<std::int64_t>(1 + random() % 1200),
          .order = order};
}

TEST(Plan, RandomRunsFinishWithinTheCreditWindowEachPartOnce) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    RandomRun run(seed, random_options(seed, seed % 2 ? PartOrder::fifo : PartOrder::priority));
    ASSERT_NO_FATAL_FAILURE(run.run());
  }
}

TEST(Plan, AFollowerStartsPartsInTheAnnouncedOrderWhateverItsTiming) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    RandomRun leader(seed, random_options(seed, PartOrder::priority));
    ASSERT_NO_FATAL_FAILURE(leader.run());
    // The same data count (seed mod 7), other timing.
    RandomRun follower(seed + 7 * 1000, random_options(seed, PartOrder::announced));
    follower.announce(leader.started());
    ASSERT_NO_FATAL_FAILURE(follower.run());
    ASSERT_EQ(follower.started(), leader.started());
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
