#include "tuner/surrogate/step_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "core/sim/simulator.h"
#include "core/step/knob.h"
#include "tests/core/sim/random_placed_steps.h"
#include "tuner/space/schedule_space.h"

namespace hocket {
namespace {

Parameter bytes(const char* name, std::int64_t value) {
  return {name, IntegerRange{1 << 12, 1 << 28, true}, value};
}

Space knobs() {
  return Space::make({bytes("partition_bytes", 4 << 20),
                      bytes("credit_bytes", 16 << 20),
                      {"order", Choices{{"fifo", "priority"}}, std::string("fifo")},
                      {"channels", Levels{{std::int64_t{1}, std::int64_t{2}, std::int64_t{4}}},
                       std::int64_t{1}}})
      .value();
}

StepDescription random_step(std::mt19937_64& random) {
  StepDescription step;
  const auto layers = 1 + random() % 6;
  for (std::uint64_t i = 0; i < layers; ++i) {
    step.layers.push_back({"layer " + std::to_string(i),
                           static_cast<std::int64_t>(1 + random() % 10'000'000),
                           static_cast<std::int64_t>(random() % 5'000'000),
                           static_cast<std::int64_t>(random() % 9'000'000)});
  }
  step.collective = {static_cast<double>(random() % 100'000), 0.01 * (random() % 100),
                     static_cast<double>(random() % 400'000)};
  step.compute_slowdown = 0.01 * static_cast<double>(random() % 5);
  return step;
}

StepModel::Constants random_constants(const StepModel& model, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  StepModel::Constants constants = model.expected();
  for (Eigen::Index i = 0; i < constants.size(); ++i)
    constants[i] += model.deviation()[i] * normal(random);
  return model.admit(constants);
}

ScheduleConfig random_config(std::mt19937_64& random) {
  ScheduleConfig config;
  config.partition_bytes = 1 << (15 + random() % 10);
  config.credit_bytes = 1 << (15 + random() % 12);
  config.comm_channels = 1 << random() % 3;
  config.order = random() % 2 ? CollectiveOrder::fifo : CollectiveOrder::negotiated;
  return config;
}

TEST(StepModel, NeedsAKnobAndSomethingThatIsCommunicated) {
  const auto other = Space::make({{"THREADS", IntegerRange{1, 8, false}, std::int64_t{1}}}).value();
  EXPECT_FALSE(StepModel::make(other, std::nullopt));
  EXPECT_TRUE(StepModel::make(knobs(), std::nullopt)->is_nominal());
  StepDescription silent;
  silent.layers = {{"layer", 0, 1000, 1000}};
  EXPECT_FALSE(StepModel::make(knobs(), silent));
  EXPECT_TRUE(StepModel::knows_all(knobs()));
  EXPECT_FALSE(StepModel::knows_all(other));
}

TEST(StepModel, ReadsKnobsByBothNames) {
  const auto model = StepModel::make(knobs(), std::nullopt).value();
  auto params = knobs().defaults();
  params["channels"] = std::int64_t{4};
  params["order"] = std::string("priority");
  params["other"] = 1.5;
  const auto config = model.config(params);
  EXPECT_EQ(config.partition_bytes, 4 << 20);
  EXPECT_EQ(config.credit_bytes, 16 << 20);
  EXPECT_EQ(config.comm_channels, 4);
  EXPECT_NE(config.order, CollectiveOrder::fifo);
}

/// Returns a value other than the default, and the parameter that has it.
Params with_other_value(const Knob& knob, std::int64_t& value) {
  value = knob.default_value == knob.low ? knob.low + 1 : knob.low;
  Params params{{"communication", std::string("parameter_server")}};
  if (knob.is_choice()) {
    params[std::string(knob.name)] = std::string(knob.choices.at(static_cast<std::size_t>(value)));
  } else {
    params[std::string(knob.name)] = value;
  }
  return params;
}

TEST(StepModel, ReadsTheKnobsThatTheTableCallsModelled) {
  StepDescription step;
  step.layers = {{"layer", 1 << 20, 1000, 1000}};
  step.servers.emplace();
  const auto model = StepModel::make(knobs(), step).value();
  for (const Knob& knob : schedule_knobs()) {
    SCOPED_TRACE(knob.name);
    std::int64_t other = 0;
    const ScheduleConfig config = model.config(with_other_value(knob, other));
    const ScheduleConfig usual = model.config({{"communication", std::string("parameter_server")}});
    if (!knob.is_modelled) {
      EXPECT_EQ(config, usual);
    } else if (knob.name == "order") {
      EXPECT_EQ(config.order, CollectiveOrder::negotiated) << "that of all but fifo";
    } else {
      EXPECT_EQ(knob.value_in(config), other);
    }
    if (!knob.is_modelled || knob.is_choice()) continue;
    const std::string name(knob.name);
    const Params in_servers{{"communication", std::string("parameter_server")},
                            {name, knob.high + 1}};
    EXPECT_EQ(knob.value_in(model.config(in_servers)), knob.high);
    EXPECT_EQ(knob.value_in(model.config({{name, std::string("many")}})), knob.default_value);
  }
}

TEST(StepModel, IsMadeForAKnobThatIsModelledWhereItHasAnEffect) {
  std::mt19937_64 random(5);
  StepDescription served = random_step(random);
  served.layers.front().parameter_bytes = 1 << 20;
  const StepDescription plain = served, placed = random_placed_step(random);
  served.servers.emplace();
  for (const Knob& knob : schedule_knobs()) {
    const auto parameters = schedule_parameters(std::vector<std::string>{std::string(knob.name)});
    const Space space = Space::make(parameters.value()).value();
    const auto is_made = [&](const StepDescription& step) {
      return StepModel::make(space, step).has_value();
    };
    SCOPED_TRACE(knob.name);
    const bool always = knob.is_modelled && knob.effect == KnobEffect::scheduling;
    EXPECT_EQ(StepModel::knows_all(space), always);
    EXPECT_EQ(is_made(plain), always);
    EXPECT_EQ(is_made(served), knob.is_modelled && (always || knob.effect == KnobEffect::servers));
    EXPECT_EQ(is_made(placed),
              knob.is_modelled && (always || knob.effect == KnobEffect::placement));
  }
}

TEST(StepModel, AsExpectedItIsTheDescribedStepButForTheSplit) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20; ++i) {
    StepDescription step = random_step(random);
    step.compute_slowdown = 0.03;
    const auto model = StepModel::make(knobs(), step).value();
    ScheduleConfig config = random_config(random);
    config.comm_channels = 1;
    const auto simulation = simulate(step, {.config = config});
    ASSERT_TRUE(simulation);
    EXPECT_NEAR(model.with(model.expected()).log_time(config),
                std::log(static_cast<double>(simulation->iteration_ns)), 1e-12);
  }
}

TEST(StepModel, ADescriptionSaysHowChannelsShare) {
  StepDescription step;
  step.layers = {{"layer", 1'000'000, 1000, 1000}};
  ScheduleConfig one_part;
  one_part.partition_bytes = one_part.credit_bytes = 1 << 28;
  one_part.comm_channels = 4;
  const auto time = [&] {
    const auto model = StepModel::make(knobs(), step).value();
    return model.with(model.expected()).log_time(one_part);
  };
  step.collective = {0, 10, 0};
  const double split = time();
  step.channel_split = 0;
  EXPECT_LT(time(), split - 0.5) << "a part alone has about the whole link";
}

TEST(StepModel, TheWorseAProfileTheLessItIsTrustedButNoLessThanNone) {
  std::mt19937_64 random(9);
  const auto nominal = StepModel::make(knobs(), std::nullopt).value();
  StepDescription step = random_step(random);
  StepModel::Constants before = StepModel::make(knobs(), step)->deviation();
  const Eigen::Index n = before.size();
  for (const double uncertainty : {1.0, 1.5, 3.0, 10.0, 100.0}) {
    SCOPED_TRACE(uncertainty);
    step.quality = {uncertainty, "its threads waited"};
    const StepModel::Constants there = StepModel::make(knobs(), step)->deviation();
    EXPECT_TRUE((there.array() >= before.array()).all());
    EXPECT_TRUE((there.array() <= nominal.deviation().head(n).array()).all());
    if (uncertainty == 1.5) {
      EXPECT_GT(there[0], before[0]) << "of the computation";
    }
    before = there;
  }
  EXPECT_EQ(before, nominal.deviation().head(n).eval());
}

TEST(StepModel, TheBoundIsNeverAboveTheTime) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto model =
        StepModel::make(knobs(), seed % 3 ? std::optional(random_step(random)) : std::nullopt)
            .value();
    const auto constants = random_constants(model, random);
    const auto config = random_config(random);
    const double log_time = model.with(constants).log_time(config);
    const double bound = model.with(constants).log_time_at_least(config);
    ASSERT_LE(bound, log_time + 5e-3) << "the period may be a mean with the ends of its window in";
    ASSERT_TRUE(std::isfinite(bound) && std::isfinite(log_time));
  }
}

TEST(StepModel, TheBoundOfAPlacedStepIsNeverAboveItsTime) {
  int fitting = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto model = StepModel::make(knobs(), random_placed_step(random)).value();
    const auto constants = random_constants(model, random);
    const auto config = random_placed_config(random);
    const double log_time = model.with(constants).log_time(config);
    ASSERT_LE(model.with(constants).log_time_at_least(config), log_time);
    fitting += log_time < std::log(static_cast<double>(kMaxStepNs)) ? 1 : 0;
  }
  EXPECT_GT(fitting, 50);
}

TEST(StepModel, KnowsTheKnobsOfPlacementWhereTheStepIsPlaced) {
  const auto space = Space::make({{"offload_k", IntegerRange{0, 8, false}, std::int64_t{0}},
                                  {"prefetch_layers", IntegerRange{0, 4, false}, std::int64_t{1}}})
                         .value();
  EXPECT_FALSE(StepModel::make(space, std::nullopt));
  std::mt19937_64 random(3);
  const auto model = StepModel::make(space, random_placed_step(random));
  ASSERT_TRUE(model);
  const auto config =
      model->config({{"offload_k", std::int64_t{3}}, {"prefetch_layers", std::int64_t{2}}});
  EXPECT_EQ(config.offload_k, 3);
  EXPECT_EQ(config.prefetch_layers, 2);
}

Space knobs_of_servers() {
  return Space::make({{"communication", Choices{{"all_reduce", "parameter_server"}},
                       std::string("all_reduce")},
                      bytes("pull_credit_bytes", 1 << 20)})
      .value();
}

StepDescription random_served_step(std::mt19937_64& random) {
  StepDescription step = random_step(random);
  step.collective.beta_ns_per_byte += 0.5;
  step.ranks = static_cast<std::int64_t>(1 + random() % 4);
  const LinkSpec link{1e8 * static_cast<double>(1 + random() % 20), 10'000};
  step.servers = StepServers{.servers = static_cast<std::int64_t>(1 + random() % 3),
                             .rank_link = link,
                             .server_link = link,
                             .colocated = false,
                             .alpha_ns = 20'000,
                             .overhead_bytes = 500};
  return step;
}

Params way(const char* communication, std::int64_t pull_credit_bytes) {
  return {{"communication", std::string(communication)},
          {"pull_credit_bytes", pull_credit_bytes},
          {"partition_bytes", std::int64_t{1 << 20}},
          {"order", std::string("negotiated")}};
}

TEST(StepModel, PredictsBothWaysOfAStepWithServers) {
  EXPECT_FALSE(StepModel::make(knobs_of_servers(), std::nullopt));
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const StepDescription step = random_served_step(random);
    const auto model = StepModel::make(knobs_of_servers(), step).value();
    // As the step is described, but for slow-downs that a profile may have missed.
    StepModel::Constants exact = model.expected();
    exact[exact.size() - 2] = exact[exact.size() - 4] = 0;
    const auto described = model.with(exact);
    for (const char* communication : {"all_reduce", "parameter_server"}) {
      const auto config = model.config(way(communication, 1 << 20));
      EXPECT_EQ(to_string(config.communication), communication);
      const double truth =
          std::log(static_cast<double>(simulate(step, {.config = config}).value().iteration_ns));
      EXPECT_NEAR(described.log_time(config), truth, 0.05) << communication;
      EXPECT_LE(described.log_time_at_least(config), described.log_time(config) + 5e-3);
    }
  }
}

TEST(StepModel, TheWindowOfPullsIsNothingToAllReducesNorServersToAStepWithoutAny) {
  std::mt19937_64 random(1);
  const StepDescription step = random_served_step(random);
  const auto model = StepModel::make(knobs_of_servers(), step).value();
  EXPECT_EQ(model.config(way("all_reduce", 1 << 16)), model.config(way("all_reduce", 1 << 24)));
  EXPECT_NE(model.config(way("parameter_server", 1 << 16)),
            model.config(way("parameter_server", 1 << 24)));
  StepDescription without = step;
  without.servers.reset();
  EXPECT_EQ(StepModel::make(knobs(), without)->config(way("parameter_server", 1 << 16)),
            model.config(way("all_reduce", 1 << 16)));
}

TEST(StepModel, GuessesWhatAllReducesCostWhereOnlyServersWereMeasured) {
  std::mt19937_64 random(2);
  StepDescription step = random_served_step(random);
  step.collective = {};
  const auto model = StepModel::make(knobs_of_servers(), step).value();
  const auto described = model.with(model.expected());
  const double by_all_reduce = described.log_time(model.config(way("all_reduce", 1 << 20))),
               by_servers = described.log_time(model.config(way("parameter_server", 1 << 20)));
  EXPECT_NEAR(by_all_reduce, by_servers, std::log(4.0));
  EXPECT_LT(by_all_reduce, std::log(1e10)) << "not simulated";
}

TEST(StepModel, AdmitsOnlyConstantsThatMeanSomething) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::normal_distribution<double> wild(0, 100);
    const auto model = StepModel::make(knobs(), std::nullopt).value();
    StepModel::Constants constants = model.expected();
    for (double& constant : constants) constant = wild(random);
    constants = model.admit(constants);
    ASSERT_EQ(model.admit(constants), constants);
    ASSERT_TRUE(std::isfinite(model.with(constants).log_time(random_config(random))));
  }
}

}  // namespace
}  // namespace hocket
