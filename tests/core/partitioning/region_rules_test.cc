#include "core/partitioning/region_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/partitioning/fixtures.h"

namespace hocket::partitioning {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

StepDescription two_layers() {
  StepTask product = computation("product", {write(DataId{0})}, "backward_layer1");
  product.place.dimensions = {{"rows", DimensionKind::outer, 4, {}},
                              {"softmax", DimensionKind::normalized, 4, {}}};
  auto step = step_of(2, {product, all_reduce("sum", 1024, 0, "backward_layer1"),
                          computation("next", {update(DataId{1})}, "forward_layer1")});
  step.ranks = 8;
  step.ranks_per_host = 4;
  return step;
}

std::string error_of(const ScheduleConfig& config, const StepDescription& step = two_layers()) {
  const auto rules = resolve_rules(step, config);
  EXPECT_FALSE(rules);
  if (rules) return "";
  EXPECT_EQ(rules.error().code, ErrorCode::invalid_argument);
  return rules.error().message;
}

TEST(Rules, OfARegionAreTheConfigurationsButForWhatItOverrides) {
  ScheduleConfig config;
  config.bucket_bytes = 4096;
  config.group_ranks = 4;
  config.regions["backward_layer1"].partition_bytes = 8192;
  config.regions["backward_layer1"].group_ranks = 1;
  config.regions["backward_layer1"].priority = 3;
  const auto rules = resolve_rules(two_layers(), config);
  ASSERT_TRUE(rules);
  EXPECT_EQ(rules->of(0).partition_bytes, 8192);
  EXPECT_EQ(rules->of(1).bucket_bytes, 4096);
  EXPECT_FALSE(rules->of(0).grouped);
  EXPECT_EQ(rules->of(0).priority, 3u);
  EXPECT_EQ(rules->of(2).partition_bytes, config.partition_bytes);
  EXPECT_TRUE(rules->of(2).grouped);
  EXPECT_FALSE(rules->of(2).priority);
}

TEST(Rules, AnUnknownRegionIsNamedWithTheNearestKnownOne) {
  ScheduleConfig config;
  config.regions["backward_layer_1"].priority = 0;
  EXPECT_THAT(error_of(config),
              AllOf(StartsWith("regions.backward_layer_1: "), HasSubstr("\"backward_layer1\"")));
  auto step = two_layers();
  for (StepTask& task : step.tasks) task.place.region.clear();
  EXPECT_THAT(error_of(config, step), HasSubstr("nor any other"));
}

TEST(Rules, AGroupIsAHost) {
  ScheduleConfig config;
  config.group_ranks = 3;
  EXPECT_THAT(error_of(config), AllOf(StartsWith("group_ranks: "), HasSubstr("8 ranks")));
  config.group_ranks = 2;
  EXPECT_THAT(error_of(config), AllOf(StartsWith("group_ranks: "), HasSubstr("bandwidth")));
  config.group_ranks = 16;
  EXPECT_THAT(error_of(config), StartsWith("group_ranks: "));
  config.group_ranks = 4;
  EXPECT_TRUE(resolve_rules(two_layers(), config));
  config.regions["forward_layer1"].group_ranks = 2;
  EXPECT_THAT(error_of(config), StartsWith("regions.forward_layer1.group_ranks: "));
}

TEST(Rules, ADimensionExistsAndMayBeDivided) {
  ScheduleConfig config;
  auto& region = config.regions["backward_layer1"];
  region.dimension = "rows";
  region.compute_parts = 2;
  EXPECT_TRUE(resolve_rules(two_layers(), config));
  region.dimension = "columns";
  EXPECT_THAT(error_of(config), AllOf(StartsWith("regions.backward_layer1.dimension: "),
                                      HasSubstr("\"rows\", \"softmax\"")));
  region.dimension = "softmax";
  EXPECT_THAT(error_of(config), AllOf(StartsWith("regions.backward_layer1.dimension: "),
                                      HasSubstr("\"product\""), HasSubstr("never divided")));
  // The region itself must have the dimension, regardless of other regions.
  config.regions.clear();
  config.regions["forward_layer1"].compute_parts = 2;
  config.regions["forward_layer1"].dimension = "rows";
  EXPECT_THAT(error_of(config),
              AllOf(StartsWith("regions.forward_layer1.dimension: "), HasSubstr("nor any other")));
}

}  // namespace
}  // namespace hocket::partitioning
