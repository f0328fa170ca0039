#include "core/cuda/streams/stream_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class StreamOrderTest : public testing::Test {
 protected:
  /// Adds a task to `stream` that comes after `after`; returns its waits.
  std::vector<StreamPosition> add(std::uint32_t stream, std::vector<StreamPosition> after) {
    std::vector<StreamPosition> waits;
    order_.find_waits(stream, after, waits);
    order_.add(stream, after, waits);
    return waits;
  }

  StreamOrder order_{3};
};

TEST_F(StreamOrderTest, AStreamKeepsItsOwnOrder) {
  EXPECT_THAT(add(0, {}), IsEmpty());
  EXPECT_THAT(add(0, {{0, 1}}), IsEmpty());
}

TEST_F(StreamOrderTest, AnotherStreamIsWaitedForOnce) {
  add(0, {});
  EXPECT_THAT(add(1, {{0, 1}}), ElementsAre(StreamPosition{0, 1}));
  EXPECT_THAT(add(1, {{0, 1}}), IsEmpty());
  add(0, {});
  EXPECT_THAT(add(1, {{0, 2}}), ElementsAre(StreamPosition{0, 2}));
}

TEST_F(StreamOrderTest, AWaitBringsWhatWasWaitedForBefore) {
  add(0, {});
  add(1, {{0, 1}});
  // Position {0, 1} is implied by stream 1, even if both are requested at once.
  EXPECT_THAT(add(2, {{0, 1}, {1, 1}}), ElementsAre(StreamPosition{1, 1}));
  EXPECT_THAT(add(2, {{0, 1}}), IsEmpty());
}

TEST_F(StreamOrderTest, AWaitBringsNothingThatCameLater) {
  add(1, {});
  add(0, {});
  add(1, {{0, 1}});
  EXPECT_THAT(add(2, {{1, 1}}), ElementsAre(StreamPosition{1, 1}));
  EXPECT_THAT(add(2, {{0, 1}}), ElementsAre(StreamPosition{0, 1}));
}

TEST_F(StreamOrderTest, WhatHasRunIsNotWaitedFor) {
  for (int i = 0; i < 1000; ++i) add(0, {});
  order_.completed({0, 999});
  EXPECT_TRUE(order_.has_completed({0, 999}));
  EXPECT_FALSE(order_.has_completed({0, 1000}));
  EXPECT_THAT(add(1, {{0, 999}}), IsEmpty());
  EXPECT_THAT(add(1, {{0, 1000}}), ElementsAre(StreamPosition{0, 1000}));
}

TEST_F(StreamOrderTest, WhatHasRunSaysThatAllBeforeItHas) {
  add(0, {});
  add(0, {});
  add(1, {{0, 1}});
  order_.completed({1, 1});
  EXPECT_TRUE(order_.has_completed({0, 1}));
  EXPECT_FALSE(order_.has_completed({0, 2}));
}

TEST_F(StreamOrderTest, BeginCountsTheLongestChain) {
  EXPECT_EQ(order_.begin_of(0, {}), 0u);
  add(0, {});
  add(0, {});
  add(1, {{0, 1}});
  const std::vector<StreamPosition> after{{0, 1}, {1, 1}};
  EXPECT_EQ(order_.begin_of(0, {}), 2u);
  EXPECT_EQ(order_.begin_of(1, {}), 2u);
  EXPECT_EQ(order_.begin_of(2, {}), 0u);
  EXPECT_EQ(order_.begin_of(2, after), 2u);
}

}  // namespace
}  // namespace hocket
