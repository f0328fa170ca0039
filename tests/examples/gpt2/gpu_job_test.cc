// Compares the job on a CUDA device with the job on the host.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/cuda/driver/capability.h"
#include "tests/examples/gpt2/run_job.h"

namespace hocket {
namespace {

class Gpt2GpuJob : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto cuda = probe_cuda(); !cuda) GTEST_SKIP() << cuda.error().message;
  }

  static std::vector<std::string> small(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"--layers", "2", "--d-model", "128", "--sequence", "64",
                                          "--batch",  "2", "--steps",   "12",  "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  static nlohmann::json output_of(const ProcessResult& process) {
    EXPECT_TRUE(process.succeeded()) << describe_end(process) << process.stderr_text;
    return parse_object(process.stdout_text, "output").value();
  }

  static nlohmann::json train(const std::vector<std::string>& more, int streams = 1, int kept = 1,
                              const char* step_issue = "tasks") {
    const nlohmann::json config{{"format", "hocket-schedule"},
                                {"version", 1},
                                {"streams", streams},
                                {"micro_batches_kept", kept},
                                {"step_issue", step_issue}};
    return output_of(run_alone(small(more), {{"HOCKET_CONFIG", config.dump()}}));
  }

  static void expect_near(const nlohmann::json& losses, const nlohmann::json& expected,
                          double tolerance) {
    ASSERT_EQ(losses.size(), expected.size());
    for (std::size_t i = 0; i < losses.size(); ++i)
      EXPECT_NEAR(losses[i].get<double>(), expected[i].get<double>(), tolerance) << "step " << i;
  }
};

// Sums are added in another order, and the effect grows with the steps.
TEST_F(Gpt2GpuJob, LossesAreThoseOfTheHost) {
  const auto host = train({});
  expect_near(train({"--device", "cuda"})["losses"], host["losses"], 1e-3);
  expect_near(train({"--device", "cuda", "--precision", "bfloat16"})["losses"], host["losses"],
              5e-2);
}

TEST_F(Gpt2GpuJob, BitsDoNotDependOnTheNumberOfStreams) {
  for (const char* precision : {"float32", "bfloat16"}) {
    SCOPED_TRACE(precision);
    const auto one = train({"--device", "cuda", "--precision", precision});
    for (const int streams : {2, 4}) {
      const auto more = train({"--device", "cuda", "--precision", precision}, streams);
      EXPECT_EQ(more["losses"], one["losses"]) << streams << " streams";
      EXPECT_EQ(more["parameters_hash"], one["parameters_hash"]) << streams << " streams";
    }
  }
}

TEST_F(Gpt2GpuJob, LossesOfMicroBatchesAreThoseOfTheHost) {
  const std::vector<std::string> host = {"--micro-batches", "3"};
  const std::vector<std::string> device = {"--micro-batches", "3", "--device", "cuda"};
  const auto expected = train(host);
  const auto one = train(device);
  expect_near(one["losses"], expected["losses"], 1e-3);
  for (const int streams : {1, 4}) {
    const auto kept = train(device, streams, 3);
    EXPECT_EQ(kept["losses"], one["losses"]) << streams << " streams";
    EXPECT_EQ(kept["parameters_hash"], one["parameters_hash"]) << streams << " streams";
  }
}

TEST_F(Gpt2GpuJob, StepsAsGraphsGiveTheSameBits) {
  for (const char* precision : {"float32", "bfloat16"}) {
    for (const int streams : {1, 3}) {
      SCOPED_TRACE(testing::Message() << precision << ", " << streams << " streams");
      const std::vector<std::string> more{"--device", "cuda", "--precision", precision};
      const auto tasks = train(more, streams), graphs = train(more, streams, 1, "graph");
      EXPECT_EQ(graphs["losses"], tasks["losses"]);
      EXPECT_EQ(graphs["parameters_hash"], tasks["parameters_hash"]);
      EXPECT_TRUE(tasks["iterations"][0].contains("exposed_ns"));
      EXPECT_FALSE(graphs["iterations"][0].contains("exposed_ns"));
    }
  }
}

// Runs on one device: NCCL refuses two ranks on it unless they seem to be on two hosts.
TEST_F(Gpt2GpuJob, TwoRanksSumOverNccl) {
  const auto host = output_of(run_job(small({})));
  const auto device = run_command({program("hocket"), "run", "--ranks", "2", "--", "sh", "-c",
                                   "NCCL_HOSTID=host$RANK exec \"$0\" \"$@\"", program("gpt2")},
                                  small({"--device", "cuda:0"}),
                                  {{"NCCL_NET", "Socket"},
                                   {"NCCL_SOCKET_IFNAME", "lo"},
                                   {"NCCL_IB_DISABLE", "1"},
                                   {"NCCL_P2P_DISABLE", "1"},
                                   {"NCCL_SHM_DISABLE", "1"},
                                   {"NCCL_MNNVL_ENABLE", "0"}});
  expect_near(output_of(device)["losses"], host["losses"], 1e-3);
}

}  // namespace
}  // namespace hocket
