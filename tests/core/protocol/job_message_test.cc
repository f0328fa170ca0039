#include "core/protocol/job_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <random>

#include "core/base/json.h"
#include "tests/mutate.h"

namespace hocket {
namespace {

using nlohmann::json;
using testing::HasSubstr;

JobDescription sample_job() {
  JobDescription job{.id = "job-1_a.B",
                     .name = "gpt2",
                     .host = "node7",
                     .topology = {},
                     .workload = {"gpt2", {{"embedding", 1024}}},
                     .config = {}};
  job.topology.world_size = 2;
  job.config.streams = 3;
  job.version = 12;
  job.explore = 0.03;
  job.knobs = {"partition_bytes", "credit_bytes"};
  job.can_run.start = {{"order", {.words = {"fifo"}}}, {"streams", {.low = 1, .high = 4}}};
  job.can_run.running = {{"partition_bytes", {.numbers = {4096, 8192}}}};
  job.step = StepDescription{};
  job.step->layers = {{"a", 4096, 1000, 2000}};
  job.predictions = {{{}, 7}, {{.streams = 2}, 5}};
  return job;
}

JobReport sample_report() {
  return {.job = "job-1",
          .version = 12,
          .step = 400,
          .iteration_ns = {5, 6, 7},
          .outcomes = {{.version = 13, .message = "kept", .current_ns = {9}, .candidate_ns = {8}},
                       {.trial = 4, .status = ChangeStatus::rolled_back, .slower = true},
                       {.trial = 5, .status = ChangeStatus::rejected, .message = "too late"}},
          .explored = 0.01,
          .ended = true,
          .activity = JobActivity{.exposed_ns = 3,
                                  .lanes = {{TraceKind::compute, 0, 1},
                                            {TraceKind::compute, 1, 0.5},
                                            {TraceKind::communication, 0, 0.25},
                                            {TraceKind::copy, 7, 0}}},
          .values = {{"transfer_us", 12.5}, {"late_rank", -1}, {"own_cost_percent", 0.012}},
          .note = "ring_simple, 8 channels",
          .counted = {{.step = 399, .steps = 1, .ranks = {{.waited_ns = 3}, {.waited_ns = 4}}},
                      {.step = 400, .steps = 1, .ranks = {{}, {.computed_ns = 4}}}}};
}

DaemonMessage sample_message(bool candidate) {
  ScheduleConfig config;
  config.order = CollectiveOrder::negotiated;
  if (candidate) return CandidateMessage{4, config};
  return ConfigMessage{13, config, "study s, 2026-11-21", true};
}

TEST(JobMessage, EveryMessageIsReadBackAsItWasWritten) {
  const auto job = job_description_from_json(to_json(sample_job()));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(*job, sample_job());
  const auto report = job_report_from_json(to_json(sample_report()));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(*report, sample_report());
  for (const DaemonMessage& message :
       {sample_message(false), sample_message(true), DaemonMessage(ProfileMessage{6, 10'000})}) {
    const auto read = daemon_message_from_json(type_of(message), to_json(message));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, message);
  }
}

TEST(JobMessage, WhatAJobNeedNotSayHasItsDefault) {
  auto document = to_json(sample_job());
  for (const char* field :
       {"name", "host", "version", "explore", "knobs", "can_run", "step", "predictions"})
    document.erase(field);
  JobDescription bare{.id = sample_job().id,
                      .name = "",
                      .host = "",
                      .topology = sample_job().topology,
                      .workload = sample_job().workload,
                      .config = sample_job().config};
  EXPECT_EQ(job_description_from_json(document).value(), bare);
  EXPECT_EQ(job_report_from_json({{"job", "j"}, {"version", 0}, {"step", 0}}).value(),
            JobReport{.job = "j"});
}

/// Reads a document after `damage`; returns the text of the error.
template <class Read>
std::string refusal(json document, const Read& read, const std::function<void(json&)>& damage) {
  damage(document);
  const auto result = read(document);
  return result ? "accepted" : result.error().message;
}

TEST(JobMessage, RefusesAJobOutOfRangeAndNamesTheField) {
  const auto said = [](const char* field, json value) {
    return refusal(to_json(sample_job()), job_description_from_json,
                   [&](json& job) { job[field] = std::move(value); });
  };
  const struct {
    const char* field;
    json value;
    const char* text;
  } cases[] = {
      {"id", "", "1 to 100 letters"},
      {"id", std::string(101, 'a'), "1 to 100 letters"},
      {"id", "a/b", "1 to 100 letters"},
      {"id", 7, "expected a string"},
      {"name", std::string(4097, 'a'), "at most 4096 bytes, found 4097"},
      {"host", 7, "expected a string"},
      {"topology", 7, "expected an object"},
      {"topology", json::object(), "field \"topology.cpu_model\" is missing"},
      {"workload", json::object(), "field \"workload.name\" is missing"},
      {"config", json::object(), "field \"config.format\" is missing"},
      {"version", -1, "an integer from 0"},
      {"explore", 0.51, "from 0.0 to 0.5"},
      {"explore", -0.1, "from 0.0 to 0.5"},
      {"knobs", "streams", "expected an array"},
      {"knobs", json::array({7}), "field \"knobs[0]\": expected a string"},
      {"knobs", json::array({std::string(101, 'a')}), "at most 100 bytes, found 101"},
      {"knobs", json(std::vector<std::string>(65)), "at most 64 elements, found 65"},
      {"knobs", json::array({"streams", "credit_byte"}),
       "field \"knobs[1]\": no knob is named \"credit_byte\"; the nearest is credit_bytes"},
      {"knobs", json::array({"regions.head.stream"}),
       "regions have no knob named \"stream\"; the nearest is streams"},
      {"knobs", json::array({"streams", "streams"}),
       "field \"knobs[1]\": knob \"streams\" is there twice"},
      {"step", json::object(), "field \"step.format\" is missing"}};
  for (const auto& [field, value, text] : cases) {
    EXPECT_THAT(said(field, value), testing::AllOf(HasSubstr(field), HasSubstr(text)));
  }
  for (const char* field : {"id", "topology", "workload", "config"}) {
    EXPECT_THAT(refusal(to_json(sample_job()), job_description_from_json,
                        [&](json& job) { job.erase(field); }),
                HasSubstr(std::string("field \"") + field + "\" is missing"));
  }
}

TEST(JobMessage, RefusesAReportOutOfRangeAndNamesTheField) {
  const auto said = [](const std::function<void(json&)>& damage) {
    return refusal(to_json(sample_report()), job_report_from_json, damage);
  };
  const std::vector<int> many(kMaxReportedIterations + 1, 1);
  const auto outcome = [&](const char* field, json value) {
    return said([&](json& report) { report["outcomes"][1][field] = std::move(value); });
  };
  EXPECT_THAT(said([](json& r) { r["job"] = "a b"; }), HasSubstr("field \"job\": expected 1 to"));
  EXPECT_THAT(said([](json& r) { r["version"] = -1; }), HasSubstr("field \"version\""));
  EXPECT_THAT(said([](json& r) { r["step"] = 0.5; }), HasSubstr("field \"step\""));
  EXPECT_THAT(said([](json& r) { r["explored"] = 1.1; }), HasSubstr("from 0.0 to 1.0"));
  EXPECT_THAT(said([](json& r) { r["iteration_ns"][1] = 0; }), HasSubstr("integer from 1"));
  EXPECT_THAT(said([&](json& r) { r["iteration_ns"] = many; }),
              HasSubstr("10000 elements, found 10001"));
  EXPECT_THAT(said([](json& r) { r["outcomes"] = 7; }), HasSubstr("expected an array"));
  EXPECT_THAT(said([](json& r) { r["outcomes"] = std::vector<json>(1001, r["outcomes"][0]); }),
              HasSubstr("at most 1000 elements, found 1001"));
  EXPECT_THAT(outcome("status", "done"),
              HasSubstr("field \"outcomes[1].status\": expected one of applied, rejected"));
  EXPECT_THAT(outcome("trial", 0),
              HasSubstr("field \"outcomes[1].trial\": expected an integer from 1"));
  EXPECT_THAT(outcome("version", 2), HasSubstr("exactly one of"));
  EXPECT_THAT(said([](json& r) { r["outcomes"][1].erase("trial"); }), HasSubstr("exactly one of"));
  EXPECT_THAT(outcome("message", std::string(4097, 'a')), HasSubstr("at most 4096 bytes"));
  EXPECT_THAT(outcome("current_ns", json::array({-1})),
              HasSubstr("field \"outcomes[1].current_ns[0]\""));
  EXPECT_THAT(outcome("candidate_ns", many), HasSubstr("field \"outcomes[1].candidate_ns\""));
  const auto activity = [&](const std::function<void(json&)>& damage) {
    return said([&](json& report) { damage(report["activity"]); });
  };
  EXPECT_THAT(said([](json& r) { r["values"]["Bad name"] = 1; }), HasSubstr("a-z, 0-9"));
  EXPECT_THAT(said([](json& r) { r["values"]["x"] = "1"; }), HasSubstr("field \"values.x\""));
  for (const json& cost : {json(-0.1), json(100.1), json(1e300), json("1"), json(nullptr)}) {
    EXPECT_THAT(said([&](json& r) { r["values"]["own_cost_percent"] = cost; }),
                HasSubstr("values.own_cost_percent\": expected a number from 0.0 to 100.0"));
  }
  EXPECT_THAT(said([](json& r) {
                for (int i = 0; i < 40; ++i) r["values"]["v" + std::to_string(i)] = i;
              }),
              HasSubstr("at most 32 values"));
  EXPECT_THAT(said([](json& r) { r["note"] = 3; }), HasSubstr("field \"note\""));
  EXPECT_THAT(said([](json& r) { r["activity"] = 7; }), HasSubstr("field \"activity\""));
  EXPECT_THAT(activity([](json& a) { a["exposed_ns"] = -1; }), HasSubstr("integer from 0"));
  EXPECT_THAT(activity([](json& a) { a["lanes"] = json(std::vector<json>(257, a["lanes"][0])); }),
              HasSubstr("at most 256 elements, found 257"));
  EXPECT_THAT(activity([](json& a) { a["lanes"][1]["kind"] = "range"; }),
              HasSubstr("lanes[1].kind\": expected one of compute, communication, copy"));
  EXPECT_THAT(activity([](json& a) { a["lanes"][2]["busy"] = 1.5; }),
              HasSubstr("field \"activity.lanes[2].busy\""));
  EXPECT_THAT(activity([](json& a) { a["lanes"][1]["lane"] = 0; }),
              HasSubstr("lanes[1]\": expected lanes by kind"));
}

TEST(JobMessage, RefusesAnEventOfAnotherTypeOrOutOfRange) {
  const auto said = [](const char* type, json document) {
    const auto message = daemon_message_from_json(type, document);
    return message ? "accepted" : message.error().message;
  };
  json config = to_json(sample_message(false)), candidate = to_json(sample_message(true));
  EXPECT_THAT(said("ping", config),
              HasSubstr("expected config, candidate or profile, found \"ping\""));
  EXPECT_THAT(said("candidate", config), HasSubstr("field \"trial\" is missing"));
  EXPECT_THAT(said("config", 7), HasSubstr("expected an object, found 7"));
  config["config"]["streams"] = 65;
  EXPECT_THAT(said("config", config), HasSubstr("from 1 to 64, found 65"));
  config["version"] = 0;
  EXPECT_THAT(said("config", config), HasSubstr("field \"version\": expected an integer from 1"));
  json profile = to_json(DaemonMessage(ProfileMessage{6, 10}));
  profile["iterations"] = 10'001;
  EXPECT_THAT(said("profile", profile), HasSubstr("from 1 to 10000"));
  profile["request"] = 0;
  EXPECT_THAT(said("profile", profile), HasSubstr("field \"request\": expected an integer from 1"));
  candidate["trial"] = 0;
  EXPECT_THAT(said("candidate", candidate), HasSubstr("field \"trial\": expected an integer"));
}

TEST(JobMessage, DamagedTextNeverCrashes) {
  std::mt19937_64 random(5);
  SCOPED_TRACE("seed 5");
  const std::string job = to_json(sample_job()).dump(), report = to_json(sample_report()).dump();
  int accepted = 0, refused = 0;
  for (int i = 0; i < 5'000; ++i) {
    const auto one = parse_object(mutate(job, random), "job");
    const auto other = parse_object(mutate(report, random), "report");
    if (one) ++(job_description_from_json(*one) ? accepted : refused);
    if (other) ++(job_report_from_json(*other) ? accepted : refused);
  }
  EXPECT_GT(accepted, 50);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace hocket
