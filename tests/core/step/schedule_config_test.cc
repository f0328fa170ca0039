#include "core/step/schedule_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>

#include "core/base/json_reader.h"
#include "core/step/knob.h"
#include "tests/mutate.h"

namespace hocket {
namespace {

using testing::HasSubstr;

std::string error_of(const std::string& text) {
  const auto config = parse_schedule_config(text);
  return config ? "no error" : config.error().message;
}

template <class T>
std::optional<T> perhaps(std::mt19937_64& random, T value) {
  return random() % 2 == 0 ? std::optional<T>(value) : std::nullopt;
}

/// Returns a valid configuration; buckets are excluded if computations are divided.
ScheduleConfig random_partition_config(std::mt19937_64& random) {
  const bool divides = random() % 2 == 0;
  const auto draw = [&](int count) { return static_cast<int>(random() % count); };
  ScheduleConfig config;
  config.streams = 8;
  config.bucket_bytes = divides ? 0 : draw(1 << 24);
  config.primitive = static_cast<CollectivePrimitive>(draw(2));
  config.group_ranks = 1 + draw(8);
  config.launch = static_cast<CollectiveLaunch>(draw(2));
  config.compute_parts = divides ? 2 + draw(8) : 1;
  config.compute_order = static_cast<ComputeOrder>(draw(2));
  config.micro_batches_kept = 1 + draw(8);
  config.step_issue = static_cast<StepIssue>(draw(2));
  for (int i = draw(4); i-- > 0;) {
    RegionOverrides region;
    region.partition_bytes = perhaps(random, std::int64_t{4096} + draw(1 << 20));
    if (!divides) region.bucket_bytes = perhaps(random, std::int64_t{draw(1 << 20)});
    region.streams = perhaps(random, 1 + draw(8));
    region.priority = perhaps(random, std::int64_t{draw(100)});
    region.primitive = perhaps(random, static_cast<CollectivePrimitive>(draw(2)));
    region.group_ranks = perhaps(random, std::int64_t{1} + draw(8));
    region.launch = perhaps(random, static_cast<CollectiveLaunch>(draw(2)));
    if (divides) {
      region.compute_parts = perhaps(random, 2 + draw(8));
      region.dimension = perhaps(random, std::string("rows"));
    }
    // A region without overrides would be valid but has no knob to compare.
    region.priority = region.priority.value_or(7);
    config.regions["layer." + std::to_string(i)] = region;
  }
  return config;
}

TEST(ScheduleConfig, JsonRoundTripsForRandomValues) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    ScheduleConfig config;
    config.partition_bytes = 4096 + static_cast<std::int64_t>(random() % (1 << 29));
    config.credit_bytes = 4096 + static_cast<std::int64_t>(random() % (1 << 30));
    config.streams = 1 + static_cast<int>(random() % 64);
    config.comm_channels = 1 + static_cast<int>(random() % 16);
    config.order = static_cast<CollectiveOrder>(random() % 3);
    const auto read_back = parse_schedule_config(to_json(config).dump());
    ASSERT_TRUE(read_back) << read_back.error().message;
    ASSERT_EQ(*read_back, config);
    ASSERT_TRUE(validate(config));
  }
}

TEST(ScheduleConfig, JsonRoundTripsForRandomPartitionsAndRegions) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const ScheduleConfig config = random_partition_config(random);
    const auto read_back = parse_schedule_config(to_json(config).dump());
    ASSERT_TRUE(read_back) << read_back.error().message;
    ASSERT_EQ(*read_back, config);
    ScheduleConfig from_knobs;
    const auto values = knob_values(config);
    for (const auto& [name, value] : values.items())
      from_knobs = with_knob(from_knobs, name, value).value();
    ASSERT_EQ(from_knobs, config);
    ASSERT_TRUE(changed_knobs(config, from_knobs).empty());
  }
}

TEST(ScheduleConfig, LeavesOutHowStepsArePartitionedAndIssuedWhereItIsTheDefault) {
  const auto document = to_json(ScheduleConfig{});
  EXPECT_FALSE(document.contains("primitive"));
  EXPECT_FALSE(document.contains("step_issue"));
  EXPECT_FALSE(document.contains("regions"));
  EXPECT_TRUE(document.contains("streams"));
}

TEST(ScheduleConfig, EachKnobOfPartitioningIsAReasonToPartition) {
  const auto is_reason = [](const auto& set) {
    ScheduleConfig config;
    set(config);
    return is_partitioned(config);
  };
  EXPECT_TRUE(is_reason([](ScheduleConfig& c) { c.bucket_bytes = 1 << 20; }));
  EXPECT_TRUE(is_reason(
      [](ScheduleConfig& c) { c.primitive = CollectivePrimitive::reduce_scatter_all_gather; }));
  EXPECT_TRUE(is_reason([](ScheduleConfig& c) { c.group_ranks = 2; }));
  EXPECT_TRUE(is_reason([](ScheduleConfig& c) { c.launch = CollectiveLaunch::deferred; }));
  EXPECT_TRUE(is_reason([](ScheduleConfig& c) { c.compute_parts = 2; }));
  EXPECT_TRUE(is_reason([](ScheduleConfig& c) { c.micro_batches_kept = 2; }));
  EXPECT_TRUE(is_reason([](ScheduleConfig& c) { c.regions["layer"] = {}; }));
  EXPECT_FALSE(is_reason([](ScheduleConfig& c) { c.order = CollectiveOrder::negotiated; }));
  EXPECT_FALSE(is_reason([](ScheduleConfig& c) { c.step_issue = StepIssue::graph; }));
}

TEST(ScheduleConfig, ErrorsOfRegionsNameRegionAndField) {
  const auto error_in = [](const std::string& fields) {
    return error_of(R"({"format":"hocket-schedule","version":1,)" + fields + "}");
  };
  EXPECT_THAT(error_in(R"("regions":[])"), HasSubstr("field \"regions\""));
  EXPECT_THAT(error_in(R"("regions":{"a":3})"), HasSubstr("field \"regions.a\""));
  EXPECT_THAT(error_in(R"("regions":{"a":{"partition_bytes":1}})"),
              HasSubstr("field \"regions.a.partition_bytes\": expected an integer from 4096"));
  EXPECT_THAT(error_in(R"("regions":{"a":{"launch":"late"}})"),
              HasSubstr("field \"regions.a.launch\": expected one of ready, deferred"));
  EXPECT_THAT(error_in(R"("streams":2,"regions":{"a":{"streams":3}})"),
              HasSubstr("field \"regions.a.streams\": expected at most the 2"));
  EXPECT_THAT(error_in(R"("regions":{"a":{"dimension":"rows"}})"),
              HasSubstr("field \"regions.a.dimension\": nothing is divided along \"rows\""));
  EXPECT_THAT(error_in(R"("compute_parts":2,"regions":{"a":{"bucket_bytes":1048576}})"),
              HasSubstr("field \"regions.a.bucket_bytes\": a bucket waits for all"));
  EXPECT_THAT(error_in(R"("compute_parts":2,"bucket_bytes":1048576)"),
              HasSubstr("field \"compute_parts\": a bucket waits for all"));
}

TEST(ScheduleConfig, SaysHowADeviceGetsAStep) {
  const auto read = [](const std::string& issue) {
    return parse_schedule_config(R"({"format":"hocket-schedule","version":1,"step_issue":")" +
                                 issue + "\"}");
  };
  const auto config = read("graph");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->step_issue, StepIssue::graph);
  EXPECT_EQ(to_json(*config)["step_issue"], "graph");
  EXPECT_EQ(to_string(config->step_issue), "graph");
  EXPECT_THAT(changed_knobs({}, *config), testing::ElementsAre("step_issue"));
  EXPECT_EQ(read("tasks").value(), ScheduleConfig{});
  EXPECT_THAT(read("graphs").error().message,
              HasSubstr("field \"step_issue\": expected one of tasks, graph"));
  EXPECT_FALSE(find_knob("step_issue")->is_searched());
  EXPECT_EQ(find_knob("regions.a.step_issue"), nullptr);
}

TEST(ScheduleConfig, UnknownFieldsOfRegionsAreLeftOutAndWarnedOf) {
  std::vector<std::string> warnings;
  const auto config = parse_schedule_config(
      R"({"format":"hocket-schedule","version":1,"regions":{"a":{"priorty":3}}})", &warnings);
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("regions.a.priorty"));
  EXPECT_THAT(warnings[0], HasSubstr("did you mean \"priority\""));
  EXPECT_FALSE(to_json(*config)["regions"]["a"].contains("priorty"));
}

TEST(ScheduleConfig, FindsKnobsOfRegions) {
  EXPECT_EQ(find_knob("regions.a.b.streams")->name, "streams");
  EXPECT_EQ(find_knob("regions.streams"), nullptr);
  EXPECT_EQ(find_knob("regions.a.credit_bytes"), nullptr);
  EXPECT_EQ(find_knob("stream"), nullptr);
  EXPECT_THAT(unknown_knob("regions.a.primitve").message, HasSubstr("the nearest is primitive"));
}

TEST(ScheduleConfig, PriorityIsAnotherSpellingOfNegotiated) {
  const auto config =
      parse_schedule_config(R"({"format":"hocket-schedule","version":1,"order":"priority"})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->order, CollectiveOrder::negotiated);
  EXPECT_EQ(to_json(*config)["order"], "negotiated");
}

TEST(ScheduleConfig, LeavesOutFieldsOfAFileOfANewerVersionAndWarns) {
  std::vector<std::string> warnings;
  const auto config = parse_schedule_config(
      R"({"format":"hocket-schedule","version":9,"streams":2,"copy_streams":3,
          "regions":{"a":{"priority":1,"shade":2}}})",
      &warnings);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->streams, 2);
  EXPECT_THAT(warnings,
              testing::ElementsAre(HasSubstr("regions.a.shade"), HasSubstr("copy_streams")));
  EXPECT_FALSE(to_json(*config).contains("copy_streams"));
  EXPECT_FALSE(to_json(*config)["regions"]["a"].contains("shade"));
}

TEST(ScheduleConfig, WithinAMessageAFieldThatIsNoKnobIsAnErrorThatNamesIt) {
  const auto error_in = [](nlohmann::json fields) {
    fields.update({{"format", "hocket-schedule"}, {"version", 1}});
    const nlohmann::json message = {{"config", fields}};
    JsonReader reader(message);
    ScheduleConfig config;
    reader.part("config", config, read_schedule_config);
    const auto ok = reader.done();
    return ok ? "no error" : ok.error().message;
  };
  EXPECT_EQ(error_in({{"streams", 2}}), "no error");
  EXPECT_THAT(error_in({{"BASH_ENV", "$(touch x)"}}),
              HasSubstr("field \"config.BASH_ENV\": no knob is named \"BASH_ENV\""));
  EXPECT_THAT(error_in({{"stream", 2}}), HasSubstr("the nearest is streams"));
  EXPECT_THAT(error_in({{"regions", {{"a", {{"FOO_FLAG", 2}}}}}}),
              HasSubstr("field \"config.regions.a.FOO_FLAG\": no knob is named"));
  EXPECT_THAT(error_in({{"regions", {{"a\nb", {{"priority", 2}}}}}}),
              HasSubstr("names of 1 to 200 printable characters"));
  EXPECT_THAT(error_in({{"job", {{"mode", "a\x1b[2J"}}}}), HasSubstr("printable characters"));
}

TEST(ScheduleConfig, ErrorsNameTheFieldAndTheRange) {
  const std::string head = R"({"format":"hocket-schedule","version":1,)";
  EXPECT_THAT(error_of(head + R"("streams":0})"),
              HasSubstr(R"(field "streams": expected an integer from 1 to 64, found 0)"));
  EXPECT_THAT(error_of(head + R"("partition_bytes":1.5})"),
              HasSubstr("from 4096 to 1073741824, found 1.5"));
  EXPECT_THAT(error_of(head + R"("credit_bytes":"4M"})"), HasSubstr(R"(field "credit_bytes")"));
  EXPECT_THAT(error_of(head + R"("credit_bytes":18446744073709551615})"),
              HasSubstr(R"(field "credit_bytes")"));
  EXPECT_THAT(error_of(head + R"("order":"lifo"})"),
              HasSubstr("expected one of fifo, static, negotiated, found \"lifo\""));
  EXPECT_THAT(error_of(R"({"streams":2})"), HasSubstr(R"(field "format" is missing)"));
  EXPECT_THAT(error_of(R"({"format":"other","version":1})"),
              HasSubstr("expected \"hocket-schedule\""));
  EXPECT_THAT(error_of("[1]"), HasSubstr("must be a JSON object, found array"));
  EXPECT_THAT(error_of("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of(std::string(100'000, '[')), HasSubstr("nested more than 64 levels"));

  ScheduleConfig config;
  config.streams = 65;
  EXPECT_THAT(validate(config).error().message, HasSubstr("from 1 to 64, found 65"));
}

TEST(ScheduleConfig, DamagedTextIsRefusedOrGivesAValidConfiguration) {
  std::mt19937_64 random(2);
  ScheduleConfig undamaged;
  undamaged.regions["a"].partition_bytes = 4096;
  undamaged.regions["a"].launch = CollectiveLaunch::deferred;
  const std::string valid = to_json(undamaged).dump();
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = mutate(valid, random);
    const auto config = parse_schedule_config(text);
    refused += !config;
    if (config) {
      ASSERT_TRUE(validate(*config)) << text;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace hocket
