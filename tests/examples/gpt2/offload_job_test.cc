// The job on an emulated device of limited memory, started as a user would.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "archive/profiles/calibrate_profile.h"
#include "core/base/json.h"
#include "core/description/step_description.h"
#include "core/placement/described_placement.h"
#include "core/protocol/job_report.h"
#include "core/sim/simulator.h"
#include "core/sim/tape_replay.h"
#include "tests/examples/gpt2/run_job.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kOffloadedArguments = {
    "--layers", "2",  "--d-model",       "64", "--sequence", "32", "--batch", "2",
    "--steps",  "18", "--micro-batches", "2",  "--json"};

std::vector<std::string> with(std::vector<std::string> arguments,
                              const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

ProcessResult run_offloaded(const std::vector<std::string>& more) {
  auto process = run_job(with(kOffloadedArguments, more));
  EXPECT_TRUE(process.succeeded()) << describe_end(process) << process.stderr_text;
  return process;
}

TEST(OffloadJob, TrainsAsTheHostDoes) {
  const auto document = [](const ProcessResult& process) {
    return parse_object(process.stdout_text, "output").value();
  };
  const auto expected = document(run_offloaded({}));
  const std::vector<std::string> device{"--device", "emulated:2MiB,link=8gbit,20us"};
  for (const char* layers : {"1", "auto"}) {
    SCOPED_TRACE(layers);
    const auto process = run_offloaded(with(device, {"--offload-k", layers}));
    const auto result = document(process);
    EXPECT_EQ(result["losses"], expected["losses"]);
    EXPECT_EQ(result["parameters_hash"], expected["parameters_hash"]);
    EXPECT_EQ(result["topology"]["accelerator"], "emulated:2MiB,link=8gbit,20us");
    EXPECT_GT(result["iterations"].size(), 3u);
    const auto offload_k = result["config"].value("offload_k", std::int64_t{0});
    EXPECT_LE(offload_k, 4);
    EXPECT_THAT(process.stderr_text, Not(HasSubstr("warning")));
    const bool is_measured = std::string(layers) == "auto";
    EXPECT_THAT(process.stderr_text,
                HasSubstr(is_measured ? "(measured): predicted iteration" : "1 of 4 layers"));
    EXPECT_TRUE(is_measured || offload_k == 1);
  }
}

TEST(OffloadJob, ATapeAndAProfileAreOfThePlacedStep) {
  const std::string folder = testing::TempDir() + "gpt2_offload_job";
  std::filesystem::create_directories(folder);
  const std::string tape_path = folder + "/run.tape", step_path = folder + "/step.json";
  run_offloaded({"--device", "emulated:3MiB", "--offload-k", "2", "--record", tape_path});
  const std::string bytes = read_file(tape_path).value();
  auto tape = TapeReader::open(bytes);
  ASSERT_TRUE(tape) << tape.error().message;
  const auto replay = replay_tape(*tape);
  ASSERT_TRUE(replay) << replay.error().message;
  EXPECT_FALSE(replay->difference);

  run_offloaded({"--device", "emulated:2MiB", "--profile", step_path, "--offload-k", "0"});
  const auto step = parse_step_description(read_file(step_path).value());
  ASSERT_TRUE(step) << step.error().message;
  EXPECT_EQ(step->device_memory_bytes, 2 << 20);
  EXPECT_TRUE(simulate(*step, {.config = {.offload_k = 1}}));
  std::filesystem::remove_all(folder);
}

TEST(OffloadJob, AProfileInTheStorePredictsOtherNumbersOfLayers) {
  const TemporaryFolder dir;
  const std::string path = dir.file("hocket.db");
  const auto process =
      run_job(with(kOffloadedArguments, {"--device", "emulated:3MiB,link=8gbit", "--offload-k", "1",
                                         "--profile-at", "3", "--profile-iterations", "6"}),
              {{"HOCKET_STORE", path}});
  ASSERT_TRUE(process.succeeded()) << describe_end(process) << process.stderr_text;
  const auto store = must(open_store(path));
  const auto rows = must(store->profiles());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].config["offload_k"], 1);
  EXPECT_EQ(rows[0].detail["idle"].size(), 6u);
  const auto profile = must(calibrate_profile(must(load_profile(rows[0]))));
  const StepDescription& step = profile.calibration.step;
  EXPECT_EQ(step.device_memory_bytes, 3 << 20);
  EXPECT_EQ(layers_of(step), 4);
  EXPECT_GT(step.to_device.alpha_ns + step.to_device.beta_ns_per_byte, 0);
  EXPECT_GT(step.to_host.alpha_ns + step.to_host.beta_ns_per_byte, 0);
  for (const std::int64_t offload_k : {0, 1, 2}) {
    const auto simulated = simulate(step, {.config = {.offload_k = offload_k}});
    ASSERT_TRUE(simulated) << simulated.error().message;
    EXPECT_GT(simulated->device_peak_bytes, 0);
  }
}

TEST(OffloadJob, WrongOptionsAreExitStatusTwoAndSayWhy) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--device", "emulated"}, "expected emulated:SIZE[,link=RATE[,LATENCY]]"},
      {{"--device", "emulated:"}, "expected emulated:SIZE"},
      {{"--device", "emulated:much"}, "expected emulated:SIZE"},
      {{"--device", "emulated:100"}, "a device has at least 256 B"},
      {{"--device", "emulated:2MiB,2gbit"}, "only link= follows the size"},
      {{"--device", "emulated:2MiB,link=fast"}, "expected RATE[,LATENCY]"},
      {{"--device", "emulated:2MiB", "--precision", "bfloat16"}, "use --device cuda"},
      {{"--device", "cuda", "--offload-k", "2"}, "add --memory-limit SIZE"},
      {{"--device", "emulated:2MiB", "--offload-k", "-1"}, "expected configured, auto or a number"},
      {{"--device", "emulated:2MiB", "--offload-k", "some"}, "found \"some\""},
      {{"--offload-k", "1"}, "--offload-k: only a device of limited memory"},
      {{"--device", "emulated:2MiB", "--offload-k", "auto", "--profile", "/tmp/x"}, "leave it out"},
      {{"--device", "emulated:256KiB"}, "lower offload_k"},
      {{"--device", "emulated:16KiB", "--offload-k", "auto"}, "device_memory_bytes is 16384"},
  };
  for (const auto& [arguments, message] : cases) {
    const auto process = run_alone(with(kOffloadedArguments, arguments));
    EXPECT_EQ(process.exit_status, 2) << message;
    EXPECT_THAT(process.stderr_text, HasSubstr(message));
  }
  const auto short_of_steps = run_alone(
      {"--device", "emulated:2MiB", "--offload-k", "auto", "--steps", "7", "--warmup", "0"});
  EXPECT_THAT(short_of_steps.stderr_text, HasSubstr("ask for at least 8"));
  const auto process =
      run_job(with(kOffloadedArguments, {"--device", "emulated:4MiB", "--offload-k", "auto"}),
              {{"HOCKET_CONFIG", to_json(ScheduleConfig{.micro_batches_kept = 2}).dump()}});
  EXPECT_NE(process.exit_status, 0);
  EXPECT_THAT(process.stderr_text, HasSubstr("micro_batches_kept"));
}

}  // namespace
}  // namespace hocket
