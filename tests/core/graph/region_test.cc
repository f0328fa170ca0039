#include "core/graph/region.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/graph.h"

namespace hocket {
namespace {

using testing::HasSubstr;

TEST(Region, HasAModelsNameAndMarks) {
  const std::string region = "block3.attention/backward/micro_batch12";
  EXPECT_EQ(model_region(region), "block3.attention");
  EXPECT_EQ(model_region("block3"), "block3");
  EXPECT_EQ(model_region("/backward"), "");
  EXPECT_TRUE(has_mark(region, kBackward));
  EXPECT_FALSE(has_mark(region, kRecomputed));
  EXPECT_FALSE(has_mark("a/backwards", kBackward));
  EXPECT_TRUE(has_mark("a/backwards/backward", kBackward));
  EXPECT_EQ(micro_batch_of(region), 12);
  EXPECT_EQ(micro_batch_of("a/micro_batch0/update"), 0);
  EXPECT_EQ(micro_batch_of("a/micro_batchx"), std::nullopt);
  EXPECT_EQ(micro_batch_of("a/micro_batch1x"), std::nullopt);
  EXPECT_EQ(micro_batch_of("a"), std::nullopt);
}

TEST(Region, IsMatchedByPatternsOfPaths) {
  EXPECT_EQ(matched_region("block*", "block3.attention/backward"), "block3");
  EXPECT_EQ(matched_region("block*.attention", "block3.attention.heads"), "block3.attention");
  EXPECT_EQ(matched_region("block3", "block3"), "block3");
  EXPECT_EQ(matched_region("*", "head.norm"), "head");
  EXPECT_EQ(matched_region("b*c*3", "blocck3"), "blocck3");
  EXPECT_EQ(matched_region("b*ck3", "blockk3"), std::nullopt);
  EXPECT_EQ(matched_region("block3", "block31"), std::nullopt);
  EXPECT_EQ(matched_region("block3.mlp", "block3"), std::nullopt);
  EXPECT_EQ(matched_region("block3.mlp", "block3.attention"), std::nullopt);
  EXPECT_EQ(matched_region("*", ""), std::nullopt);
}

TEST(Region, PatternsThatCanMatchNothingAreRefused) {
  EXPECT_TRUE(check_region_pattern("block*.attention"));
  EXPECT_THAT(check_region_pattern("block3/backward").error().message, HasSubstr("without \"/\""));
  EXPECT_FALSE(check_region_pattern(""));
  EXPECT_FALSE(check_region_pattern("block 3"));
  EXPECT_FALSE(check_region_pattern(std::string(kMostNameBytes + 1, 'x')));
}

}  // namespace
}  // namespace hocket
