#include "core/scheduler/step_substitution.h"

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

  std::vector<StepSubstitution::Task> tasks() const {
    std::vector<StepSubstitution::Task> tasks;
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

TEST(StepSubstitution, RecognisesTheFirstStepAndThenGivesEachPieceOnce) {
  StepSubstitution substitution({2, 1});
  ASSERT_TRUE(substitution.configure(scattered()));
  const auto tasks = Steps(3).tasks();
  for (const auto& task : tasks) {
    substitution.submitted(task);
    EXPECT_EQ(substitution.state(), StepSubstitution::State::recognising);
  }
  ASSERT_TRUE(substitution.end_step());
  EXPECT_EQ(substitution.submitted_data(), 3u);
  for (int step = 0; step < 2; ++step) {
    std::uint32_t next = 0;
    for (std::uint32_t i = 0; i < tasks.size(); ++i) {
      const auto pieces = substitution.submitted(tasks[i]);
      ASSERT_EQ(substitution.state(), StepSubstitution::State::recognised);
      EXPECT_EQ(pieces.first, next);
      next = pieces.last;
      // Every source of the piece was submitted.
      for (std::uint32_t piece = pieces.first; piece < pieces.last; ++piece) {
        EXPECT_LE(std::ranges::max(substitution.partitioned().origins[piece].sources), i);
      }
    }
    EXPECT_EQ(next, substitution.partitioned().origins.size());
    EXPECT_GT(next, tasks.size());
    const auto ended = substitution.end_step();
    ASSERT_TRUE(ended);
    EXPECT_FALSE(*ended);
  }
}

TEST(StepSubstitution, TheRestOfAStepThatDeviatesIsAllThatCame) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    ScheduleConfig config = scattered();
    config.bucket_bytes = random() % 2 == 0 ? 0 : 120'000;
    StepSubstitution substitution({2, 1});
    ASSERT_TRUE(substitution.configure(config));
    const auto tasks = Steps(5).tasks();
    for (const auto& task : tasks) substitution.submitted(task);
    ASSERT_TRUE(substitution.end_step());

    const auto came = static_cast<std::uint32_t>(random() % tasks.size());
    std::vector<std::uint32_t> pieces;
    for (std::uint32_t i = 0; i < came; ++i) {
      const auto range = substitution.submitted(tasks[i]);
      for (std::uint32_t piece = range.first; piece < range.last; ++piece) pieces.push_back(piece);
    }
    const bool is_short = random() % 2 == 0;
    if (is_short) {
      const auto ended = substitution.end_step();
      ASSERT_TRUE(ended);
      EXPECT_TRUE(*ended);
    } else {
      substitution.submitted({.name = "another"});
    }
    ASSERT_EQ(substitution.state(), StepSubstitution::State::deviated);
    std::vector<std::uint32_t> alone;
    for (const auto& rest : substitution.rest())
      (rest.is_piece ? pieces : alone).push_back(rest.index);
    EXPECT_TRUE(std::ranges::is_sorted(pieces));
    // Each submitted task is present in all its pieces, or as a whole.
    for (std::uint32_t piece = 0; piece < substitution.partitioned().origins.size(); ++piece) {
      const auto& sources = substitution.partitioned().origins[piece].sources;
      const bool complete = std::ranges::max(sources) < came;
      EXPECT_EQ(std::ranges::count(pieces, piece), complete ? 1 : 0);
      for (const std::uint32_t source : sources) {
        if (complete || source >= came) continue;
        EXPECT_EQ(std::ranges::count(alone, source), 1);
      }
    }
    ASSERT_TRUE(substitution.end_step());
    EXPECT_EQ(substitution.state(), StepSubstitution::State::recognising);
  }
}

TEST(StepSubstitution, AnythingElseIsAnotherStep) {
  const auto tasks = Steps(2).tasks();
  const TaskPlace place;
  const std::vector<Access> other{read(DataId{0}), read(DataId{1})};
  for (int change = 0; change < 6; ++change) {
    SCOPED_TRACE(change);
    StepSubstitution substitution({2, 1});
    ASSERT_TRUE(substitution.configure(scattered()));
    for (const auto& task : tasks) substitution.submitted(task);
    ASSERT_TRUE(substitution.end_step());
    substitution.submitted(tasks[0]);
    auto changed = tasks[1];
    if (change == 1) changed.name = "other";
    if (change == 2) changed.priority = 9;
    if (change == 3) changed.bytes = 8;
    if (change == 4) changed.place = &place;
    if (change == 5) changed.accesses = other;
    substitution.submitted(changed);
    EXPECT_EQ(substitution.state(), change == 0 ? StepSubstitution::State::recognised
                                                : StepSubstitution::State::deviated);
  }
}

TEST(StepSubstitution, ErrorsOfPartitioningComeWhenTheStepIsKnown) {
  StepSubstitution substitution({2, 1});
  ScheduleConfig config;
  config.regions["nowhere"].streams = 1;
  ASSERT_TRUE(substitution.configure(config));
  for (const auto& task : Steps(1).tasks()) substitution.submitted(task);
  const auto ended = substitution.end_step();
  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.error().message, HasSubstr("nowhere"));
}

TEST(StepSubstitution, AConfigurationThatDoesNotFitChangesNothing) {
  StepSubstitution substitution({2, 1});
  ASSERT_TRUE(substitution.configure(scattered()));
  for (const auto& task : Steps(1).tasks()) substitution.submitted(task);
  ASSERT_TRUE(substitution.end_step());
  const std::uint64_t version = substitution.version();
  ScheduleConfig config;
  config.group_ranks = 7;
  EXPECT_FALSE(substitution.configure(config));
  EXPECT_EQ(substitution.version(), version);
  EXPECT_TRUE(substitution.configure(ScheduleConfig{}));
  EXPECT_NE(substitution.version(), version);
}

}  // namespace
}  // namespace hocket
