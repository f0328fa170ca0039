#include "core/step/knob_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/step/knob.h"
#include "core/step/schedule_config.h"
#include "tests/mutate.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string problem(const nlohmann::json& document, std::string_view name) {
  const auto value = read_knob(document, name);
  if (value) return "read " + std::to_string(value->number);
  EXPECT_EQ(value.error().code, ErrorCode::invalid_argument);
  return value.error().message;
}

/// Every knob, of the whole step and of a region whose name has a dot.
std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const Knob& knob : schedule_knobs()) names.emplace_back(knob.name);
  for (const Knob& knob : region_knobs()) names.push_back("regions.a.b." + std::string(knob.name));
  return names;
}

/// The value that `config` has in full, as read_knob() gives it.
KnobValue expected(const nlohmann::json& value, const Knob& knob) {
  if (knob.choices.empty()) return {value.get<std::int64_t>()};
  const auto word = value.get<std::string>();
  const auto at = std::ranges::find(knob.choices, word);
  return {at - knob.choices.begin(), std::string(*at)};
}

TEST(KnobValue, EqualsThatOfTheConfigurationHoweverMuchIsLeftOut) {
  ScheduleConfig changed;
  changed.order = CollectiveOrder::negotiated;
  changed.bucket_bytes = 1 << 20;
  changed.step_issue = StepIssue::graph;
  changed.primitive = CollectivePrimitive::reduce_scatter_all_gather;
  for (const ScheduleConfig& config : {ScheduleConfig{}, changed}) {
    const auto values = knob_values(config);
    auto document = to_json(config);
    for (const Knob& knob : schedule_knobs()) {
      const std::string name(knob.name);
      const auto value = read_knob(document, name);
      ASSERT_TRUE(value) << value.error().message;
      EXPECT_EQ(*value, expected(values.at(name), knob)) << name;
    }
  }
  for (const Knob& knob : schedule_knobs()) {
    const std::string name(knob.name);
    EXPECT_EQ(*read_knob(nlohmann::json::object(), name), expected(knob_values({}).at(name), knob));
  }
}

TEST(KnobValue, ARegionHasItsOwnElseThatOfTheWholeStep) {
  const nlohmann::json document = {{"bucket_bytes", 4096},
                                   {"launch", "deferred"},
                                   {"regions", {{"a.b", {{"bucket_bytes", 0}, {"priority", 3}}}}}};
  EXPECT_EQ(read_knob(document, "regions.a.b.bucket_bytes")->number, 0);
  EXPECT_EQ(read_knob(document, "regions.c.bucket_bytes")->number, 4096);
  EXPECT_EQ(read_knob(document, "regions.a.b.launch")->word, "deferred");
  EXPECT_EQ(read_knob(document, "regions.a.b.priority")->number, 3);
  EXPECT_EQ(read_knob(document, "regions.c.priority")->number, 0);
}

TEST(KnobValue, OtherSpellingsAreTheSameChoice) {
  const auto value = read_knob({{"order", "priority"}}, "order");
  ASSERT_TRUE(value);
  EXPECT_EQ(*value,
            (KnobValue{static_cast<std::int64_t>(CollectiveOrder::negotiated), "negotiated"}));
}

TEST(KnobValue, AnErrorNamesTheFieldItsRangeAndTheNearestName) {
  EXPECT_THAT(problem({{"streams", 65}}, "streams"),
              AllOf(HasSubstr("\"streams\""), HasSubstr("from 1 to 64"), HasSubstr("65")));
  EXPECT_THAT(problem({{"streams", "2"}}, "streams"), HasSubstr("\"streams\""));
  EXPECT_THAT(problem({{"streams", 1.5}}, "streams"), HasSubstr("\"streams\""));
  EXPECT_THAT(problem({{"order", 1}}, "order"),
              AllOf(HasSubstr("\"order\""), HasSubstr("fifo, static, negotiated")));
  EXPECT_THAT(problem(nlohmann::json::object(), "stream"), HasSubstr("the nearest is streams"));
  EXPECT_THAT(problem(nlohmann::json::object(), "regions.x.stream"),
              HasSubstr("the nearest is streams"));
  EXPECT_THAT(problem(nlohmann::json::object(), "dimension"), HasSubstr("no knob is named"));
  EXPECT_THAT(problem({{"regions", 1}}, "regions.x.streams"), HasSubstr("\"regions\""));
  EXPECT_THAT(problem({{"regions", {{"x", "y"}}}}, "regions.x.streams"),
              HasSubstr("\"regions.x\""));
  EXPECT_THAT(problem({{"regions", {{"x", {{"streams", 0}}}}}}, "regions.x.streams"),
              HasSubstr("\"regions.x.streams\""));
  EXPECT_THAT(problem(nlohmann::json::array(), "streams"), HasSubstr("JSON object"));
  EXPECT_THAT(problem({{"streams", 65}}, "order"), HasSubstr("read 0")) << "nothing else is read";
}

TEST(KnobValue, NoDamageMakesItThrowOrLeaveTheRange) {
  ScheduleConfig config;
  config.bucket_bytes = 1 << 20;
  config.regions["a.b"].bucket_bytes = 0;
  config.regions["a.b"].primitive = CollectivePrimitive::reduce_scatter_all_gather;
  const std::string text = to_json(config).dump();
  std::mt19937_64 random(1);
  const auto names = all_names();
  for (int i = 0; i < 4000; ++i) {
    SCOPED_TRACE(i);
    const auto document = nlohmann::json::parse(mutate(text, random), nullptr, false);
    if (document.is_discarded()) continue;
    for (const auto& name : names) {
      const auto value = read_knob(document, name);
      if (!value) continue;
      const Knob& knob = *find_knob(name);
      if (knob.choices.empty()) {
        EXPECT_GE(value->number, knob.low);
        EXPECT_LE(value->number, knob.high);
      } else {
        EXPECT_EQ(knob.choices.at(static_cast<std::size_t>(value->number)), value->word);
      }
    }
    EXPECT_FALSE(read_knob(document, mutate("streams", random) + "?"));
  }
}

}  // namespace
}  // namespace hocket
