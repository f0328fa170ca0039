// Tests the real job: two processes over TCP, started as a user would.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "core/base/json.h"
#include "core/description/step_description.h"
#include "core/protocol/job_report.h"
#include "core/sim/simulator.h"
#include "core/sim/tape_replay.h"
#include "job/graph/gradient_groups.h"
#include "models/gpt2.h"
#include "tests/examples/gpt2/run_job.h"

namespace hocket {
namespace {

const std::vector<std::string> kSmall = {"--layers", "2", "--d-model", "64", "--sequence", "32",
                                         "--batch",  "2", "--steps",   "18", "--json"};

ProcessResult run_well(const ScheduleConfig& config, std::vector<std::string> arguments,
                       const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  auto process = run_job(arguments, {{"HOCKET_CONFIG", to_json(config).dump()}});
  EXPECT_TRUE(process.succeeded()) << describe_end(process) << process.stderr_text;
  return process;
}

nlohmann::json run_with(const ScheduleConfig& config, const std::vector<std::string>& arguments,
                        const std::vector<std::string>& more = {}) {
  return parse_object(run_well(config, arguments, more).stdout_text, "output").value();
}

/// A folder for one test.
class Gpt2JobFiles : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = testing::TempDir() + "gpt2_job_" + test->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

ScheduleConfig small_parts(CollectiveOrder order) {
  ScheduleConfig config;
  config.partition_bytes = 32 << 10;
  config.credit_bytes = 128 << 10;
  config.comm_channels = 2;
  config.order = order;
  return config;
}

std::vector<std::int64_t> collective_bytes(const StepDescription& step) {
  std::vector<std::int64_t> bytes;
  for (const StepTask& task : step.tasks) {
    if (task.collective) bytes.push_back(task.bytes);
  }
  return bytes;
}

TEST(Gpt2Job, TheLossCurveIsTheSameToTheBitUnderTenRandomSchedules) {
  const auto expected = run_with({}, kSmall);
  ASSERT_EQ(expected["losses"].size(), 18u);
  EXPECT_LT(expected["losses"].back().get<double>(), expected["losses"].front().get<double>());
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    ScheduleConfig config;
    config.partition_bytes = std::int64_t{4096} << random() % 10;
    config.credit_bytes = std::int64_t{4096} << random() % 12;
    config.streams = 1 + static_cast<int>(random() % 4);
    config.order = random() % 2 ? CollectiveOrder::fifo : CollectiveOrder::negotiated;
    SCOPED_TRACE(to_json(config).dump());
    const auto result = run_with(config, kSmall);
    EXPECT_EQ(result["losses"], expected["losses"]);
    EXPECT_EQ(result["parameters_hash"], expected["parameters_hash"]);
    EXPECT_EQ(result["config_source"], "trial");
  }
}

TEST_F(Gpt2JobFiles, EveryOrderGivesTheSameLossesAndAProfileFindsOne) {
  run_well(small_parts(CollectiveOrder::fifo), kSmall, {"--profile", file("step.json")});
  const auto step = parse_step_description(read_file(file("step.json")).value());
  ASSERT_TRUE(step) << step.error().message;
  EXPECT_FALSE(step->name.empty());
  EXPECT_FALSE(step->source.empty());
  EXPECT_EQ(step->ranks, 2);
  EXPECT_GT(step->collective.alpha_ns + step->collective.beta_ns_per_byte, 0);
  const auto simulation = simulate(*step, {.config = small_parts(CollectiveOrder::static_order)});
  ASSERT_TRUE(simulation) << simulation.error().message;
  EXPECT_GT(simulation->iteration_ns, 0);

  // The backward pass runs in reverse, so the last group's gradients come first.
  const Graph model = gpt2({.layers = 2,
                            .heads = 8,
                            .width = 64,
                            .vocabulary = 256,
                            .positions = 32,
                            .sequence = 32,
                            .batch = 2})
                          .value();
  std::vector<std::int64_t> expected_bytes;
  for (const TensorSpec& tensor : gradient_groups(model))
    expected_bytes.insert(expected_bytes.begin(), tensor.bytes);
  EXPECT_EQ(collective_bytes(*step), expected_bytes);

  const auto expected = run_with(small_parts(CollectiveOrder::fifo), kSmall);
  const std::pair<CollectiveOrder, std::vector<std::string>> cases[] = {
      {CollectiveOrder::negotiated, {}},
      {CollectiveOrder::static_order, {}},
      {CollectiveOrder::static_order, {"--step", file("step.json")}}};
  for (const auto& [order, more] : cases) {
    SCOPED_TRACE(std::string(to_string(order)) + (more.empty() ? "" : " from a description"));
    const auto process = run_well(small_parts(order), kSmall, more);
    const auto result = parse_object(process.stdout_text, "output").value();
    EXPECT_EQ(result["losses"], expected["losses"]);
    EXPECT_EQ(result["parameters_hash"], expected["parameters_hash"]);
    EXPECT_GT(result["iterations"].size(), 3u);
    EXPECT_EQ(process.stderr_text.find("warning"), std::string::npos) << process.stderr_text;
  }
}

TEST_F(Gpt2JobFiles, ADescriptionThatDoesNotFitIsAWarning) {
  std::ofstream(file("other.json"))
      << R"({"format":"hocket-step","version":1,"layers":[{"name":"a","parameter_bytes":4096,)"
         R"("forward_ns":1,"backward_ns":1}],"collective":{"alpha_ns":1}})";
  std::ofstream(file("broken.json")) << "{";
  const std::pair<std::string, const char*> cases[] = {
      {"other.json", "1 collectives are not the job's 6"},
      {"broken.json", "broken.json"},
      {"absent.json", "absent.json"}};
  const auto expected = run_with({}, kSmall);
  for (const auto& [name, message] : cases) {
    SCOPED_TRACE(name);
    const auto process =
        run_well(small_parts(CollectiveOrder::static_order), kSmall, {"--step", file(name)});
    EXPECT_NE(process.stderr_text.find(message), std::string::npos) << process.stderr_text;
    EXPECT_NE(process.stderr_text.find("the order is negotiated"), std::string::npos);
    EXPECT_EQ(parse_object(process.stdout_text, "output").value()["losses"], expected["losses"]);
  }
}

TEST_F(Gpt2JobFiles, TapesOfEveryRankReplayToTheSameDecisions) {
  for (const CollectiveOrder order :
       {CollectiveOrder::fifo, CollectiveOrder::static_order, CollectiveOrder::negotiated}) {
    run_well(small_parts(order), kSmall, {"--record", file("run.tape")});
    for (const char* name : {"run.tape", "run.tape.1"}) {
      SCOPED_TRACE(std::string(to_string(order)) + " " + name);
      const std::string bytes = read_file(file(name)).value();
      auto tape = TapeReader::open(bytes);
      ASSERT_TRUE(tape) << tape.error().message;
      EXPECT_EQ(tape->header().ranks, 2);
      const auto replay = replay_tape(*tape);
      ASSERT_TRUE(replay) << replay.error().message;
      EXPECT_FALSE(replay->incomplete);
      EXPECT_FALSE(replay->difference)
          << replay->difference->decided << " instead of " << replay->difference->on_tape;
      EXPECT_GT(replay->started_parts, 100u);
    }
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

TEST_F(Gpt2JobFiles, TellsItsIterationsAsItsReportDoes) {
  for (const CollectiveOrder order : {CollectiveOrder::fifo, CollectiveOrder::static_order}) {
    const std::string path = file(std::string(to_string(order)));
    const auto job = run_job(kSmall, {{"HOCKET_CONFIG", to_json(small_parts(order)).dump()},
                                      {"HOCKET_ITERATIONS", path}});
    ASSERT_TRUE(job.succeeded()) << job.stderr_text;
    const auto report = parse_report(job.stdout_text);
    ASSERT_TRUE(report) << report.error().message;
    std::string expected;
    for (const Iteration& iteration : report->iterations) {
      expected += std::to_string(iteration.wall_ns) + "\n";
    }
    EXPECT_FALSE(expected.empty());
    EXPECT_EQ(read_file(path).value(), expected);
  }
}

TEST(Gpt2Job, WatchingADaemonThatIsAwayChangesNoLoss) {
  const auto expected = run_with({}, kSmall);
  auto arguments = kSmall;
  arguments.insert(arguments.end(), {"--watch", "--explore", "10%"});
  const auto process = run_job(arguments, {{"HOCKET_DAEMON", "http://127.0.0.1:1"}});
  ASSERT_TRUE(process.succeeded()) << describe_end(process) << process.stderr_text;
  const auto result = parse_object(process.stdout_text, "output").value();
  EXPECT_EQ(result["losses"], expected["losses"]);
  EXPECT_EQ(result["parameters_hash"], expected["parameters_hash"]);
  EXPECT_EQ(result["explored"], 0);
}

TEST(Gpt2Job, AHostThatIsAskedForGraphsSaysOnceThatItRunsTasks) {
  const auto expected = run_with({}, kSmall);
  const auto process = run_well({.step_issue = StepIssue::graph}, kSmall, {});
  const auto result = parse_object(process.stdout_text, "output").value();
  EXPECT_EQ(result["losses"], expected["losses"]);
  EXPECT_EQ(result["parameters_hash"], expected["parameters_hash"]);
  const std::string warning =
      "gpt2: warning: step_issue=graph: a host runs tasks; use --device cuda; steps go task by "
      "task";
  const auto at = process.stderr_text.find(warning);
  ASSERT_NE(at, std::string::npos) << process.stderr_text;
  EXPECT_EQ(process.stderr_text.find(warning, at + 1), std::string::npos) << "rank 0 alone";
}

TEST(Gpt2Job, BadInputIsExitStatusTwoAndSaysWhy) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--steps", "3"}, "leave nothing to measure"},
      {{"--steps", "13", "--profile", "/tmp/x"}, "too few for a profile"},
      {{"--record", "/tmp/x", "--profile", "/tmp/x"}, "excludes"},
      {{"--steps", "8", "--layers", "1", "--record", "/no/such/tape"}, "cannot write"},
      {{"--link", "fast"}, "expected RATE[,LATENCY]"},
      {{"--steps", "8", "--layers", "1", "--watch"}, "HOCKET_DAEMON names no daemon"},
      {{"--watch", "--explore", "77%"}, "from 0% to 50%"},
      {{"--explore", "3%"}, "requires --watch"},
      {{"--heads", "7"}, "heads"},
      {{"--device", "gpu"}, "expected host, cuda or cuda:N"},
      {{"--device", "cuda:x"}, "cuda:N has a number"},
      {{"--device", "cuda", "--link", "1gbit"}, "is not emulated"},
      {{"--device", "cuda", "--record", "/tmp/x"}, "could not be replayed"},
      {{"--precision", "bfloat16"}, "use --device cuda"},
      {{"--precision", "half"}, "expected float32 or bfloat16"},
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

TEST(Gpt2Job, ADeviceThatCannotBeUsedIsExitStatusOneAndSaysWhy) {
  for (const char* micro_batches : {"1", "2"}) {
    const auto process = run_alone(
        {"--device", "cuda", "--layers", "1", "--steps", "6", "--micro-batches", micro_batches});
    if (process.succeeded()) GTEST_SKIP() << "there is a device";
    EXPECT_EQ(process.exit_status, 1);
    EXPECT_NE(process.stderr_text.find("gpt2: --device: "), std::string::npos)
        << process.stderr_text;
  }
}

}  // namespace
}  // namespace hocket
