#include "job/run/job_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/core/host/ranks.h"
#include "tests/job/toy_model.h"
#include "tests/scoped_environment.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(JobStart, AConfigurationIsDescribedByWhatDiffers) {
  EXPECT_EQ(describe_config({}, ""), "partition 4194304 B, credit 16777216 B, 1 stream, fifo");
  EXPECT_EQ(
      describe_config({.streams = 2, .order = CollectiveOrder::negotiated, .compute_parts = 4}, ""),
      "partition 4194304 B, credit 16777216 B, 2 streams, negotiated, compute_parts 4");
  EXPECT_THAT(describe_config({.communication = Communication::parameter_server}, ""),
              HasSubstr(", parameter servers"));
  EXPECT_THAT(describe_config({.step_issue = StepIssue::graph}, ""),
              HasSubstr(", steps as graphs"));
}

TEST(JobStart, ThePlacementIsDescribedByItsLayers) {
  const ScheduleConfig config{.offload_k = 3, .prefetch_layers = 2};
  EXPECT_EQ(describe_offload(config, {}, 8), "offload_k 3 of 8 layers, prefetch_layers 2");
  EXPECT_EQ(describe_offload(config, {}, 3), "offload_k of all 3 layers, prefetch_layers 2");
  EXPECT_EQ(describe_offload(config, {.source = OffloadK::Source::measured}, 8),
            "offload_k to be measured, prefetch_layers 2");
  EXPECT_THAT(describe_config(config, describe_offload(config, {}, 8)),
              HasSubstr("fifo, offload_k 3 of 8"));
}

TEST(JobStart, AJobCanRunWhatItsKindAllows) {
  const ValuesByKnob alone = *runnable_values({}).start;
  EXPECT_THAT(alone.at("group_ranks").numbers, ElementsAre(1));
  EXPECT_THAT(alone.at("communication").words, ElementsAre("all_reduce"));
  EXPECT_FALSE(runnable_values({}).running);
  const ValuesByKnob served = *runnable_values({.ranks_per_host = 4, .servers = 2}).start;
  EXPECT_THAT(served.at("group_ranks").numbers, ElementsAre(1, 4));
  EXPECT_TRUE(served.at("communication").words.empty());
  const ValuesByKnob placed = *runnable_values({.ranks_per_host = 4, .is_placed = true}).start;
  EXPECT_THAT(placed.at("group_ranks").numbers, ElementsAre(1));
  EXPECT_THAT(placed.at("compute_parts").numbers, ElementsAre(1));
  EXPECT_THAT(placed.at("primitive").words, ElementsAre("all_reduce"));
  const ValuesByKnob updated =
      *runnable_values({.servers = 2, .is_updated_by_servers = true}).start;
  EXPECT_THAT(updated.at("communication").words, ElementsAre("parameter_server"));
  EXPECT_TRUE(alone.contains("priority")) << "a knob of regions alone";
  const auto knows_step = runnable_values({.is_watched = true, .has_step = true}).running;
  EXPECT_TRUE(knows_step->at("order").words.empty());
  const auto watched = runnable_values({.is_watched = true}).running;
  EXPECT_THAT(watched->at("order").words, ElementsAre("fifo", "negotiated"));
}

TEST(JobStart, TheTopologyHasTheNetworkOfTheJob) {
  const ScopedEnvironment no_servers("HOCKET_SERVERS", nullptr);
  const SteadyClock clock;
  const auto network = connect_job({.link = "500mbit,50us"}, clock);
  ASSERT_TRUE(network) << network.error().message;
  const auto topology = probe_topology(*network);
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_EQ(topology->link, "emulated 500mbit,50us");
  EXPECT_EQ(topology->world_size, 1);
}

TEST(JobStart, AConfigurationThatDoesNotFitTheStepIsRefused) {
  run_local_ranks(1, [](int, Collective& collective) {
    ToyModel model;
    const SteadyClock clock;
    const Training training{.model = model, .collective = collective, .clock = clock};
    EXPECT_TRUE(check_config(training, {}, false));
    ScheduleConfig wrong;
    wrong.regions["nowhere"].launch = CollectiveLaunch::deferred;
    const auto refused = check_config(training, wrong, false);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("configuration"));
    EXPECT_THAT(refused.error().message, HasSubstr("nowhere"));
  });
}

}  // namespace
}  // namespace hocket
