#include "core/step/declared_knob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "core/step/knob_value.h"

namespace hocket {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::vector<DeclaredKnob> knobs() {
  return {{.name = "bucket_cap_bytes",
           .unit = "B",
           .low = 1 << 18,
           .high = 1 << 28,
           .log = true,
           .default_value = std::int64_t{25} << 20},
          {.name = "prefetch", .low = -1, .high = 3, .default_value = std::int64_t{0}},
          {.name = "reshard", .choices = {"off", "on"}, .default_value = "on"}};
}

std::string problem(const Result<void>& result) {
  return result ? "" : result.error().message;
}

TEST(DeclaredKnob, IsReadAsItWasWritten) {
  for (const DeclaredKnob& knob : knobs()) {
    const auto read = read_json(to_json(knob), read_declared_knob);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, knob);
  }
}

TEST(DeclaredKnob, WhatCannotBeIsRefusedWithTheKnobsName) {
  const auto expect_refused = [](auto change, const std::string& why) {
    DeclaredKnob knob{.name = "k", .low = 1, .high = 4, .default_value = std::int64_t{2}};
    EXPECT_EQ(problem(validate(knob)), "");
    change(knob);
    EXPECT_THAT(problem(validate(knob)), testing::AllOf(HasSubstr("knob job."), HasSubstr(why)));
    EXPECT_FALSE(read_json(to_json(knob), read_declared_knob)) << why;
  };
  for (const char* const name : {"", "a b", "A", "a.b", "ä"})
    expect_refused([&](DeclaredKnob& knob) { knob.name = name; }, "a name has");
  expect_refused([](DeclaredKnob& knob) { knob.name = std::string(65, 'a'); }, "a name has");
  expect_refused([](DeclaredKnob& knob) { knob.low = 5; }, "low at most high");
  expect_refused([](DeclaredKnob& knob) { knob.high = INT64_MAX; }, "within 2^53");
  expect_refused([](DeclaredKnob& knob) { knob.low = 0, knob.log = true; }, "at least 1");
  expect_refused([](DeclaredKnob& knob) { knob.default_value = std::int64_t{5}; },
                 "an integer from 1 to 4, found 5");
  expect_refused([](DeclaredKnob& knob) { knob.default_value = "2"; }, "an integer from 1 to 4");
  expect_refused([](DeclaredKnob& knob) { knob.choices = {"a", "b"}; }, "one of a, b, found 2");
  const auto is_twice = [](DeclaredKnob& knob) {
    knob.choices = {"a", "a"};
    knob.default_value = "a";
  };
  expect_refused(is_twice, "each once");
  auto twice = knobs();
  twice.push_back(twice.front());
  EXPECT_THAT(problem(validate(twice)), HasSubstr("job.bucket_cap_bytes: it is declared twice"));
}

TEST(DeclaredKnob, AConfigurationCarriesValuesInItsJson) {
  ScheduleConfig config;
  config.job = {{"bucket_cap_bytes", std::int64_t{1} << 20}, {"reshard", "off"}};
  const json document = to_json(config);
  EXPECT_EQ(document["job"], (json{{"bucket_cap_bytes", 1 << 20}, {"reshard", "off"}}));
  const auto read = schedule_config_from_json(document);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, config);
  EXPECT_EQ(knob_values(config)["job.reshard"], "off");
  EXPECT_EQ(changed_knobs({}, config),
            (std::vector<std::string>{"job.bucket_cap_bytes", "job.reshard"}));
  const auto changed = with_knob(config, "job.reshard", "on");
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed_knobs(config, *changed), std::vector<std::string>{"job.reshard"});
  EXPECT_EQ(read_knob(document, "job.bucket_cap_bytes")->number, 1 << 20);
  EXPECT_EQ(read_knob(document, "job.reshard")->word, "off");
  EXPECT_EQ(read_knob(document, "job.prefetch").error().code, ErrorCode::not_found);
}

TEST(DeclaredKnob, ValuesThatCannotBeAreErrorsOfTheDocument) {
  for (const char* const values : {R"({"A":1})", R"({"a":1.5})", R"({"a":null})", R"({"a":[1]})",
                                   R"({"a":true})", "[]", "3"}) {
    const std::string text =
        std::string(R"({"format":"hocket-schedule","version":1,"job":)") + values + "}";
    const auto read = parse_schedule_config(text);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr("job"));
  }
  EXPECT_FALSE(with_knob({}, "job.A", 1));
  EXPECT_FALSE(with_knob({}, "job.", 1));
  EXPECT_FALSE(read_knob(json{{"job", 3}}, "job.a"));
  EXPECT_FALSE(read_knob(json{{"job", {{"a", json::array()}}}}, "job.a"));
}

TEST(DeclaredKnob, ThoseWithoutAValueGetTheirDefault) {
  ScheduleConfig config;
  config.job = {{"prefetch", std::int64_t{2}}};
  const auto complete = with_declared_defaults(config, knobs());
  EXPECT_EQ(complete.job,
            (std::map<std::string, JobValue>{{"bucket_cap_bytes", std::int64_t{25} << 20},
                                             {"prefetch", std::int64_t{2}},
                                             {"reshard", "on"}}));
  EXPECT_EQ(problem(check_declared(complete, knobs())), "");
}

TEST(DeclaredKnob, ValuesOfOtherKnobsOrOutOfRangeAreRefused) {
  const auto why_not = [](const std::string& name, JobValue value) {
    ScheduleConfig config;
    config.job[name] = std::move(value);
    return problem(check_declared(config, knobs()));
  };
  EXPECT_THAT(
      why_not("other", std::int64_t{1}),
      HasSubstr("declares no such knob; it declares job.bucket_cap_bytes, job.prefetch, job.resh"));
  EXPECT_THAT(why_not("prefetch", std::int64_t{4}), HasSubstr("from -1 to 3, found 4"));
  EXPECT_THAT(why_not("prefetch", "off"), HasSubstr("from -1 to 3, found off"));
  EXPECT_THAT(why_not("reshard", "maybe"), HasSubstr("one of off, on, found maybe"));
  EXPECT_THAT(why_not("reshard", std::int64_t{1}), HasSubstr("one of off, on, found 1"));
}

}  // namespace
}  // namespace hocket
