#include "daemon/live/live_search.h"

#include <gtest/gtest.h>

#include "archive/studies/told_trial.h"
#include "core/step/knob.h"
#include "core/step/schedule_config.h"
#include "tests/store/fixtures.h"
#include "tuner/space/schedule_space.h"

namespace hocket {
namespace {

JobDescription job_with(std::vector<std::string> knobs) {
  JobDescription job;
  job.id = "a";
  job.knobs = std::move(knobs);
  return job;
}

TEST(LiveSearch, EveryKnobThatAJobCanChangeIsSearchedFromWhatItHas) {
  ScheduleConfig changed;
  changed.bucket_bytes = 3 << 20;
  changed.launch = CollectiveLaunch::deferred;
  changed.regions["late"].partition_bytes = 96 << 10;
  std::vector<std::string> names;
  for (const Knob& knob : schedule_knobs()) names.emplace_back(knob.name);
  for (const Knob& knob : region_knobs()) names.push_back("regions.late." + std::string(knob.name));
  // Most of these have their default, which the JSON form leaves out.
  for (const ScheduleConfig& config : {ScheduleConfig{}, changed}) {
    for (const std::string& name : names) {
      SCOPED_TRACE(name);
      JobDescription job = job_with({name});
      job.config = config;
      const auto definition = live_definition(job);
      if (!definition) {
        // A knob of one value at most.
        EXPECT_NE(definition.error().message.find("single point"), std::string::npos)
            << definition.error().message;
        continue;
      }
      EXPECT_EQ(definition->space.defaults(), must(params_of(config, definition->space)));
      EXPECT_TRUE(uses_simulator(*definition));
    }
  }
}

TEST(LiveSearch, AJobWithoutKnobsOrWithAnUnknownOneHasNoSearch) {
  EXPECT_EQ(code_of(live_definition(job_with({}))), ErrorCode::invalid_argument);
  const auto unknown = live_definition(job_with({"stream"}));
  EXPECT_NE(message_of(unknown).find("the nearest is streams"), std::string::npos);
}

const Domain& domain_of(const StudyDefinition& definition) {
  return definition.space.parameters().at(0).domain;
}

TEST(LiveSearch, OnlyValuesThatTheJobCanRunAreSearched) {
  auto job = job_with({"order"});
  const auto orders = [&] {
    return std::get<Choices>(domain_of(must(live_definition(job)))).names;
  };
  EXPECT_EQ(orders(), (std::vector<std::string>{"fifo", "negotiated"})) << "there is no step";
  job.step = StepDescription{};
  job.step->layers = {{"a", 4096, 1000, 2000}};
  EXPECT_EQ(orders().size(), 3U);
  job.can_run.start = {{"order", KnobValues{}}};
  job.can_run.running = {{"order", {.words = {"fifo", "static"}}}};
  EXPECT_EQ(orders(), (std::vector<std::string>{"fifo", "static"}));
  job = job_with({"streams"});
  job.can_run.start = {{"streams", {.low = 2, .high = 3}}};
  job.config.streams = 2;
  const auto streams = std::get<IntegerRange>(domain_of(must(live_definition(job))));
  EXPECT_EQ(streams.low, 2);
  EXPECT_EQ(streams.high, 3);
  job.can_run.start = {{"streams", {.numbers = {4, 2}}}};
  EXPECT_EQ(std::get<Levels>(domain_of(must(live_definition(job)))).values.size(), 2U);
}

TEST(LiveSearch, TheWayOfSumsIsSearchedOnlyInAJobThatCanChangeIt) {
  auto job = job_with({"communication", "streams"});
  const auto searches = [&] {
    return must(live_definition(job)).space.defaults().contains("communication");
  };
  ValuesByKnob running = {{"communication", {}}, {"streams", {}}};
  job.can_run.running = running;
  EXPECT_TRUE(searches());
  running["communication"].words = {"all_reduce"};
  job.can_run.running = running;
  EXPECT_FALSE(searches());
}

TEST(LiveSearch, KnobsThatTheJobDeclaresAreSearchedOverTheirRange) {
  auto job = job_with({"job.bucket_bytes", "job.depth", "job.reshard"});
  job.workload.knobs = {{.name = "bucket_bytes",
                         .low = 1024,
                         .high = 8192,
                         .log = true,
                         .default_value = std::int64_t{3000}},
                        {.name = "depth", .low = 0, .high = 3, .default_value = std::int64_t{1}},
                        {.name = "reshard", .choices = {"off", "on"}, .default_value = "on"}};
  job.config.job = {{"depth", std::int64_t{2}}};
  const auto definition = must(live_definition(job));
  const auto& parameters = definition.space.parameters();
  ASSERT_EQ(parameters.size(), 3U);
  const auto numbers = [](std::initializer_list<std::int64_t> values) {
    return std::vector<ParameterValue>(values.begin(), values.end());
  };
  EXPECT_EQ(std::get<Levels>(parameters[0].domain).values, numbers({1024, 2048, 3000, 4096, 8192}));
  EXPECT_EQ(std::get<IntegerRange>(parameters[1].domain), (IntegerRange{0, 3}));
  EXPECT_EQ(std::get<Choices>(parameters[2].domain).names, (std::vector<std::string>{"off", "on"}));
  const Params expected{{"job.bucket_bytes", std::int64_t{3000}},
                        {"job.depth", std::int64_t{2}},
                        {"job.reshard", std::string("on")}};
  EXPECT_EQ(definition.space.defaults(), expected);
  // A setting of the search is a configuration of the job.
  const auto config = must(with_params(job.config, expected));
  EXPECT_EQ(config.job, with_declared_defaults(job.config, job.workload.knobs).job);
  EXPECT_EQ(definition.least_trials, kLeastLiveTrials) << "no model says where to begin";
  job.knobs.push_back("partition_bytes");
  EXPECT_EQ(must(live_definition(job)).least_trials, std::nullopt);
  job.knobs = {"job.unknown"};
  EXPECT_EQ(code_of(live_definition(job)), ErrorCode::invalid_argument);
}

TEST(LiveSearch, ASwitchOfTheJobsOwnIsTurnedBeforeAnythingElse) {
  auto job = job_with({"job.depth", "job.crossing", "job.mode"});
  job.workload.knobs = {{.name = "depth", .low = 0, .high = 3, .default_value = std::int64_t{1}},
                        {.name = "crossing", .choices = {"off", "on"}, .default_value = "on"},
                        {.name = "mode", .choices = {"a", "b", "c"}, .default_value = "a"}};
  const auto definition = must(live_definition(job));
  auto session = must(live_session(definition, {}, std::nullopt));
  TrialOutcome outcome;
  outcome.state = TrialState::complete;
  outcome.value = 5;
  must(session.tell(definition.space.defaults(), outcome));
  Params turned = definition.space.defaults();
  turned["job.crossing"] = "off";
  const auto next = session.ask();
  EXPECT_EQ(next.kind, AskKind::preferred);
  EXPECT_EQ(next.params, turned);
  EXPECT_NE(session.ask().kind, AskKind::preferred);
}

TEST(LiveSearch, WhatAJobPredictsIsADonor) {
  auto job = job_with({"job.arm"});
  job.workload.knobs = {{.name = "arm", .choices = {"a", "b", "c"}, .default_value = "a"}};
  const auto definition = must(live_definition(job));
  EXPECT_FALSE(predicted_donor(job, definition.space));
  const auto with_arm = [](const char* arm) {
    ScheduleConfig config;
    config.job = {{"arm", arm}};
    return config;
  };
  // One that the job does not have is passed over.
  job.predictions = {{with_arm("b"), 30}, {with_arm("z"), 10}, {ScheduleConfig{}, 20}};
  const auto donor = predicted_donor(job, definition.space);
  ASSERT_TRUE(donor);
  ASSERT_EQ(donor->evaluations.size(), 2u);
  EXPECT_EQ(donor->evaluations[0].params.at("job.arm"), ParameterValue(std::string("b")));
  EXPECT_EQ(donor->evaluations[0].value, 30);
  EXPECT_EQ(donor->evaluations[1].params.at("job.arm"), ParameterValue(std::string("a")));
}

TEST(LiveSearch, AJobThatRunsWithWhatItCannotChangeToIsSearchedFromThere) {
  auto job = job_with({"order"});
  job.config.order = CollectiveOrder::static_order;
  job.can_run.running = {{"order", {.words = {"fifo", "negotiated"}}}};
  for (const bool says : {true, false}) {
    if (!says) job.can_run = {};
    const auto definition = must(live_definition(job));
    EXPECT_EQ(definition.space.defaults().at("order"), ParameterValue(std::string("static")));
  }
  job = job_with({"streams"});
  job.config.streams = 9;
  job.can_run.running = {{"streams", {.low = 1, .high = 4}}};
  EXPECT_EQ(must(live_definition(job)).space.defaults().at("streams"),
            ParameterValue(std::int64_t{9}));
}

TEST(LiveSearch, AKnobOfOneValueIsNotSearched) {
  auto job = job_with({"order", "streams"});
  job.can_run.running = {{"order", {.words = {"fifo"}}}};
  EXPECT_EQ(searched_knobs(job), std::vector<std::string>{"streams"});
  job.can_run.running = {{"order", {.words = {"fifo"}}}, {"streams", {.low = 3, .high = 3}}};
  EXPECT_TRUE(searched_knobs(job).empty());
  EXPECT_EQ(code_of(live_definition(job)), ErrorCode::invalid_argument);
}

TEST(LiveSearch, TrialsThatAnotherVersionWroteArePassedOver) {
  const auto definition = must(live_definition(job_with({"streams"})));
  const auto row = [](std::int64_t number, nlohmann::json params) {
    TrialRow row;
    row.id = 10 + number;
    row.number = number;
    row.state = TrialState::complete;
    row.value = 5;
    row.params = std::move(params);
    return row;
  };
  std::vector<TrialRow> rows{row(1, {{"streams", 1}}),
                             row(2, {{"streams", 65}}),
                             row(3, {{"streams", nlohmann::json::array()}}),
                             row(4, {{"x", 1}}),
                             row(5, {{"streams", 2}}),
                             row(6, {{"streams", 3}})};
  rows[4].state = rows[5].state = TrialState::running;
  const auto session = must(live_session(definition, rows, rows[5].id));
  EXPECT_EQ(session.told(), 1U);
  EXPECT_EQ(session.outstanding(), 1U);
}

}  // namespace
}  // namespace hocket
