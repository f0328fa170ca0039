#include "core/scheduler/step_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace hocket {
namespace {

using testing::HasSubstr;

/// A step of collectives, each with one task before and one after, and the tasks as submitted.
class Steps {
 public:
  explicit Steps(std::uint32_t layers) : layers_(layers) {}

  std::vector<StepFollower::Task> tasks() const {
    std::vector<StepFollower::Task> tasks;
    for (std::uint32_t i = 0; i < layers_; ++i) {
      tasks.push_back({.name = "backward", .priority = i, .accesses = {&accesses_[3 * i], 1}});
      tasks.push_back({.name = "sum",
                       .priority = i,
                       .collective = CollectiveKind::all_reduce,
                       .bytes = 40'000,
                       .accesses = {&accesses_[3 * i + 1], 1}});
      tasks.push_back({.name = "update", .priority = i, .accesses = {&accesses_[3 * i + 2], 1}});
    }
    return tasks;
  }

 private:
  const std::uint32_t layers_;
  inline static const std::vector<Access> accesses_ = [] {
    std::vector<Access> all;
    for (std::uint32_t i = 0; i < 20; ++i) {
      all.push_back(write(DataId{i}));
      all.push_back(update(DataId{i}));
      all.push_back(read(DataId{i}));
    }
    return all;
  }();
};

ScheduleConfig scattered() {
  ScheduleConfig config;
  config.partition_bytes = 16'384;
  config.primitive = CollectivePrimitive::reduce_scatter_all_gather;
  config.launch = CollectiveLaunch::deferred;
  return config;
}

TEST(StepFollower, LearnsTheFirstStepAndThenGivesEachPieceOnce) {
  StepFollower follower({2, 1});
  ASSERT_TRUE(follower.configure(scattered()));
  const auto tasks = Steps(3).tasks();
  for (const auto& task : tasks) {
    follower.submitted(task);
    EXPECT_EQ(follower.state(), StepFollower::State::learning);
  }
  ASSERT_TRUE(follower.end_step());
  EXPECT_EQ(follower.submitted_data(), 3u);
  for (int step = 0; step < 2; ++step) {
    std::uint32_t next = 0;
    for (std::uint32_t i = 0; i < tasks.size(); ++i) {
      const auto pieces = follower.submitted(tasks[i]);
      ASSERT_EQ(follower.state(), StepFollower::State::following);
      EXPECT_EQ(pieces.first, next);
      next = pieces.last;
      // Every source of the piece was submitted.
      for (std::uint32_t piece = pieces.first; piece < pieces.last; ++piece) {
        EXPECT_LE(std::ranges::max(follower.partitioned().origins[piece].sources), i);
      }
    }
    EXPECT_EQ(next, follower.partitioned().origins.size());
    EXPECT_GT(next, tasks.size());
    const auto ended = follower.end_step();
    ASSERT_TRUE(ended);
    EXPECT_FALSE(*ended);
  }
}

TEST(StepFollower, WhatIsLeftOfAStepThatStraysIsAllThatCame) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    ScheduleConfig config = scattered();
    config.bucket_bytes = random() % 2 == 0 ? 0 : 120'000;
    StepFollower follower({2, 1});
    ASSERT_TRUE(follower.configure(config));
    const auto tasks = Steps(5).tasks();
    for (const auto& task : tasks) follower.submitted(task);
    ASSERT_TRUE(follower.end_step());

    const auto came = static_cast<std::uint32_t>(random() % tasks.size());
    std::vector<std::uint32_t> pieces;
    for (std::uint32_t i = 0; i < came; ++i) {
      const auto range = follower.submitted(tasks[i]);
      for (std::uint32_t piece = range.first; piece < range.last; ++piece) pieces.push_back(piece);
    }
    const bool is_short = random() % 2 == 0;
    if (is_short) {
      const auto ended = follower.end_step();
      ASSERT_TRUE(ended);
      EXPECT_TRUE(*ended);
    } else {
      follower.submitted({.name = "another"});
    }
    ASSERT_EQ(follower.state(), StepFollower::State::strayed);
    std::vector<std::uint32_t> alone;
    for (const auto& rest : follower.rest()) (rest.is_piece ? pieces : alone).push_back(rest.index);
    EXPECT_TRUE(std::ranges::is_sorted(pieces));
    // Each submitted task is present in all its pieces, or as a whole.
    for (std::uint32_t piece = 0; piece < follower.partitioned().origins.size(); ++piece) {
      const auto& sources = follower.partitioned().origins[piece].sources;
      const bool complete = std::ranges::max(sources) < came;
      EXPECT_EQ(std::ranges::count(pieces, piece), complete ? 1 : 0);
      for (const std::uint32_t source : sources) {
        if (complete || source >= came) continue;
        EXPECT_EQ(std::ranges::count(alone, source), 1);
      }
    }
    ASSERT_TRUE(follower.end_step());
    EXPECT_EQ(follower.state(), StepFollower::State::learning);
  }
}

TEST(StepFollower, AnythingElseIsAnotherStep) {
  const auto tasks = Steps(2).tasks();
  const TaskPlace place;
  const std::vector<Access> other{read(DataId{0}), read(DataId{1})};
  for (int change = 0; change < 6; ++change) {
    SCOPED_TRACE(change);
    StepFollower follower({2, 1});
    ASSERT_TRUE(follower.configure(scattered()));
    for (const auto& task : tasks) follower.submitted(task);
    ASSERT_TRUE(follower.end_step());
    follower.submitted(tasks[0]);
    auto changed = tasks[1];
    if (change == 1) changed.name = "other";
    if (change == 2) changed.priority = 9;
    if (change == 3) changed.bytes = 8;
    if (change == 4) changed.place = &place;
    if (change == 5) changed.accesses = other;
    follower.submitted(changed);
    EXPECT_EQ(follower.state(),
              change == 0 ? StepFollower::State::following : StepFollower::State::strayed);
  }
}

TEST(StepFollower, ErrorsOfPartitioningComeWhenTheStepIsKnown) {
  StepFollower follower({2, 1});
  ScheduleConfig config;
  config.regions["nowhere"].streams = 1;
  ASSERT_TRUE(follower.configure(config));
  for (const auto& task : Steps(1).tasks()) follower.submitted(task);
  const auto ended = follower.end_step();
  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.error().message, HasSubstr("nowhere"));
}

TEST(StepFollower, AConfigurationThatDoesNotFitChangesNothing) {
  StepFollower follower({2, 1});
  ASSERT_TRUE(follower.configure(scattered()));
  for (const auto& task : Steps(1).tasks()) follower.submitted(task);
  ASSERT_TRUE(follower.end_step());
  const std::uint64_t version = follower.version();
  ScheduleConfig config;
  config.group_ranks = 7;
  EXPECT_FALSE(follower.configure(config));
  EXPECT_EQ(follower.version(), version);
  EXPECT_TRUE(follower.configure(ScheduleConfig{}));
  EXPECT_NE(follower.version(), version);
}

}  // namespace
}  // namespace hocket
