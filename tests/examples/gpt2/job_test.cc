// The real job: two processes over TCP, started as a user would.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "core/clock.h"
#include "core/json.h"
#include "core/report.h"
#include "tuner/cancel.h"
#include "tuner/process.h"

namespace hocket {
namespace {

ProcessResult run_job(const std::vector<std::string>& arguments,
                      std::map<std::string, std::string> environment = {}) {
  const SteadyClock clock;
  const CancelToken cancel;
  ProcessOptions options;
  options.argv = {HOCKET_BIN "/hocket", "run", "--ranks", "2", "--", HOCKET_BIN "/gpt2"};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  // A store of the machine's user must not change what the test sees.
  options.environment = {{"HOCKET_STORE", "/nonexistent/hocket.db"}};
  options.environment.merge(environment);
  options.time_limit_ns = 100'000'000'000;
  return run_process(options, clock, cancel).value();
}

const std::vector<std::string> kSmall = {"--layers", "2", "--d-model", "64", "--sequence", "32",
                                         "--batch",  "2", "--steps",   "12", "--json"};

nlohmann::json run_with(const ScheduleConfig& config, const std::vector<std::string>& arguments) {
  const auto process = run_job(arguments, {{"HOCKET_CONFIG", to_json(config).dump()}});
  EXPECT_TRUE(process.succeeded()) << describe_end(process) << process.stderr_text;
  return parse_object(process.stdout_text, "output").value();
}

TEST(Gpt2Job, TheLossCurveIsTheSameToTheBitUnderTenRandomSchedules) {
  const auto expected = run_with({}, kSmall);
  ASSERT_EQ(expected["losses"].size(), 12u);
  EXPECT_LT(expected["losses"].back().get<double>(), expected["losses"].front().get<double>());
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    ScheduleConfig config;
    config.partition_bytes = std::int64_t{4096} << random() % 10;
    config.credit_bytes = std::int64_t{4096} << random() % 12;
    config.streams = 1 + static_cast<int>(random() % 4);
    config.order = random() % 2 ? CollectiveOrder::fifo : CollectiveOrder::priority;
    SCOPED_TRACE(to_json(config).dump());
    const auto result = run_with(config, kSmall);
    EXPECT_EQ(result["losses"], expected["losses"]);
    EXPECT_EQ(result["parameters_hash"], expected["parameters_hash"]);
    EXPECT_EQ(result["config_source"], "trial");
  }
}

TEST(Gpt2Job, AnEmulatedLinkIsCalledEmulatedAndGivesABound) {
  auto arguments = kSmall;
  arguments.insert(arguments.end(), {"--link", "200mbit,50us"});
  const auto result = run_with({}, arguments);
  EXPECT_EQ(result["topology"]["link"], "emulated 200mbit,50us");
  EXPECT_EQ(result["topology"]["world_size"], 2);
  EXPECT_GT(result["bound_ns"].get<std::int64_t>(), 0);
  const auto report = parse_report(result.dump());
  ASSERT_TRUE(report) << report.error().message;
  for (const Iteration& iteration : report->iterations) {
    EXPECT_LE(iteration.compute_ns, iteration.wall_ns);
    EXPECT_LE(iteration.exposed_ns, iteration.communication_ns);
  }
}

TEST(Gpt2Job, BadInputIsExitStatusTwoAndSaysWhy) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--steps", "3"}, "leave nothing to measure"},
      {{"--link", "fast"}, "expected RATE[,LATENCY]"},
      {{"--heads", "7"}, "heads"},
      {{"--text", "/no/such/file"}, "/no/such/file"},
  };
  for (const auto& [arguments, message] : cases) {
    const auto process = run_job(arguments);
    EXPECT_NE(process.exit_status, 0);
    EXPECT_NE(process.stderr_text.find(message), std::string::npos) << process.stderr_text;
  }
  const auto process = run_job(
      kSmall, {{"HOCKET_CONFIG", R"({"format":"hocket-schedule","version":1,"streams":0})"}});
  EXPECT_EQ(process.exit_status, 2);
  EXPECT_NE(
      process.stderr_text.find("field \"streams\": expected an integer from 1 to 64, found 0"),
      std::string::npos)
      << process.stderr_text;
}

}  // namespace
}  // namespace hocket
