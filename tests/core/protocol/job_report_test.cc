#include "core/protocol/job_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>

#include "tests/mutate.h"

namespace hocket {
namespace {

using testing::HasSubstr;

RunReport sample_run_report() {
  RunReport report;
  report.topology.cpu_model = "some CPU";
  report.topology.cores = 2;
  report.topology.world_size = 2;
  report.topology.library_versions = {{"gloo", "0.5.0"}};
  report.workload = {"gpt2", {{"embedding", 1024}, {"block.0", 4096}}};
  report.config.streams = 3;
  report.config_source = "trial";
  report.iterations = {{100, 80, 50, 20}, {90, 80, 50, 10}};
  return report;
}

TEST(Report, JsonRoundTrips) {
  const auto read_back = parse_report(to_json(sample_run_report()).dump());
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(*read_back, sample_run_report());
}

TEST(Report, LeavesOutWhatIsNotKnownOfAWholeStep) {
  RunReport report = sample_run_report();
  report.iterations[1] = {.wall_ns = 90, .is_whole = true};
  const auto document = to_json(report);
  EXPECT_EQ(document["iterations"][1].dump(), R"({"wall_ns":90})");
  EXPECT_EQ(parse_report(document.dump()).value(), report);
  auto damaged = to_json(sample_run_report());
  damaged["iterations"][1].erase("exposed_ns");
  EXPECT_THAT(parse_report(damaged.dump()).error().message,
              HasSubstr(R"(field "iterations[1].exposed_ns")"));
}

TEST(Report, RefusesANegativeOrZeroTimeAndSaysWhere) {
  auto document = to_json(sample_run_report());
  document["iterations"][1]["wall_ns"] = 0;
  EXPECT_THAT(parse_report(document.dump()).error().message,
              HasSubstr(R"(field "iterations[1].wall_ns": expected an integer from 1)"));
  document["iterations"][1]["wall_ns"] = 5;
  document["iterations"][1]["exposed_ns"] = -1;
  EXPECT_THAT(parse_report(document.dump()).error().message,
              HasSubstr(R"(field "iterations[1].exposed_ns")"));
}

TEST(Report, ErrorsSayWhichPartIsWrong) {
  auto document = to_json(sample_run_report());
  document["topology"]["world_size"] = 0;
  EXPECT_THAT(parse_report(document.dump()).error().message,
              HasSubstr(R"(field "topology.world_size")"));
  document = to_json(sample_run_report());
  document["version"] = 2;
  EXPECT_THAT(parse_report(document.dump()).error().message, HasSubstr("use a newer hocket"));
}

TEST(Report, DamagedTextNeverCrashes) {
  std::mt19937_64 random(3);
  const std::string valid = to_json(sample_run_report()).dump();
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) refused += !parse_report(mutate(valid, random));
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace hocket
