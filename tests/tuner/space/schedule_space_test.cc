#include "tuner/space/schedule_space.h"
#include "core/step/knob.h"

#include <gtest/gtest.h>

#include <bit>

namespace hocket {
namespace {

std::vector<std::string> all_knobs() {
  std::vector<std::string> names;
  for (const Knob& knob : schedule_knobs()) names.emplace_back(knob.name);
  return names;
}

TEST(ScheduleSpace, HoldsEveryKnobWithItsDefault) {
  const auto parameters = schedule_parameters(all_knobs());
  ASSERT_TRUE(parameters) << parameters.error().message;
  ASSERT_EQ(parameters->size(), schedule_knobs().size());
  const auto space = Space::make(*parameters);
  ASSERT_TRUE(space) << space.error().message;
  ASSERT_TRUE(check_knobs(*space));
  EXPECT_EQ(schedule_config_for(space->defaults()).value(), ScheduleConfig{});
}

TEST(ScheduleSpace, SearchesHowStepsArePartitionedOnlyWhenAsked) {
  const auto parameters = schedule_parameters().value();
  ASSERT_EQ(parameters.size(), 5u);
  EXPECT_EQ(parameters.back().name, "order");
}

TEST(ScheduleSpace, TakesOverridesOfRegions) {
  const std::vector<std::string> names{"regions.backward_layer.1.bucket_bytes",
                                       "regions.backward_layer.1.primitive", "streams"};
  const auto parameters = schedule_parameters(names);
  ASSERT_TRUE(parameters) << parameters.error().message;
  const auto space = Space::make(*parameters);
  ASSERT_TRUE(space) << space.error().message;
  ASSERT_TRUE(check_knobs(*space));
  Params params = space->defaults();
  EXPECT_EQ(params.at(names[0]), ParameterValue(std::int64_t{0}));
  params[names[1]] = std::string("reduce_scatter_all_gather");
  const auto config = schedule_config_for(params);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->regions.at("backward_layer.1").primitive,
            CollectivePrimitive::reduce_scatter_all_gather);
}

TEST(ScheduleSpace, RefusesOverridesThatContradictEachOther) {
  const auto config = schedule_config_for({{"regions.a.bucket_bytes", std::int64_t{1 << 20}},
                                           {"regions.a.compute_parts", std::int64_t{2}}});
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(config.error().message.find("regions.a.compute_parts"), std::string::npos);
}

TEST(ScheduleSpace, CornersMakeValidConfigurations) {
  const auto space = Space::make(*schedule_parameters()).value();
  for (const double unit : {0.0, 1.0}) {
    const auto params = space.decode(UnitPoint(space.parameters().size(), unit));
    const auto config = schedule_config_for(params);
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->partition_bytes, std::get<std::int64_t>(params.at("partition_bytes")));
    EXPECT_EQ(to_string(config->order), std::get<std::string>(params.at("order")));
    EXPECT_TRUE(validate(*config));
  }
}

TEST(ScheduleSpace, LogarithmicKnobsHavePowersOfTwoWithTheDefaultAmongThem) {
  const auto parameters = schedule_parameters(all_knobs()).value();
  const auto knobs = schedule_knobs();
  for (std::size_t i = 0; i < knobs.size(); ++i) {
    SCOPED_TRACE(parameters[i].name);
    const auto* levels = std::get_if<Levels>(&parameters[i].domain);
    ASSERT_EQ(levels != nullptr, knobs[i].log);
    EXPECT_TRUE(admit(parameters[i].domain, parameters[i].default_value));
    if (!levels) continue;
    // A default of 0, which is no power of two, comes before the powers of two.
    const bool has_none = parameters[i].default_value == ParameterValue(std::int64_t{0});
    EXPECT_EQ(levels->values[has_none ? 1 : 0], ParameterValue(knobs[i].tune_low));
    EXPECT_EQ(levels->values.back(), ParameterValue(knobs[i].tune_high));
    for (const auto& level : levels->values) {
      if (level == ParameterValue(std::int64_t{0})) continue;
      const auto value = static_cast<std::uint64_t>(std::get<std::int64_t>(level));
      EXPECT_TRUE(std::has_single_bit(value)) << value;
    }
  }
}

TEST(ScheduleSpace, TakesASubset) {
  const std::vector<std::string> names{"streams", "partition_bytes"};
  const auto parameters = schedule_parameters(names);
  ASSERT_TRUE(parameters);
  ASSERT_EQ(parameters->size(), 2u);
  EXPECT_EQ((*parameters)[0].name, "partition_bytes");
  const std::vector<std::string> wrong{"stream"};
  EXPECT_EQ(schedule_parameters(wrong).error().message, unknown_knob("stream").message);
}

TEST(ScheduleSpace, SaysWhichValuesAreSearchedInVain) {
  const auto hidden_in = [](const std::vector<std::string>& names) {
    return hidden_knobs(Space::make(schedule_parameters(names).value()).value());
  };
  EXPECT_TRUE(hidden_in({}).empty());
  const auto buckets = hidden_in({"bucket_bytes"});
  ASSERT_EQ(buckets.size(), 1u);
  EXPECT_EQ(buckets[0].knob, "bucket_bytes");
  EXPECT_EQ(buckets[0].by, "partition_bytes");
  EXPECT_TRUE(buckets[0].text.starts_with("partition_bytes=4MiB decides, not bucket_bytes=64MiB"))
      << buckets[0].text;
  EXPECT_TRUE(hidden_in({"bucket_bytes", "partition_bytes"}).empty());
  const auto channels = hidden_in({"comm_channels"});
  ASSERT_EQ(channels.size(), 1u);
  EXPECT_EQ(channels[0].by, "credit_bytes");
  const auto windows = hidden_in({"comm_channels", "credit_bytes"});
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_EQ(windows[0].knob, "credit_bytes");
  EXPECT_EQ(windows[0].by, "partition_bytes");
  EXPECT_TRUE(windows[0].text.starts_with("partition_bytes=4MiB decides, not credit_bytes=2MiB"))
      << windows[0].text;
  const auto others = Space::make({{"batch", IntegerRange{1, 64}, std::int64_t{8}}}).value();
  EXPECT_TRUE(hidden_knobs(others).empty());
}

TEST(ScheduleSpace, OtherParametersHaveNoEffect) {
  const auto config = schedule_config_for({{"streams", std::int64_t{3}}, {"batch", 2.5}});
  ASSERT_TRUE(config);
  ScheduleConfig expected;
  expected.streams = 3;
  EXPECT_EQ(*config, expected);
}

TEST(ScheduleSpace, RefusesWhatAKnobCannotHold) {
  const auto problem = [](Parameter parameter) {
    const auto ok = check_knobs(Space::make({std::move(parameter)}).value());
    return ok ? std::string("accepted") : ok.error().message;
  };
  EXPECT_EQ(problem({"streams", IntegerRange{0, 4}, std::int64_t{1}}),
            "parameter streams is a knob of the scheduler: expected an integer from 1 to 64, found "
            "an integer from 0 to 4");
  EXPECT_EQ(problem({"order", Choices{{"fifo", "random"}}, std::string("fifo")}),
            "parameter order is a knob of the scheduler: expected one of fifo, static, negotiated, "
            "found one of fifo, random");
  EXPECT_EQ(problem({"streams", Levels{{std::int64_t{1}, std::int64_t{65}}}, std::int64_t{1}}),
            "parameter streams is a knob of the scheduler: expected an integer from 1 to 64, found "
            "one of 1, 65");
  EXPECT_EQ(problem({"streams", Levels{{std::int64_t{1}, std::int64_t{8}}}, std::int64_t{1}}),
            "accepted");
  EXPECT_EQ(problem({"order", Choices{{"fifo", "priority"}}, std::string("fifo")}), "accepted");
  EXPECT_NE(problem({"streams", RealRange{1, 4}, 2.0}), "accepted");
  EXPECT_EQ(problem({"batch", RealRange{1, 4}, 2.0}), "accepted");
  EXPECT_FALSE(schedule_config_for({{"streams", std::int64_t{0}}}));
}

TEST(ScheduleSpace, ParamsOfAConfigurationComeBackAndOthersStay) {
  ScheduleConfig config;
  config.streams = 3;
  config.bucket_bytes = 5 << 20;
  config.compute_order = ComputeOrder::critical_path;
  config.regions["a"].priority = 3;
  for (const Knob& knob : schedule_knobs()) {
    SCOPED_TRACE(knob.name);
    const std::vector<std::string> names{std::string(knob.name)};
    const auto space = Space::make(schedule_parameters(names).value()).value();
    const auto params = params_of(config, space);
    ASSERT_TRUE(params) << params.error().message;
    EXPECT_EQ(*with_params(config, *params), config);
    const auto changed = with_params(config, space.defaults());
    ASSERT_TRUE(changed);
    EXPECT_EQ(*params_of(*changed, space), space.defaults());
    for (const std::string& name : changed_knobs(config, *changed)) EXPECT_EQ(name, knob.name);
  }
  const auto other = Space::make({{"batch", IntegerRange{1, 4}, std::int64_t{2}}}).value();
  EXPECT_EQ(params_of(config, other).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(*with_params(config, {{"batch", std::int64_t{2}}}), config);
}

}  // namespace
}  // namespace hocket
