#include "core/protocol/rank_counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/json_reader.h"

namespace hocket {
namespace {

using testing::HasSubstr;

CountedSteps sample() {
  CountedSteps counted{.step = 40, .steps = 2, .ranks = {{}, {.waited_ns = 5}, {.waited_ns = 0}}};
  counted.ranks[1].sending_ns = 7;
  return counted;
}

TEST(RankCounters, ReadWhatWasWritten) {
  const auto read = read_json<CountedSteps>(to_json(sample()), read_counted_steps);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, sample());
}

TEST(RankCounters, WhatNoRankCountsIsNotWritten) {
  const auto document = to_json(sample());
  EXPECT_TRUE(document.contains("waited_ns"));
  EXPECT_FALSE(document.contains("computed_ns"));
}

TEST(RankCounters, EachRankNeedsAValue) {
  auto document = to_json(sample());
  document["waited_ns"] = {1, 2};
  const auto few = read_json<CountedSteps>(document, read_counted_steps);
  ASSERT_FALSE(few);
  EXPECT_THAT(few.error().message, HasSubstr("each of the 3 ranks"));
  document["waited_ns"] = {1, 2, 3, 4};
  EXPECT_FALSE(read_json<CountedSteps>(document, read_counted_steps));
  document["waited_ns"] = {1, 2, -2};
  EXPECT_FALSE(read_json<CountedSteps>(document, read_counted_steps));
  document["waited_ns"] = {1, 2, 3};
  EXPECT_TRUE(read_json<CountedSteps>(document, read_counted_steps));
  document["ranks"] = kMaxCountedRanks + 1;
  EXPECT_FALSE(read_json<CountedSteps>(document, read_counted_steps));
}

TEST(RankCounters, TheLatestAreKept) {
  std::vector<CountedSteps> kept = {{.step = 1, .ranks = {{}, {}}}, {.step = 2, .ranks = {{}, {}}}};
  append_counted(kept, {{.step = 3, .ranks = {{}, {}}}}, 5);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].step, 2);
  EXPECT_EQ(kept[1].step, 3);
  append_counted(kept, {{.step = 4, .ranks = std::vector<RankCounters>(6)}}, 5);
  EXPECT_TRUE(kept.empty());
}

}  // namespace
}  // namespace hocket
