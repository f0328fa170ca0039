// Partitioned steps and steps placed on a device of limited memory, as `hocket simulate` says them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/base/context.h"
#include "core/base/json.h"
#include "tests/cli/verbs/simulation/simulate_verb.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Two layers of 1 MB that the host updates in 3 ms, with 600 KB that the device keeps of them;
// there is room for one layer and what the device fetches of the other.
constexpr const char* kPlacedStep =
    R"({"format":"hocket-step","version":1,"device_memory_bytes":3000000,
        "to_device":{"beta_ns_per_byte":0.1},"to_host":{"beta_ns_per_byte":0.2},
        "tasks":[{"name":"forward 0","duration_ns":1000000,"reads":["w0"],"writes":["x"]},
                 {"name":"forward 1","duration_ns":1000000,"reads":["w1"],"updates":["x"]},
                 {"name":"backward 1","duration_ns":2000000,"reads":["w1"],"updates":["x"],
                  "writes":["g1"]},
                 {"name":"update 1","duration_ns":100000,"host_duration_ns":3000000,
                  "updates_layer":1,"reads":["g1"],"updates":["w1","m1"]},
                 {"name":"backward 0","duration_ns":2000000,"reads":["w0"],"updates":["x"],
                  "writes":["g0"]},
                 {"name":"update 0","duration_ns":100000,"host_duration_ns":3000000,
                  "updates_layer":0,"reads":["g0"],"updates":["w0","m0"]}],
        "data":[{"name":"w0","bytes":500000,"layer":0},{"name":"w1","bytes":500000,"layer":1},
                {"name":"m0","bytes":500000,"layer":0},{"name":"m1","bytes":1500000,"layer":1},
                {"name":"g0","bytes":500000},{"name":"g1","bytes":500000},
                {"name":"x","bytes":100000}]})";

class SimulateForms : public SimulateVerb {
 protected:
  const std::string placed_ = folder_.write("placed.json", kPlacedStep);
};

TEST_F(SimulateForms, PartitionsTheStepAsTheConfigurationSays) {
  const std::string config =
      R"({"format":"hocket-schedule","version":1,"partition_bytes":1000000,
          "primitive":"reduce_scatter_all_gather","launch":"deferred",
          "regions":{"out":{"partition_bytes":4000000}}})";
  const auto answer = small({"--json", "--config", folder_.write("config.json", config)});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  const auto document = answer.json();
  EXPECT_EQ(document.at("config").at("primitive"), "reduce_scatter_all_gather");
  EXPECT_EQ(document.at("config").at("regions").at("out").at("partition_bytes"), 4'000'000);
  EXPECT_EQ(document.at("parts"), 2 * (1 + 4 + 4));
  EXPECT_GE(document.at("iteration_ns"), document.at("bound_ns"));
  const auto table = small({"--config", config});
  for (const char* shown : {"primitive=reduce_scatter_all_gather", "launch=deferred",
                            "regions.out.partition_bytes=4000000"}) {
    EXPECT_THAT(table.out, HasSubstr(shown));
  }
  EXPECT_THAT(small({"--sweep", "launch=ready,deferred"}).out, HasSubstr("deferred"));
}

TEST_F(SimulateForms, RefusesAPartitioningThatDoesNotFitTheStep) {
  const auto refused = [&](const std::string& fields) {
    const auto answer =
        small({"--config", R"({"format":"hocket-schedule","version":1,)" + fields + "}"});
    EXPECT_EQ(answer.status, kBadInput) << fields;
    EXPECT_EQ(answer.out, "");
    return answer.err;
  };
  EXPECT_THAT(refused(R"("regions":{"oud":{"priority":1}})"),
              AllOf(HasSubstr("oud"), HasSubstr("\"out\"")));
  EXPECT_THAT(refused(R"("regions":{"out":{"dimension":"rows","compute_parts":2}})"),
              HasSubstr("regions.out"));
  EXPECT_THAT(refused(R"("group_ranks":2)"), HasSubstr("group_ranks"));
  EXPECT_THAT(refused(R"("compute_parts":0)"), HasSubstr("compute_parts"));
}

TEST_F(SimulateForms, ReplaysTheTapeOfAPartitionedStep) {
  const auto tape = folder_.file("partitioned.tape");
  const auto answer = small({"--record", tape, "--set", "primitive=reduce_scatter_all_gather",
                             "--set", "partition_bytes=1MB", "--set", "order=static"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  const auto replayed = ask_hocket({"tape", "replay", tape});
  EXPECT_EQ(replayed.status, kDone) << replayed.out << replayed.err;
}

TEST_F(SimulateForms, PrintsMemoryAndCopiesOfAPlacedStep) {
  const std::string all = R"({"format":"hocket-schedule","version":1,"offload_k":2})";
  const auto answer = simulate(placed_, {"--config", all, "--set", "offload_k=1"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  for (const char* line :
       {"device memory ", " of 2.861 MiB\n", "updates on the host    3 ms\n",
        "copies to the device   50 us\n", "copies to the host     100 us\n", "offload_k=1"}) {
    EXPECT_THAT(answer.out, HasSubstr(line));
  }
  EXPECT_THAT(answer.out, Not(HasSubstr("speed-up"))) << "what it would be against does not fit";
  EXPECT_THAT(small().out, Not(HasSubstr("device memory")));

  const auto document = simulate(placed_, {"--set", "offload_k=1", "--json"}).json();
  const auto& placement = document.at("placement");
  EXPECT_EQ(placement.at("device_memory_bytes"), 3'000'000);
  EXPECT_EQ(placement.at("host_ns"), 3'000'000);
  EXPECT_EQ(placement.at("to_device_ns"), 50'000);
  EXPECT_EQ(placement.at("to_host_ns"), 100'000);
  EXPECT_GT(placement.at("peak_bytes"), 1'600'000);
  EXPECT_LE(placement.at("peak_bytes"), 3'000'000);
  EXPECT_GE(document.at("iteration_ns"), document.at("bound_ns"));
  EXPECT_FALSE(small({"--json"}).json().contains("placement"));

  const auto refused = simulate(placed_, {"--config", all});
  EXPECT_EQ(refused.status, kBadInput);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("device_memory_bytes is 3000000"), Not(HasSubstr("--baseline"))));
  const auto sweep = simulate(placed_, {"--config", all, "--sweep", "offload_k=1,0"});
  ASSERT_EQ(sweep.status, kDone) << sweep.err;
  EXPECT_THAT(sweep.out, HasSubstr("speed-up against the first configuration asked about, "));
  EXPECT_THAT(simulate(placed_, {"--set", "offload_k=1", "--baseline", all}).err,
              HasSubstr("(--baseline gives another)"));
}

TEST_F(SimulateForms, ComparesHowManyLayersADeviceKeeps) {
  const auto table = simulate(placed_, {"--offload"});
  ASSERT_EQ(table.status, kDone) << table.err;
  EXPECT_THAT(table.out, StartsWith("offload_k  prefetch_layers  iteration  device memory"));
  EXPECT_THAT(table.out, HasSubstr("does not fit: "));
  EXPECT_THAT(table.out,
              HasSubstr("\nof 2.861 MiB of device memory; CoTrain's rule gives offload_k=2\n"));
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 1 + 3 + 1);

  const auto document = simulate(placed_, {"--offload", "--json"}).json();
  EXPECT_EQ(document.at("cotrain_offload_k"), 2);
  EXPECT_EQ(document.at("device_memory_bytes"), 3'000'000);
  const auto& candidates = document.at("candidates");
  ASSERT_EQ(candidates.size(), 3U);
  EXPECT_THAT(candidates[2].at("why_not").get<std::string>(), HasSubstr("device_memory_bytes"));
  EXPECT_FALSE(candidates[2].contains("iteration_ns"));
  EXPECT_EQ(candidates[2].at("best"), false);
  for (int k : {0, 1}) {
    const auto one =
        simulate(placed_, {"--json", "--set", "offload_k=" + std::to_string(k), "--set",
                           "prefetch_layers=" + candidates[k].at("prefetch_layers").dump()})
            .json();
    EXPECT_EQ(candidates[k].at("offload_k"), k);
    EXPECT_EQ(candidates[k].at("iteration_ns"), one.at("iteration_ns"));
    EXPECT_EQ(candidates[k].at("peak_bytes"), one.at("placement").at("peak_bytes"));
    EXPECT_EQ(candidates[k].at("best"), document.at("config").at("offload_k") == k);
  }
  EXPECT_EQ(candidates[1].at("busiest"), "stream");
  EXPECT_NEAR(candidates[1].at("busy_share").get<double>(), 6.1 / 6.15, 1e-6);
  EXPECT_THAT(table.out, HasSubstr("device, 99.2 %"));
  EXPECT_LT(candidates[1].at("iteration_ns"), candidates[0].at("iteration_ns"));
  EXPECT_EQ(document.at("config").at("offload_k"), 1);

  std::string roomy = kPlacedStep;
  roomy.replace(roomy.find("3000000"), 7, "9000000");
  const auto all = folder_.write("roomy.json", roomy);
  EXPECT_EQ(simulate(all).err, "hocket: `hocket simulate " + all +
                                   " --offload` compares how many layers the device keeps\n");
}

TEST_F(SimulateForms, ReplaysTheTapeOfAPlacedStep) {
  const auto tape = folder_.file("placed.tape"), trace = folder_.file("placed.trace");
  const auto answer =
      simulate(placed_, {"--record", tape, "--trace", trace, "--set", "offload_k=0"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  EXPECT_THAT(*read_file(trace), AllOf(HasSubstr("fetch w1"), HasSubstr("evict g1")));
  const auto replayed = ask_hocket({"tape", "replay", tape});
  EXPECT_EQ(replayed.status, kDone) << replayed.out << replayed.err;
}

}  // namespace
}  // namespace hocket
