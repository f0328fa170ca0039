#include "core/step/hidden_knob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <tuple>
#include <utility>

#include "core/sim/simulator.h"
#include "core/step/knob.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr std::int64_t kKiB = 1 << 10, kMiB = 1 << 20;

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs pairs(const ScheduleConfig& config, const StepSizes& step = {}) {
  Pairs all;
  for (const HiddenKnob& hidden : hidden_knobs(config, step)) {
    EXPECT_THAT(hidden.text, HasSubstr(hidden.knob));
    EXPECT_THAT(hidden.text, HasSubstr(hidden.by));
    EXPECT_EQ(hidden.text.find('\n'), std::string::npos);
    all.emplace_back(hidden.knob, hidden.by);
  }
  return all;
}

TEST(HiddenKnobs, AreNotInTheDefault) {
  EXPECT_THAT(pairs({}), IsEmpty());
}

TEST(HiddenKnobs, PartitionBytesDecidesUnderALargerBucket) {
  ScheduleConfig config;
  config.bucket_bytes = 64 * kMiB;
  EXPECT_THAT(pairs(config), ElementsAre(Pair("bucket_bytes", "partition_bytes")));
  EXPECT_THAT(hidden_knobs(config).front().text,
              AllOf(HasSubstr("partition_bytes=4MiB decides, not bucket_bytes=64MiB: "),
                    HasSubstr("set partition_bytes=64MiB")));
  config.bucket_bytes = config.partition_bytes;
  EXPECT_THAT(pairs(config), IsEmpty());
  config.bucket_bytes = config.partition_bytes + 1;
  EXPECT_THAT(hidden_knobs(config).front().text, HasSubstr("decides, not bucket_bytes=4194305: "));
}

TEST(HiddenKnobs, AWindowBelowAPartAdmitsOneAtATimeAndLeavesChannelsEmpty) {
  ScheduleConfig config;
  config.credit_bytes = 1 * kMiB;
  EXPECT_THAT(pairs(config), ElementsAre(Pair("credit_bytes", "partition_bytes")));
  config.comm_channels = 2;
  EXPECT_THAT(pairs(config), ElementsAre(Pair("credit_bytes", "partition_bytes"),
                                         Pair("comm_channels", "credit_bytes")));
  config.credit_bytes = 8 * kMiB;
  EXPECT_THAT(pairs(config), IsEmpty());
  config.comm_channels = 3;
  EXPECT_THAT(pairs(config), ElementsAre(Pair("comm_channels", "credit_bytes")));
  EXPECT_THAT(hidden_knobs(config).front().text,
              AllOf(HasSubstr("room for 2 parts of 4MiB"), HasSubstr("set credit_bytes=12MiB")));
}

TEST(HiddenKnobs, PartsAreNoLargerThanBucketsAndCollectives) {
  ScheduleConfig config;
  config.partition_bytes = 1024 * kMiB;
  EXPECT_THAT(pairs(config), ElementsAre(Pair("credit_bytes", "partition_bytes")));
  EXPECT_THAT(pairs(config, {.largest_collective_bytes = 16 * kMiB}), IsEmpty());
  EXPECT_THAT(pairs(config, {.largest_collective_bytes = 17 * kMiB}),
              ElementsAre(Pair("credit_bytes", "the step")));
  config.bucket_bytes = 16 * kMiB;
  EXPECT_THAT(pairs(config), IsEmpty());
  config.bucket_bytes = 25 * kMiB;
  EXPECT_THAT(pairs(config), ElementsAre(Pair("credit_bytes", "bucket_bytes")));
}

TEST(HiddenKnobs, ChannelsBeyondThePartsOfAStepStayEmpty) {
  ScheduleConfig config;
  config.comm_channels = 4;
  EXPECT_THAT(pairs(config, {.parts = 4}), IsEmpty());
  EXPECT_THAT(pairs(config, {.parts = 3}), ElementsAre(Pair("comm_channels", "the step")));
  EXPECT_THAT(hidden_knobs(config, {.parts = 1}).front().text, HasSubstr("has only 1 part,"));
  EXPECT_THAT(pairs(config, {.parts = 0}), IsEmpty());
}

TEST(HiddenKnobs, AGraphNeedsAnOrderThatIsKnownBefore) {
  ScheduleConfig config;
  config.order = CollectiveOrder::negotiated;
  EXPECT_THAT(pairs(config), IsEmpty());
  config.order = CollectiveOrder::fifo;
  config.step_issue = StepIssue::graph;
  EXPECT_THAT(pairs(config), IsEmpty());
  config.order = CollectiveOrder::negotiated;
  EXPECT_THAT(pairs(config), ElementsAre(Pair("step_issue", "order")));
}

TEST(HiddenKnobs, OnlySumsOverServersArePulled) {
  ScheduleConfig config;
  config.pull_credit_bytes = 8 << 20;
  const auto found = hidden_knobs(config);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].knob, "pull_credit_bytes");
  EXPECT_EQ(found[0].by, "communication");
  config.communication = Communication::parameter_server;
  EXPECT_TRUE(hidden_knobs(config).empty());
  config.communication = Communication::all_reduce;
  config.pull_credit_bytes = 0;
  EXPECT_TRUE(hidden_knobs(config).empty());
}

TEST(HiddenKnobs, RegionsAreCheckedWithTheirOwnValues) {
  ScheduleConfig config;
  config.regions["a"].bucket_bytes = 8 * kMiB;
  EXPECT_THAT(pairs(config), ElementsAre(Pair("regions.a.bucket_bytes", "partition_bytes")));
  config.regions["a"].partition_bytes = 8 * kMiB;
  config.regions["b"].partition_bytes = 32 * kMiB;
  EXPECT_THAT(pairs(config), ElementsAre(Pair("credit_bytes", "regions.b.partition_bytes")));
  config.bucket_bytes = 5 * kMiB;
  EXPECT_THAT(pairs(config), testing::Contains(Pair("bucket_bytes", "partition_bytes")));
}

/// A step of equal collectives on a link that all parts share, so that neither the sizes of parts
/// nor unused channels make a difference of their own.
StepDescription equal_layers(std::mt19937_64& random, std::int64_t bytes) {
  StepDescription step;
  step.layers.resize(1 + random() % 8);
  for (StepLayer& layer : step.layers) {
    layer.parameter_bytes = bytes;
    layer.forward_ns = static_cast<std::int64_t>(random() % 2'000'000);
    layer.backward_ns = static_cast<std::int64_t>(random() % 2'000'000);
  }
  step.collective = {static_cast<double>(random() % 50'000), 1,
                     static_cast<double>(random() % 50'000)};
  step.channel_split = 0;
  return step;
}

std::int64_t predicted_ns(const StepDescription& step, const ScheduleConfig& config) {
  const auto simulation = simulate(step, {.config = config});
  EXPECT_TRUE(simulation) << simulation.error().message;
  return simulation ? simulation->iteration_ns : -1;
}

TEST(HiddenKnobs, OtherValuesThatAreHiddenAsWellPredictTheSame) {
  int checked = 0;
  for (std::uint64_t seed = 1; seed <= rounds(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    ScheduleConfig config;
    config.partition_bytes = kMiB;
    config.credit_bytes = (64 << (random() % 6)) * kKiB;  // 64 KiB to 2 MiB
    config.comm_channels = static_cast<int>(1 + random() % 4);
    const std::int64_t bytes = kMiB * static_cast<std::int64_t>(1 + random() % 4);
    const StepDescription step = equal_layers(random, bytes);
    const std::int64_t iteration_ns = predicted_ns(step, config);
    for (const auto& [knob, by] : pairs(config, {.largest_collective_bytes = bytes})) {
      ++checked;
      ScheduleConfig other = config;
      if (knob == "credit_bytes") other.credit_bytes = 4 * kKiB;
      if (knob == "comm_channels") {
        other.comm_channels =
            static_cast<int>(std::max<std::int64_t>(config.credit_bytes / kMiB, 1));
      }
      ASSERT_NE(other, config) << knob;
      EXPECT_EQ(predicted_ns(step, other), iteration_ns) << knob << " by " << by;
    }
  }
  EXPECT_GT(checked, 20);
}

}  // namespace
}  // namespace hocket
