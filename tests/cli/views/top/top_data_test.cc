#include "cli/views/top/top_data.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hocket {
namespace {

using nlohmann::json;

TEST(TopData, ReadsJobsAsTheDaemonListsThem) {
  const json answer = {
      {"jobs",
       {{{"job", "j-1"},
         {"name", "gpt2"},
         {"world_size", 8},
         {"step", 120},
         {"iteration_ns", 4e6},
         {"version", 12},
         {"last_change", "version 12 applied"},
         {"connected", true},
         {"activity",
          {{"exposed_ns", 1'000'000},
           {"lanes",
            {{{"kind", "compute"}, {"lane", 0}, {"busy", 0.75}},
             {{"kind", "later"}, {"lane", 0}, {"busy", 0.5}},
             {{"kind", "communication"}, {"lane", 1}, {"busy", 7}}}}}}},
        {{"job", "j-2"}, {"name", "a\nb\x1b[31m"}, {"iteration_ns", -1}, {"activity", 3}}}}};
  const auto jobs = top_jobs_of(answer);
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].name, "gpt2");
  EXPECT_EQ(jobs[0].ranks, 8);
  EXPECT_EQ(jobs[0].exposed_share, 0.25);
  ASSERT_EQ(jobs[0].lanes.size(), 2u) << "a kind that is not known is left out";
  EXPECT_EQ(jobs[0].lanes[0], (LaneActivity{TraceKind::compute, 0, 0.75}));
  EXPECT_EQ(jobs[0].lanes[1], (LaneActivity{TraceKind::communication, 1, 1}));
  EXPECT_TRUE(jobs[0].connected);
  EXPECT_EQ(jobs[1].name.find_first_of("\n\x1b"), std::string::npos);
  EXPECT_EQ(jobs[1].iteration_ns, 0);
  EXPECT_FALSE(jobs[1].exposed_share);
}

TEST(TopData, ReadsThePlacementOfAJobOnADeviceOfLimitedMemory) {
  json job = {
      {"job", "j-1"},
      {"config", {{"offload_k", 2}, {"streams", 3}}},
      {"values",
       {{"device_peak_bytes", 40 << 20}, {"device_memory_bytes", 64 << 20}, {"layers", 8}}}};
  const auto read = [&] { return top_jobs_of({{"jobs", {job}}})[0].placement; };
  TopPlacement expected{.values = {.peak_bytes = 40 << 20, .limit_bytes = 64 << 20, .layers = 8},
                        .kept_layers = 2,
                        .streams = 3};
  EXPECT_EQ(read(), expected);
  job["config"]["offload_k"] = 100'000;
  expected.kept_layers = 8;
  EXPECT_EQ(read(), expected);
  job.erase("config");
  expected.kept_layers = 0;
  expected.streams = 1;
  EXPECT_EQ(read(), expected);
  for (const json& value : {json("much"), json(-1), json(1e300), json(), json(0)}) {
    job["values"]["layers"] = value;
    EXPECT_TRUE(read()) << value;
  }
  job["values"]["device_memory_bytes"] = 0;
  EXPECT_FALSE(read());
  job["values"] = 3;
  EXPECT_FALSE(read());
}

TEST(TopData, WhatAnotherVersionLeavesOutIsEmpty) {
  for (const char* text : {"{}", R"({"jobs":3})", R"({"jobs":[3,null]})"})
    EXPECT_TRUE(top_jobs_of(json::parse(text)).empty()) << text;
  EXPECT_EQ(top_jobs_of({{"jobs", {{{"job", "j-1"}}}}})[0].name, "j-1") << "without a name, its id";
}

TEST(TopData, FindsTheNewestPush) {
  const auto entry = [](const char* action, int version) {
    return json{
        {"at_ns", 5},
        {"actor", "ada"},
        {"action", action},
        {"subject", "k"},
        {"detail", {{"version", version}, {"origin", "push"}, {"stage", "staged"}, {"note", "n"}}}};
  };
  const auto push = last_push_of(
      {{"entries", {entry("promote", 1), entry("promote", 2), entry("set_stage", 3)}}});
  ASSERT_TRUE(push);
  EXPECT_EQ(push->version, 2);
  EXPECT_EQ(push->who, "ada");
  EXPECT_EQ(push->stage, "staged");
  EXPECT_FALSE(last_push_of({{"entries", {entry("profile", 1)}}}));
  EXPECT_FALSE(last_push_of({{"entries", {{{"action", "promote"}}}}}));
  EXPECT_FALSE(last_push_of(json::object()));
}

}  // namespace
}  // namespace hocket
