#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/base/context.h"
#include "core/base/json.h"
#include "tests/cli/answer.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// `hocket explain STEP` needs no store.
class ExplainStep : public ::testing::Test {
 protected:
  static Answer ask_as_it_is(const std::vector<std::string>& arguments) {
    return ask_hocket(arguments);
  }

  TemporaryFolder folder_;
};

TEST_F(ExplainStep, SaysOfAPlacedStepHowManyLayersTheDeviceKeeps) {
  const auto step = folder_.write("placed.json",
                                  R"({"format":"hocket-step","version":1,
      "device_memory_bytes":4000000,"to_device":{"beta_ns_per_byte":0.1},
      "to_host":{"beta_ns_per_byte":0.2},
      "tasks":[{"name":"forward","duration_ns":1000000,"reads":["w"],"writes":["x"]},
               {"name":"backward","duration_ns":2000000,"reads":["w","x"],"writes":["g"]},
               {"name":"update","duration_ns":100000,"host_duration_ns":9000000,
                "updates_layer":0,"reads":["g"],"updates":["w","m"]}],
      "data":[{"name":"w","bytes":500000,"layer":0},{"name":"m","bytes":1000000,"layer":0},
              {"name":"g","bytes":500000},{"name":"x","bytes":100000}]})");
  const auto better = folder_.file("better.json");
  const auto answer = ask_as_it_is({"explain", step, "--output", better});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  EXPECT_THAT(answer.out, AllOf(HasSubstr("host, "), HasSubstr("device, "), HasSubstr("best")));
  const auto document = ask_as_it_is({"explain", step, "--json"}).json();
  EXPECT_EQ(document.at("candidates")[0].at("busiest"), "host");
  EXPECT_EQ(document.at("config").at("offload_k"), 1);
  EXPECT_EQ(ask_as_it_is({"explain", step, "--json", "--config", better}).json(), document);
}

/// Two hosts of four ranks; a flat all-reduce between them takes about as long as the computation.
constexpr const char* kSlowNetwork =
    R"({"format":"hocket-step","version":1,"ranks":8,"ranks_per_host":4,"channel_split":0,
        "links":{"host":"800gbit,1us","network":"8gbit,20us"},
        "layers":[{"name":"a","parameter_bytes":8000000,"forward_ns":4e6,"backward_ns":8e6},
                  {"name":"b","parameter_bytes":8000000,"forward_ns":4e6,"backward_ns":8e6},
                  {"name":"c","parameter_bytes":8000000,"forward_ns":4e6,"backward_ns":8e6}]})";

TEST_F(ExplainStep, AStepAsJson) {
  const auto step = folder_.write("slow.json", kSlowNetwork);
  const auto better = folder_.file("better.json");
  const auto answer = ask_as_it_is({"explain", step, "--json", "--output", better});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  const auto document = answer.json();
  EXPECT_EQ(document.at("of"), "step " + step);
  EXPECT_LT(document.at("iteration_ns"), document.at("baseline_ns"));
  EXPECT_GE(document.at("iteration_ns"), document.at("bound_ns"));
  EXPECT_EQ(document.at("changes").at("group_ranks"), 4);
  EXPECT_NEAR(document.at("speedup").get<double>(),
              document.at("baseline_ns").get<double>() / document.at("iteration_ns").get<double>(),
              1e-9);
  const auto& rejected = document.at("rejected");
  ASSERT_GT(rejected.size(), 10U);
  EXPECT_TRUE(std::any_of(rejected.begin(), rejected.end(), [](const auto& row) {
    return row.at("changes").empty();
  })) << "the base was rejected";
  for (const auto& row : rejected) {
    EXPECT_FALSE(row.at("instead").empty());
    EXPECT_FALSE(row.at("reason").get<std::string>().empty());
    if (row.at("iteration_ns").is_null()) continue;
    EXPECT_EQ(row.at("difference_ns").get<std::int64_t>(),
              row.at("iteration_ns").get<std::int64_t>() -
                  document.at("iteration_ns").get<std::int64_t>());
  }
  // The written configuration is the chosen one, and its prediction matches.
  EXPECT_EQ(nlohmann::json::parse(read_file(better).value()), document.at("config"));
  const auto simulated = ask_as_it_is({"simulate", step, "--config", better, "--json"}).json();
  EXPECT_EQ(simulated.at("iteration_ns"), document.at("iteration_ns"));
  EXPECT_EQ(simulated.at("bound_ns"), document.at("bound_ns"));
  // Nothing is left to improve from there.
  const auto again = ask_as_it_is({"explain", step, "--json", "--config", better}).json();
  EXPECT_LE(again.at("iteration_ns"), document.at("iteration_ns"));
  EXPECT_EQ(again.at("baseline_ns"), document.at("iteration_ns"));
}

TEST_F(ExplainStep, AStepAsText) {
  const auto step = folder_.write("slow.json", kSlowNetwork);
  const auto answer = ask_as_it_is({"explain", step});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  for (const char* line :
       {"how to partition it", "chosen ", "group_ranks=4", "iteration ", "of the base ",
        "speed-up ", "bound T* ", "looked at ", "rejected, with what differs from the choice",
        "hocket's defaults", "group_ranks=1", "(the base)", " %", "that differ in more"}) {
    EXPECT_THAT(answer.out, HasSubstr(line));
  }
}

TEST_F(ExplainStep, SaysWhyWhatIsFasterThanTheChoiceWasRejected) {
  // Hiding more of the communication gains less than predictions err.
  const auto step = folder_.write("nearly.json", R"({"format":"hocket-step","version":1,
        "layers":[{"name":"a","parameter_bytes":4000000,"forward_ns":4e6,"backward_ns":8e6},
                  {"name":"b","parameter_bytes":8000000,"forward_ns":400e6,"backward_ns":800e6}],
        "collective":{"beta_ns_per_byte":2}})");
  const auto answer = ask_as_it_is({"explain", step});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("the base: nothing is predicted to be clearly faster"));
  const auto document = ask_as_it_is({"explain", step, "--json"}).json();
  int faster = 0;
  for (const auto& row : document.at("rejected")) {
    if (row.at("difference_ns").is_null() || row.at("difference_ns") >= 0) continue;
    ++faster;
    const auto reason = row.at("reason").get<std::string>();
    EXPECT_THAT(reason, HasSubstr("faster, but by no more than predictions err"));
    EXPECT_THAT(reason, HasSubstr("of the base's knobs, the choice 0"));
    if (faster > 1) continue;
    EXPECT_THAT(answer.out, HasSubstr(reason));
  }
  EXPECT_GT(faster, 0);
}

TEST_F(ExplainStep, AStepFromWhatAFrameworkDoes) {
  const auto step = folder_.write("slow.json", kSlowNetwork);
  const auto answer = ask_as_it_is({"explain", step, "--preset", "ddp", "--json"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  EXPECT_THAT(answer.err, HasSubstr("note: DDP's first bucket"));
  EXPECT_EQ(answer.json().at("base").at("bucket_bytes"), 25 << 20);
  EXPECT_EQ(answer.json().at("base_name"), "DDP's defaults");
  EXPECT_THAT(ask_as_it_is({"explain", step, "--config",
                            R"({"format":"hocket-schedule","version":1,"bucket_bytes":8388608})"})
                  .err,
              HasSubstr("note: partition_bytes=4MiB decides, not bucket_bytes=8MiB"));
}

TEST_F(ExplainStep, AStepOnOtherRanksAndLinksIsTheOneThatIsSimulated) {
  const auto step = folder_.write("slow.json", kSlowNetwork), chosen = folder_.file("chosen.json");
  const std::vector<std::string> changes = {"--ranks",          "64",
                                            "--ranks-per-host", "8",
                                            "--link",           "host=300gbit,5us",
                                            "--link",           "network=25gbit,20us",
                                            "--compute-scale",  "0.5"};
  const auto ask_of = [&](const char* verb, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {verb, step});
    arguments.insert(arguments.end(), changes.begin(), changes.end());
    const auto answer = ask_as_it_is(arguments);
    EXPECT_EQ(answer.status, kDone) << answer.err;
    return answer;
  };
  const auto explained = ask_of("explain", {"--json", "--output", chosen}).json();
  EXPECT_EQ(explained.at("ranks"), 64);
  EXPECT_EQ(ask_of("simulate", {"--json"}).json().at("iteration_ns"), explained.at("baseline_ns"));
  EXPECT_EQ(ask_of("simulate", {"--json", "--config", chosen}).json().at("iteration_ns"),
            explained.at("iteration_ns"));
  EXPECT_THAT(ask_of("explain", {}).out, HasSubstr("ranks        64"));
  const auto unlinked = folder_.write(
      "unlinked.json", R"({"format":"hocket-step","version":1,"layers":[{"forward_ns":1000}]})");
  EXPECT_THAT(ask_as_it_is({"explain", unlinked, "--ranks", "64"}).err,
              HasSubstr("alpha and beta are kept as given for 1 ranks"));
}

TEST_F(ExplainStep, AStepOfManyTasksAndRanksIsNeverWorseThanAPreset) {
  std::string layers;
  for (int i = 0; i < 480; ++i) {
    layers += (i == 0 ? "" : ",") + std::string(R"({"parameter_bytes":)") +
              std::to_string((i % 7 + 1) * 30'000'000) +
              R"(,"forward_ns":4000000,"backward_ns":8000000})";
  }
  const auto step =
      folder_.write("many.json", R"({"format":"hocket-step","version":1,"ranks":512,)"
                                 R"("ranks_per_host":8,"links":{"host":"300gbit,5us",)"
                                 R"("network":"25gbit,20us"},"layers":[)" +
                                     layers + "]}");
  const auto answer = ask_as_it_is({"explain", step, "--json"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  const auto chosen_ns = answer.json().at("iteration_ns").get<std::int64_t>();
  EXPECT_EQ(answer.json().at("complete"), answer.err.find("cut short") == std::string::npos);
  EXPECT_EQ(answer.json().at("complete"), false) << "the test is of a search that is cut short";
  for (const char* preset : {"ddp", "fsdp", "horovod", "hocket"}) {
    const auto simulated = ask_as_it_is({"simulate", step, "--preset", preset, "--json"});
    EXPECT_LE(chosen_ns, simulated.json().at("iteration_ns").get<std::int64_t>()) << preset;
  }
}

TEST_F(ExplainStep, AStepThatNothingHelpsKeepsTheBase) {
  const auto step = folder_.write(
      "alone.json", R"({"format":"hocket-step","version":1,"layers":[{"forward_ns":1000}]})");
  const auto answer = ask_as_it_is({"explain", step});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("the base: nothing is predicted to be clearly faster"));
  EXPECT_THAT(answer.out, HasSubstr("speed-up     1.000"));
}

TEST_F(ExplainStep, AStepThatCannotBeExplained) {
  const auto refused = [](const std::vector<std::string>& arguments) {
    const auto answer = ask_as_it_is(arguments);
    EXPECT_EQ(answer.status, kBadInput);
    EXPECT_EQ(answer.out, "");
    return answer.err;
  };
  const auto step = folder_.write("slow.json", kSlowNetwork);
  EXPECT_THAT(refused({"explain", folder_.file("none.json")}), HasSubstr("none.json"));
  EXPECT_THAT(refused({"explain", folder_.write("other", "no JSON")}), HasSubstr("other"));
  EXPECT_THAT(refused({"explain", step, "--config",
                       R"({"format":"hocket-schedule","version":1,"group_ranks":3})"}),
              HasSubstr("group_ranks"));
  EXPECT_THAT(refused({"explain", step, "--config",
                       R"({"format":"hocket-schedule","version":1,
                           "regions":{"d":{"priority":1}}})"}),
              AllOf(HasSubstr("regions.d"), HasSubstr("slow.json")));
  EXPECT_THAT(refused({"explain", step, "--config", folder_.file("nowhere")}),
              HasSubstr("--config"));
  EXPECT_THAT(refused({"explain", "a-study", "--output", folder_.file("o")}),
              HasSubstr("--output"));
  EXPECT_THAT(refused({"explain", "a-study", "--preset", "ddp"}), HasSubstr("--preset"));
  EXPECT_THAT(refused({"explain", step, "--preset", "dpp"}), HasSubstr("the nearest is ddp"));
  EXPECT_THAT(refused({"explain", "a-study", "--ranks", "64"}), HasSubstr("--ranks"));
  EXPECT_THAT(refused({"explain", step, "--ranks", "0"}), HasSubstr("ranks"));
  EXPECT_THAT(refused({"explain", step, "--link", "rack=1gbit"}), HasSubstr("network="));
}

}  // namespace
}  // namespace hocket
