// Tests hocket simulate --profile.

#include "cli/inputs/step/measured_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/application.h"
#include "cli/base/context.h"
#include "core/base/json.h"
#include "tests/archive/profiles/profiled_job.h"
#include "tests/cli/answer.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class SimulateProfile : public ::testing::Test {
 protected:
  Answer simulate(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"simulate", "--store", job_.path});
    return ask_hocket(arguments);
  }
  Answer of_profile(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--profile", name_, "--json"});
    return simulate(std::move(arguments));
  }
  double iteration_ns(const std::vector<std::string>& arguments) const {
    const auto answer = of_profile(arguments);
    EXPECT_EQ(answer.status, kDone) << answer.err;
    return answer.json().value("iteration_ns", 0.0);
  }

  ProfiledJob job_;
  const std::string name_ = job_.add().name;
};

TEST_F(SimulateProfile, PredictsFromTheMeasuredConfiguration) {
  const auto answer = of_profile({});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  EXPECT_EQ(answer.json()["config"]["partition_bytes"], 1 << 20);
  EXPECT_THAT(answer.err,
              AllOf(HasSubstr("profile " + name_), HasSubstr("predicted for what took")));
  const auto document = answer.json();
  const auto& profile = document["profile"];
  EXPECT_EQ(profile["profile"], name_);
  EXPECT_EQ(profile["predicted_ns"], answer.json()["iteration_ns"]);
  EXPECT_NEAR(profile["error"].get<double>(), 0, 0.02);

  ScheduleConfig other = small_options().config;
  other.partition_bytes = 4 << 20;
  const auto truth = must(hocket::simulate(small_step(), {.config = other})).iteration_ns;
  EXPECT_NEAR(iteration_ns({"--set", "partition_bytes=4MiB"}) / double(truth), 1, 0.03);
}

TEST_F(SimulateProfile, ASweepHasTheErrorInEachRow) {
  const auto answer = of_profile({"--sweep", "partition_bytes=1MiB,4MiB"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  ASSERT_EQ(answer.json().size(), 2U);
  for (const auto& row : answer.json()) EXPECT_EQ(row["profile"]["profile"], name_);
}

TEST_F(SimulateProfile, SaysOnceWhyAPredictionIsAGuess) {
  EXPECT_THAT(of_profile({}).err, Not(HasSubstr("is a guess")));
  const auto answer =
      of_profile({"--sweep", "partition_bytes=64KiB,1MiB", "--sweep", "order=fifo,static"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  const auto first = answer.err.find("is a guess");
  ASSERT_NE(first, std::string::npos) << answer.err;
  EXPECT_EQ(answer.err.find("is a guess", first + 1), std::string::npos) << answer.err;
  const auto rows = answer.json();
  const auto doubts = [](const auto& row) { return row["profile"]["notes"].dump(); };
  EXPECT_THAT(doubts(rows[0]), HasSubstr("is a guess"));
  EXPECT_THAT(doubts(rows[3]), Not(HasSubstr("is a guess")));
}

TEST_F(SimulateProfile, OtherRanksUseTheMeasuredLinkAndItsAbsenceIsNamed) {
  EXPECT_GT(iteration_ns({"--ranks", "8", "--ranks-per-host", "8"}), 0);
  const auto missing = of_profile({"--ranks", "8"});
  EXPECT_EQ(missing.status, kBadInput);
  EXPECT_THAT(missing.err, AllOf(HasSubstr("(network)"), HasSubstr("--link network=")));
  const double slow = iteration_ns({"--ranks", "8", "--link", "network=100mbit"});
  const double fast = iteration_ns({"--ranks", "8", "--link", "network=100gbit"});
  EXPECT_GT(slow, fast);
  EXPECT_GT(iteration_ns({"--algorithm", "ring"}), 0);
  EXPECT_THAT(of_profile({"--ranks", "0"}).err, HasSubstr("ranks"));
  EXPECT_THAT(of_profile({"--link", "rack=1gbit"}).err, HasSubstr("network="));
  EXPECT_THAT(of_profile({"--seed", "-1"}).err, HasSubstr("--seed"));
}

TEST_F(SimulateProfile, WritesTheStepThatItSimulates) {
  const std::string path = job_.folder.file("step.json");
  const double first = iteration_ns({"--step-out", path, "--set", "credit_bytes=8MiB"});
  std::ostringstream out, err;
  const auto config = to_json(small_options().config).dump();
  ASSERT_EQ(
      run_hocket({"simulate", path, "--json", "--config", config, "--set", "credit_bytes=8MiB"},
                 out, err, 0),
      kDone)
      << err.str();
  EXPECT_EQ(nlohmann::json::parse(out.str())["iteration_ns"], first);
  EXPECT_EQ(of_profile({"--step-out", "/dev/full"}).status, kFailed);
}

TEST_F(SimulateProfile, TheSpeedUpIsAgainstWhatTheJobRanWith) {
  const std::string recorded = "what profile " + name_ + " ran with";
  const double recorded_ns = iteration_ns({});
  for (const std::vector<std::string>& change :
       {std::vector<std::string>{"--set", "partition_bytes=2MiB"},
        std::vector<std::string>{"--preset", "ddp"}}) {
    const auto document = of_profile(change).json();
    EXPECT_EQ(document["baseline"]["name"], recorded);
    EXPECT_EQ(document["baseline"]["iteration_ns"], recorded_ns);
    EXPECT_DOUBLE_EQ(document["speedup"], recorded_ns / document["iteration_ns"].get<double>());
  }
  const auto other = of_profile({"--baseline", "hocket"}).json();
  EXPECT_EQ(other["baseline"]["name"], "hocket's defaults");
  EXPECT_EQ(other["iteration_ns"], recorded_ns);
}

TEST_F(SimulateProfile, ScalesComputations) {
  EXPECT_LT(iteration_ns({"--compute-scale", "0.5"}), iteration_ns({}));
  EXPECT_THAT(of_profile({"--compute-scale", "0"}).err, HasSubstr("--compute-scale"));
}

TEST_F(SimulateProfile, WithholdsComparisonsOfAStepThatIsNotPredictedItself) {
  const std::string bad = job_.add_traces(ProfiledJob::paused_traces()).name;
  const std::string file = job_.folder.file("bad.json");
  const auto measured = simulate({"--profile", bad, "--step-out", file});
  EXPECT_EQ(measured.status, kDone) << measured.err;
  EXPECT_THAT(measured.err, HasSubstr("only the measured configuration is predicted: "));
  EXPECT_THAT(measured.out, Not(HasSubstr("speed-up")));
  EXPECT_TRUE(simulate({"--profile", bad, "--json"}).json().at("speedup").is_null());
  const std::vector<std::vector<std::string>> changes = {{"--set", "partition_bytes=4MiB"},
                                                         {"--sweep", "order=fifo,static"},
                                                         {"--link", "host=200gbit,5us"},
                                                         {"--ranks", "4", "--ranks-per-host", "4"},
                                                         {"--preset", "ddp"},
                                                         {"--baseline", "ddp"},
                                                         {"--bandwidth-scale", "2"},
                                                         {"--compute-scale", "0.5"}};
  for (const auto& change : changes) {
    SCOPED_TRACE(change.back());
    auto arguments = change;
    arguments.insert(arguments.end(), {"--profile", bad});
    const auto refused = simulate(arguments);
    EXPECT_EQ(refused.status, 2);
    EXPECT_EQ(refused.out, "");
    EXPECT_THAT(refused.err, AllOf(HasSubstr("too short"), HasSubstr("record ten steps")));
  }
  for (const std::string verb : {"simulate", "explain"}) {
    const auto refused = ask_hocket({verb, file});
    EXPECT_EQ(refused.status, 2) << verb;
    EXPECT_EQ(refused.out, "");
    EXPECT_THAT(refused.err, HasSubstr("record ten steps"));
  }
}

TEST_F(SimulateProfile, TwiceTheBandwidthHalvesWhatDependsOnIt) {
  const auto usual = of_profile({}).json(), twice = of_profile({"--bandwidth-scale", "2"}).json();
  EXPECT_EQ(twice["compute_ns"], usual["compute_ns"]);
  EXPECT_LT(twice["communication_ns"], usual["communication_ns"]);
  EXPECT_LT(2 * iteration_ns({"--bandwidth-scale", "0.1"}),
            iteration_ns({"--bandwidth-scale", "0.01"}));
  EXPECT_THAT(of_profile({"--bandwidth-scale", "0"}).err, HasSubstr("--bandwidth-scale"));
}

TEST_F(SimulateProfile, WantsOneOfTheTwoAndAProfileThatIsThere) {
  EXPECT_THAT(simulate({}).err, HasSubstr("--profile"));
  EXPECT_THAT(simulate({"step.json", "--profile", name_}).err, HasSubstr("one of the two"));
  EXPECT_THAT(simulate({"--profile", "none"}).err, HasSubstr("hocket profiles list"));
  must(job_.store->add_profile({.name = "bare"}));
  const auto bare = simulate({"--profile", "bare"});
  EXPECT_EQ(bare.status, kBadInput);
  EXPECT_THAT(bare.err, HasSubstr("no trace can be read"));
}

TEST(CheckText, SaysInWhichDirectionItIsWrong) {
  MeasuredJob job{.name = "p", .profile = {.calibration = {.step = {}}, .config = {}}, .check = {}};
  job.check = {.measured_ns = 1e6, .predicted_ns = 1.1e6};
  EXPECT_EQ(check_text(job), "profile p: 1.1 ms predicted for what took 1 ms (10.0 % too long)");
  job.check = {.measured_ns = 1e6, .predicted_ns = 0.9e6};
  EXPECT_THAT(check_text(job), HasSubstr("(10.0 % too short)"));
}

}  // namespace
}  // namespace hocket
