#include "core/protocol/runnable_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>

#include "core/step/knob.h"

namespace hocket {
namespace {

using testing::HasSubstr;

RunnableValues parsed_values(const std::string& text) {
  auto can_run = parse_runnable_values(text);
  EXPECT_TRUE(can_run) << can_run.error().message;
  return can_run ? *can_run : RunnableValues{};
}

std::string refusal(const std::string& text) {
  const auto can_run = parse_runnable_values(text);
  EXPECT_FALSE(can_run);
  return can_run ? "" : can_run.error().message;
}

ScheduleConfig config_with(std::string_view name, const nlohmann::json& value) {
  auto config = with_knob(ScheduleConfig{}, name, value);
  EXPECT_TRUE(config) << config.error().message;
  return config ? *config : ScheduleConfig{};
}

std::string why_not_start(const RunnableValues& can_run, const ScheduleConfig& config) {
  const auto ok = check_start(can_run, config);
  return ok ? "" : ok.error().message;
}

TEST(RunnableValues, SaysWhatAJobCanStartWith) {
  const auto can_run =
      parsed_values(R"({"start":{"order":["fifo","negotiated"],"streams":{"low":1,"high":4},)"
                    R"("group_ranks":[1,8],"credit_bytes":{}}})");
  for (const auto& [name, value] : std::vector<std::pair<std::string, nlohmann::json>>{
           {"order", "negotiated"}, {"streams", 4}, {"group_ranks", 8}, {"credit_bytes", 4096}}) {
    EXPECT_EQ(why_not_start(can_run, config_with(name, value)), "");
  }
  EXPECT_EQ(why_not_start(can_run, config_with("order", "static")),
            "order=static: the job can start with fifo, negotiated");
  EXPECT_EQ(why_not_start(can_run, config_with("streams", 5)),
            "streams=5: the job can start with 1 to 4");
  EXPECT_EQ(why_not_start(can_run, config_with("group_ranks", 4)),
            "group_ranks=4: the job can start with 1, 8");
  EXPECT_EQ(
      why_not_start(can_run, config_with("comm_channels", 2)),
      "comm_channels=2: the job does not have comm_channels; it has credit_bytes, group_ranks, "
      "order, streams");
}

TEST(RunnableValues, KnobsOfTheJobsOwnHaveValuesOfTheirOwn) {
  const auto can_run = parsed_values(
      R"({"start":{"job.bucket_bytes":{"low":1024,"high":4096},"job.reshard":["off","on"],)"
      R"("job.depth":[0,2]}})");
  EXPECT_EQ(parsed_values(to_json(can_run).dump()), can_run);
  for (const auto& [name, value] : std::vector<std::pair<std::string, nlohmann::json>>{
           {"job.bucket_bytes", 4096}, {"job.reshard", "off"}, {"job.depth", 2}}) {
    EXPECT_EQ(why_not_start(can_run, config_with(name, value)), "");
  }
  EXPECT_EQ(why_not_start(can_run, config_with("job.bucket_bytes", 4097)),
            "job.bucket_bytes=4097: the job can start with 1024 to 4096");
  EXPECT_EQ(why_not_start(can_run, config_with("job.bucket_bytes", "on")),
            "job.bucket_bytes=on: the job can start with 1024 to 4096");
  EXPECT_EQ(why_not_start(can_run, config_with("job.reshard", 1)),
            "job.reshard=1: the job can start with off, on");
  EXPECT_EQ(why_not_start(can_run, config_with("job.reshard", "maybe")),
            "job.reshard=maybe: the job can start with off, on");
  EXPECT_EQ(why_not_start(can_run, config_with("job.other", 1)),
            "job.other=1: the job does not have job.other; it has job.bucket_bytes, job.depth, "
            "job.reshard");
  EXPECT_THAT(refusal(R"({"start":{"job.reshard":["off",1]}})"), HasSubstr("not both"));
  EXPECT_THAT(refusal(R"({"start":{"job.A":[1]}})"), HasSubstr("no knob is named"));
  // One that a configuration leaves out has its default, to which a job can always change.
  const std::vector<std::string> none;
  EXPECT_TRUE(check_change(can_run, none, config_with("job.depth", 2), {}));
}

TEST(RunnableValues, AJobThatDoesNotSayStartsWithAllButAStaticOrder) {
  EXPECT_EQ(why_not_start({}, config_with("streams", 64)), "");
  EXPECT_THAT(why_not_start({}, config_with("order", "static")), HasSubstr("order=static"));
}

TEST(RunnableValues, ChangesWhileItRunsAreThoseNamed) {
  const auto can_run =
      parsed_values(R"({"start":{"order":["fifo","static"],"streams":{},"partition_bytes":{}},)"
                    R"("running":{"order":["fifo"],"partition_bytes":{"low":65536}}})");
  const std::vector<std::string> knobs = {"order", "streams"};
  const auto check = [&](std::string_view name, const nlohmann::json& value) {
    const auto ok = check_change(can_run, knobs, {}, config_with(name, value));
    return ok ? "" : ok.error().message;
  };
  EXPECT_EQ(check("streams", 3), "") << "named, with the values of the start";
  EXPECT_EQ(check("partition_bytes", 1 << 20), "") << "not named, but with values";
  EXPECT_EQ(check("order", "static"), "order=static: while it runs the job can change to fifo");
  EXPECT_EQ(check("partition_bytes", 4096),
            "partition_bytes=4096: while it runs the job can change to at least 65536");
  EXPECT_EQ(check("credit_bytes", 4096),
            "credit_bytes=4096: the job cannot change credit_bytes while it runs");
  const auto same = config_with("credit_bytes", 4096);
  EXPECT_TRUE(check_change(can_run, knobs, same, same)) << "what it has is no change";
}

TEST(RunnableValues, AKnobOfARegionHasTheValuesOfItsKnobUnlessItHasItsOwn) {
  const auto can_run = parsed_values(
      R"({"start":{"streams":{"high":2},"regions.late.streams":{"high":4},"priority":{}}})");
  EXPECT_EQ(why_not_start(can_run, config_with("regions.early.streams", 2)), "");
  EXPECT_NE(why_not_start(can_run, config_with("regions.early.streams", 3)), "");
  EXPECT_EQ(why_not_start(can_run, config_with("regions.late.streams", 4)), "");
  EXPECT_EQ(why_not_start(can_run, config_with("regions.late.priority", 4)), "");
  EXPECT_NE(why_not_start(can_run, config_with("regions.late.compute_parts", 2)), "");
}

TEST(RunnableValues, IsRefusedWithTheNameOfWhatIsWrong) {
  EXPECT_THAT(refusal(R"({"start":{"stream":{}}})"), HasSubstr("the nearest is streams"));
  EXPECT_THAT(refusal(R"({"start":{"order":["fast"]}})"), HasSubstr("start.order[0]"));
  EXPECT_THAT(refusal(R"({"start":{"order":[]}})"), HasSubstr("at least one value"));
  EXPECT_THAT(refusal(R"({"running":{"streams":[65]}})"), HasSubstr("running.streams[0]"));
  EXPECT_THAT(refusal(R"({"running":{"streams":{"low":3,"high":2}}})"), HasSubstr("low"));
  EXPECT_THAT(refusal(R"({"running":3})"), HasSubstr("running"));
}

/// Returns any value that `knob` may have.
nlohmann::json any_value(const Knob& knob, std::mt19937_64& random) {
  if (!knob.choices.empty()) return knob.choices[random() % knob.choices.size()];
  const auto span = static_cast<std::uint64_t>(knob.high - knob.low) + 1;
  return knob.low + static_cast<std::int64_t>(random() % span);
}

// Whatever a job says of one knob: exactly the values that it lists are admitted, at the start and
// while it runs, and the statement is read back as it was written.
TEST(RunnableValues, AdmitsExactlyWhatIsListed) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Knob& knob = schedule_knobs()[random() % schedule_knobs().size()];
    const std::string name(knob.name);
    nlohmann::json listed = nlohmann::json::array();
    for (std::uint64_t left = 1 + random() % 3; left > 0; --left) {
      listed.push_back(any_value(knob, random));
    }
    const auto value = random() % 2 ? listed[0] : any_value(knob, random);
    const auto config = with_knob(ScheduleConfig{}, name, value);
    if (!config) continue;  // bucket_bytes below the smallest bucket
    const bool is_default = *config == ScheduleConfig{};
    const bool is_listed = std::ranges::count(listed, value) > 0;
    const auto can_run = parsed_values(nlohmann::json{{"start", {{name, listed}}}}.dump());
    EXPECT_EQ(parsed_values(to_json(can_run).dump()), can_run);
    EXPECT_EQ(check_start(can_run, *config).has_value(), is_default || is_listed) << name << value;
    const std::vector<std::string> knobs = {name};
    EXPECT_EQ(check_change(can_run, knobs, {}, *config).has_value(), is_default || is_listed);
    EXPECT_EQ(check_change(can_run, {}, {}, *config).has_value(), is_default);
    EXPECT_TRUE(check_change(can_run, {}, *config, *config));
  }
}

}  // namespace
}  // namespace hocket
