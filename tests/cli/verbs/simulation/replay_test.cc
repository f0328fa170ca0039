#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "cli/application.h"
#include "cli/base/context.h"
#include "cli/views/result_view.h"
#include "core/description/step_description.h"
#include "core/sim/simulator.h"
#include "tests/cli/answer.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kStep =
    R"({"format":"hocket-step","version":1,
        "layers":[{"parameter_bytes":1000000,"forward_ns":500000,"backward_ns":1000000},
                  {"parameter_bytes":4000000,"forward_ns":500000,"backward_ns":1000000},
                  {"parameter_bytes":16000000,"forward_ns":1000000,"backward_ns":2000000}],
        "collective":{"alpha_ns":40000,"beta_ns_per_byte":0.2,"latency_ns":100000}})";

/// Returns a recorded sweep of kStep over the knobs: two measurements of each setting, with 1 %
/// noise.
std::string simulated_sweep() {
  const auto step = parse_step_description(kStep).value();
  std::mt19937_64 random(1);
  std::string text = "partition_bytes,credit_bytes,order,iteration_ns\n";
  for (const std::int64_t partition_bytes : {256 << 10, 1 << 20, 4 << 20, 16 << 20}) {
    for (const std::int64_t credit_bytes : {1 << 20, 4 << 20, 16 << 20}) {
      for (const CollectiveOrder order : {CollectiveOrder::fifo, CollectiveOrder::static_order}) {
        SimulationOptions options;
        options.config.partition_bytes = partition_bytes;
        options.config.credit_bytes = credit_bytes;
        options.config.order = order;
        const auto iteration_ns = simulate(step, options).value().iteration_ns;
        for (int i = 0; i < 2; ++i) {
          const auto noise_ns = static_cast<std::int64_t>(random() % 1000) * iteration_ns / 100'000;
          text += std::to_string(partition_bytes) + "," + std::to_string(credit_bytes) + "," +
                  std::string(to_string(order)) + "," + std::to_string(iteration_ns + noise_ns) +
                  "\n";
        }
      }
    }
  }
  return text;
}

Answer ask_replay(const std::vector<std::string>& arguments) {
  return ask_hocket(arguments);
}

class Replay : public ::testing::Test {
 protected:
  Answer replay(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"replay", sweep_});
    return ask_replay(arguments);
  }
  Answer replay_times(std::vector<std::string> arguments = {}) const {
    arguments.insert(arguments.begin(), {"--objective-column", "iteration_ns"});
    return replay(std::move(arguments));
  }

  TemporaryFolder folder_;
  const std::string sweep_ = folder_.write("sweep.csv", simulated_sweep());
  const std::string step_ = folder_.write("step.json", kStep);
};

TEST_F(Replay, PrintsEachTrialWithTheRecommendationAfterIt) {
  for (const char* method : {"model", "random", "sobol", "tpe", "grid"}) {
    SCOPED_TRACE(method);
    const auto answer =
        replay_times({"--method", method, "--json", "--trials", "9", "--seed", "4", "--default",
                      "partition_bytes=4M,credit_bytes=16777216,order=fifo"});
    ASSERT_EQ(answer.status, kDone) << answer.err;
    const auto document = answer.json();
    EXPECT_EQ(document.at("method"), method);
    EXPECT_EQ(document.at("seed"), 4);
    const auto& trials = document.at("trials");
    ASSERT_EQ(trials.size(), 9U);
    EXPECT_EQ(trials[0].at("params"),
              (nlohmann::json{
                  {"partition_bytes", 4 << 20}, {"credit_bytes", 16 << 20}, {"order", "fifo"}}));
    std::set<nlohmann::json> seen;
    for (const auto& trial : trials) {
      EXPECT_TRUE(seen.insert(trial.at("params")).second);
      EXPECT_GT(trial.at("value").get<double>(), 0);
      EXPECT_EQ(trial.at("recommended").size(), 3U);
      EXPECT_TRUE(trial.at("recommended").at("order").is_string());
      EXPECT_TRUE(trial.at("recommended").at("partition_bytes").is_number_integer());
    }
    // The model may recommend a setting that was not measured.
    if (method != std::string_view("model")) {
      EXPECT_EQ(trials[0].at("recommended"), trials[0].at("params"));
    }
  }
}

TEST_F(Replay, RepeatsASeed) {
  const auto first = replay_times({"--json", "--seed", "3", "--method", "tpe"});
  ASSERT_EQ(first.status, kDone) << first.err;
  EXPECT_EQ(first.json().at("trials").size(), 20U);
  EXPECT_EQ(replay_times({"--json", "--seed", "3", "--method", "tpe"}).out, first.out);
  EXPECT_NE(replay_times({"--json", "--seed", "5", "--method", "tpe"}).out, first.out);
}

TEST_F(Replay, PrintsATable) {
  const auto answer = replay_times({"--trials", "5", "--step", step_});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  EXPECT_EQ(answer.err, "");
  EXPECT_THAT(answer.out, AllOf(::testing::StartsWith("trial  partition_bytes"),
                                HasSubstr("recommended so far"), HasSubstr(" ms")));
  EXPECT_EQ(std::count(answer.out.begin(), answer.out.end(), '\n'), 1 + 5 + 1);
}

TEST_F(Replay, StartsFromAnotherTable) {
  // The minimum is at a = 6, b = y. The donor has another order of columns, and a value that is
  // missing here.
  std::string text = "a,b,value\n", other = "b,a,value\n";
  for (int a = 1; a <= 9; ++a) {
    for (const char* b : {"x", "y", "z"}) {
      const int value = 10 + (a - 6) * (a - 6) + (*b == 'y' ? 0 : 5);
      text += std::to_string(a) + "," + b + "," + std::to_string(value) + "\n";
      other += std::string(b) + "," + std::to_string(a) + "," + std::to_string(3 * value) + "\n";
    }
  }
  other += "y,77,1\n";
  const std::string own = folder_.write("own.csv", text);
  const std::string donor = folder_.write("donor.csv", other);
  const auto answer = ask_replay(
      {"replay", own, "--transfer", donor, "--default", "a=1,b=x", "--trials", "5", "--json"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  const auto trials = answer.json().at("trials");
  EXPECT_EQ(trials[0].at("params"), (nlohmann::json{{"a", 1}, {"b", "x"}}));
  EXPECT_EQ(trials[1].at("params"), (nlohmann::json{{"a", 6}, {"b", "y"}}));
  EXPECT_EQ(trials[1].at("reason"), "among the best of study " + donor);

  const auto refusal = [&](const std::string& table, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"replay", own, "--transfer", table});
    const auto refused = ask_replay(more);
    EXPECT_EQ(refused.status, kBadInput);
    EXPECT_EQ(refused.out, "");
    return refused.err;
  };
  EXPECT_THAT(refusal(folder_.file("none.csv")), AllOf(HasSubstr("--transfer"), HasSubstr("none")));
  EXPECT_THAT(refusal(sweep_), HasSubstr("no column \"value\""));
  EXPECT_THAT(refusal(folder_.write("c.csv", "a,c,value\n1,2,3\n2,3,4\n")),
              HasSubstr("expected the columns of"));
  EXPECT_THAT(refusal(folder_.write("a.csv", "a,value\n1,3\n2,4\n")),
              HasSubstr("expected the columns of"));
  EXPECT_THAT(refusal(folder_.write("far.csv", "a,b,value\n100,x,3\n200,y,4\n")),
              HasSubstr("no setting in it"));
  EXPECT_THAT(refusal(donor, {"--method", "tpe"}), HasSubstr("--transfer"));
}

TEST_F(Replay, FailedTrialsHaveNoValue) {
  const std::string path = folder_.write("failed.csv", "a,value\n1,oom\n2,5\n3,\n");
  const auto answer = ask_replay({"replay", path, "--json", "--default", "a=1", "--trials", "3"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  const auto trials = answer.json().at("trials");
  EXPECT_EQ(trials[0].at("value"), nullptr);
  EXPECT_EQ(trials[0].at("recommended"), (nlohmann::json{{"a", 1}}));
  EXPECT_EQ(trials[2].at("recommended"), (nlohmann::json{{"a", 2}}));
  EXPECT_THAT(ask_replay({"replay", path}).out, HasSubstr("failed"));
}

TEST_F(Replay, SaysWhenNothingIsLeft) {
  const std::string path = folder_.write("few.csv", "a b,value\n1,4\n2,5\n3,6\n");
  const auto answer = ask_replay({"replay", path, "--json"});
  ASSERT_EQ(answer.status, kDone);
  EXPECT_EQ(answer.json().at("trials").size(), 3U);
  EXPECT_TRUE(answer.json().at("trials")[0].at("params").contains("a b"));
  EXPECT_THAT(answer.err, HasSubstr("all of which were tried"));
}

struct Misuse {
  std::vector<std::string> arguments;
  std::string named;
};

TEST_F(Replay, AnswersWrongArgumentsWithTwoAndTheirName) {
  const std::string broken_step = folder_.write("broken.json", "{");
  const std::vector<Misuse> misuses = {
      {{"--default", "speed=1"}, "\"speed\""},
      {{"--default", "order=priority"}, "fifo, static"},
      {{"--default", "partition_bytes=5"}, "expected one of 262144"},
      {{"--default", "partition_bytes"}, "COLUMN=VALUE"},
      {{"--ignore-column", "speed"}, "\"speed\""},
      {{"--method", "annealing"}, "model, random, sobol, tpe, grid"},
      {{"--trials", "0"}, "from 1 to 10000"},
      {{"--seed", "-1"}, "--seed"},
      {{"--step", folder_.file("none.json")}, "none.json"},
      {{"--step", broken_step}, "broken.json"},
  };
  for (const auto& [arguments, named] : misuses) {
    SCOPED_TRACE(arguments.back());
    const auto answer = replay_times(arguments);
    EXPECT_EQ(answer.status, kBadInput);
    EXPECT_EQ(answer.out, "");
    EXPECT_THAT(answer.err, AllOf(::testing::StartsWith("hocket: "), HasSubstr(named)));
    EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1);
  }
  EXPECT_THAT(replay({}).err, HasSubstr("no column \"value\""));
  EXPECT_THAT(ask_replay({"replay", folder_.file("none.csv")}).err, HasSubstr("none.csv"));
  const std::string one = folder_.write("one.csv", "a,value\n1,4\n1,5\n");
  EXPECT_THAT(ask_replay({"replay", one}).err, HasSubstr("nothing to choose"));
  EXPECT_EQ(ask_replay({"replay", one}).status, kBadInput);
}

TEST_F(Replay, AStudyIsASweepToo) {
  std::vector<TrialRow> rows(4);
  const std::vector<nlohmann::json> params = {{{"A", 4}, {"B", "x, \"y\""}, {"value", 0.25}},
                                              {{"A", 8}, {"B", "z"}, {"value", 1.5}},
                                              {{"A", 8}, {"B", "x, \"y\""}, {"value", 0.25}},
                                              {{"A", 16}, {"B", "z"}, {"value", 1.5}}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].state = TrialState::complete;
    rows[i].params = params[i];
    rows[i].value = 0.1 + static_cast<double>(i);
  }
  rows[1].state = TrialState::timeout;
  rows[1].value.reset();
  auto all = rows;
  all.push_back(rows[0]);
  all.back().phase = TrialPhase::confirm;
  all.back().number = 5;
  all.back().spread = 0.5;
  all.back().measurements["peak_memory_bytes"] = {4096};
  all.back().started_at_ns = 1'700'000'000'000'000'000;
  all.back().finished_at_ns = 1'700'000'001'250'000'000;
  all.push_back(rows[0]);
  all.back().state = TrialState::running;
  std::ostringstream csv;
  print_trials_csv(csv, all, {});
  EXPECT_THAT(csv.str(),
              ::testing::StartsWith("A,B,value,value_,trial:number,trial:phase,trial:state,"
                                    "trial:spread,trial:started_at,trial:seconds,"
                                    "trial:peak_memory_bytes\n"
                                    "4,\"x, \"\"y\"\"\",0.25,0.1,0,search,complete,,"));
  EXPECT_THAT(csv.str(), ::testing::HasSubstr(",1.5,,0,search,timeout,,"));
  EXPECT_THAT(csv.str(), ::testing::EndsWith("\n4,\"x, \"\"y\"\"\",0.25,0.1,5,confirm,complete,0.5,"
                                             "2023-11-14T22:13:20Z,1.25,4096\n"));

  const std::string path = folder_.write("study.csv", csv.str());
  const auto answer = ask_replay({"replay", path, "--objective-column", "value_", "--json"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  std::set<std::pair<nlohmann::json, nlohmann::json>> expected, replayed;
  for (const auto& row : rows) {
    expected.emplace(row.params, row.value ? nlohmann::json(*row.value) : nlohmann::json());
  }
  const auto document = answer.json();
  for (const auto& trial : document.at("trials")) {
    replayed.emplace(trial.at("params"), trial.at("value"));
  }
  EXPECT_EQ(replayed, expected);
}

}  // namespace
}  // namespace hocket
