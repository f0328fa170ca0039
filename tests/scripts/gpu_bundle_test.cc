// scripts/gpu: what it packs starts where nothing of hocket's build is, and says what is missing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/clock.h"
#include "core/cuda/driver/capability.h"
#include "tests/temporary_folder.h"
#include "tuner/trial/cancel.h"
#include "tuner/trial/process.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr int kCannotHide = 77, kNoDevice = 3;

ProcessResult run(const std::vector<std::string>& command) {
  const SteadyClock clock;
  const CancelToken cancel;
  ProcessOptions options;
  options.argv = command;
  options.time_limit_ns = 280'000'000'000;
  return run_process(options, clock, cancel).value();
}

class GpuBundle : public testing::Test {
 protected:
  void pack() const {
    const auto packed = run({kScript, "bundle", "--no-build", bundle()});
    ASSERT_TRUE(packed.succeeded()) << packed.stdout_text << packed.stderr_text;
  }

  std::string bundle() const { return folder_.path() / "bundle"; }
  std::string out(const std::string& name) const { return folder_.path() / "out" / name; }

  /// Returns the row of a part.
  nlohmann::json row(const std::string& part) const {
    std::ifstream file(out("gpu.json"));
    const auto report = nlohmann::json::parse(file);
    for (const auto& row : report["parts"])
      if (row["part"] == part) return row;
    return {{"status", "has no row"}, {"note", ""}};
  }

  static constexpr const char* kScript = HOCKET_SOURCE_DIR "/scripts/gpu";

 private:
  TemporaryFolder folder_;
};

TEST_F(GpuBundle, StartsElsewhereAndSkipsForWantOfADevice) {
  if (probe_cuda()) GTEST_SKIP() << "there is a device";
  pack();
  const auto ran = run({HOCKET_SOURCE_DIR "/tests/scripts/elsewhere.sh", HOCKET_SOURCE_DIR,
                        bundle(), bundle() + "/scripts/gpu", "run", out("")});
  if (ran.exit_status == kCannotHide) GTEST_SKIP() << ran.stderr_text;
  const std::string said = ran.stdout_text + ran.stderr_text;
  ASSERT_EQ(ran.exit_status, kNoDevice) << said;
  EXPECT_EQ(row("machine")["status"], "no device");
  EXPECT_THAT(row("machine")["note"], HasSubstr("CUDA"));
  // On the host the job trains with the bundle's libraries alone.
  EXPECT_EQ(row("gpt2-host")["status"], "passed") << said;
  EXPECT_EQ(row("gpt2-ranks-host")["status"], "passed") << said;
  for (const char* part : {"cuda_gpu_test", "cuda_kernels_gpu_test", "cupti_device_test",
                           "nccl_gpu_test", "gpt2_gpu_job_test", "gpt2-float32-tasks",
                           "gpt2-bfloat16-graph", "gpt2-ranks", "sanitizer", "benchmarks"}) {
    EXPECT_EQ(row(part)["status"], "skipped") << part << ": " << row(part)["note"];
  }
  EXPECT_THAT(said, HasSubstr("gpt2-float32-tasks"));
  EXPECT_TRUE(std::filesystem::exists(out("logs.tar.gz")));
  EXPECT_EQ(std::filesystem::file_size(out("failed.txt")), 0U);
}

TEST_F(GpuBundle, GoesOnAfterAPartThatFails) {
  pack();
  run({bundle() + "/scripts/gpu", "run", out(""), "machine"});  // unpacks
  std::filesystem::remove(bundle() + "/bin/cuda_gpu_test");
  std::ofstream(bundle() + "/bin/nccl_gpu_test") << "#!/bin/sh\necho broken; exit 1\n";
  const auto ran = run({bundle() + "/scripts/gpu", "run", out(""), "driver", "nccl", "sanitizer"});
  EXPECT_EQ(ran.exit_status, 1);
  EXPECT_THAT(ran.stderr_text, HasSubstr("2 parts failed: cuda_gpu_test, nccl_gpu_test"));
  EXPECT_EQ(row("cuda_gpu_test")["status"], "failed");
  EXPECT_EQ(row("nccl_gpu_test")["note"], "broken");
  // The part after them.
  EXPECT_TRUE(row("sanitizer")["note"] != "" || row("sanitizer-memcheck")["note"] != "");
}

TEST_F(GpuBundle, RefusesAFolderWithSomethingElse) {
  const std::string other = out("");
  std::filesystem::create_directories(other);
  std::ofstream(out("thesis.tex")) << "the only copy";
  const auto refused = run({kScript, "bundle", "--no-build", other});
  EXPECT_EQ(refused.exit_status, 1);
  EXPECT_THAT(refused.stderr_text, HasSubstr("holds no bundle"));
  EXPECT_TRUE(std::filesystem::exists(out("thesis.tex")));
}

}  // namespace
}  // namespace hocket
