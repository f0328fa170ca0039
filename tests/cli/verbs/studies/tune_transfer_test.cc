// Tests hocket tune with transfer from an earlier study.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/cli/program.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Reports an iteration of (X − CENTRE)² + 100 microseconds on RANKS ranks. With STOP set, the
/// third run writes its process id and blocks, unless the file "go" exists.
constexpr const char* kJob = R"(
if [ -n "$STOP" ]; then
  echo run >>runs
  if [ $(wc -l <runs) = 3 ] && [ ! -e go ]; then
    exec 3>pids
    echo $$ >&3
    exec sleep 1000
  fi
fi
n=$(( ((X-CENTRE)*(X-CENTRE) + 100) * 1000 ))
it="{\"wall_ns\":$n,\"compute_ns\":1,\"communication_ns\":1,\"exposed_ns\":0}"
cat >"$HOCKET_REPORT" <<END
{"format":"hocket-report","version":1,
 "topology":{"cpu_model":"x","sockets":1,"numa_nodes":1,"cores":1,"hardware_threads":1,
  "memory_gib":1,"link":"tcp","world_size":$RANKS,"library_versions":{}},
 "workload":{"name":"reporter","tensors":[{"name":"w","bytes":8}]},
 "config":{"format":"hocket-schedule","version":1},"config_source":"default",
 "iterations":[$it,$it,$it]}
END
)";

class TuneTransfer : public ::testing::Test {
 protected:
  static std::vector<std::string> arguments(std::vector<std::string> options) {
    options.insert(options.begin(), {"tune", "--param", "X=int:1..64", "--default", "X=50",
                                     "--confirm", "0", "--all-trials", "--json"});
    options.insert(options.end(), {"--", "sh", "-c", kJob});
    return options;
  }

  Ended tune(const std::string& ranks, const std::vector<std::string>& options,
             const std::string& centre = "20") const {
    return hocket_run(folder_, arguments(options), {{"RANKS", ranks}, {"CENTRE", centre}});
  }

  static std::int64_t x_of(const Ended& ended, std::size_t trial) {
    return ended.json().at("trials").at(trial).at("params").at("X");
  }

  TemporaryFolder folder_;
};

TEST_F(TuneTransfer, StartsFromTheNearestStudy) {
  const auto first = tune("2", {"--trials", "10", "--study", "two"});
  ASSERT_EQ(first.status, 3) << first.err;
  EXPECT_THAT(first.err, Not(HasSubstr("starts from")));
  const std::int64_t best = first.json().at("best").at("params").at("X");

  const auto second = tune("4", {"--trials", "3", "--seed", "9", "--study", "four"});
  ASSERT_EQ(second.status, 3) << second.err;
  EXPECT_THAT(second.err,
              HasSubstr("starts from study two at distance 1.0 (2 ranks instead of 4)\n"));
  EXPECT_EQ(x_of(second, 0), 50);
  EXPECT_EQ(x_of(second, 1), best);
  EXPECT_THAT(hocket_run(folder_, {"explain", "four"}).out,
              HasSubstr("among the best of study two, at distance 1.0"));

  const auto same = tune("4", {"--trials", "3"});
  EXPECT_THAT(same.err, HasSubstr("starts from study four at distance 0.0 (the same topology and "
                                  "workload)\n"));
  EXPECT_THAT(tune("4", {"--trials", "3", "--transfer", "two"}).err,
              HasSubstr("starts from study two at distance 1.0"));
  const auto none = tune("4", {"--trials", "3", "--no-transfer"});
  EXPECT_THAT(none.err, Not(HasSubstr("starts from")));
  EXPECT_THAT(tune("4096", {"--trials", "3", "--study", "far"}).err, Not(HasSubstr("starts from")));
  EXPECT_THAT(tune("4096", {"--trials", "3", "--transfer", "two"}).err,
              HasSubstr("starts from study two at distance 11.0"));
  EXPECT_THAT(tune("4", {"--trials", "3", "--method", "random"}).err,
              Not(HasSubstr("starts from")));
}

TEST_F(TuneTransfer, AResumedStudyKeepsWhatItStartedFromWhateverTheStoreHoldsByThen) {
  ASSERT_EQ(tune("2", {"--trials", "8", "--study", "earlier"}).status, 3);
  const auto own = arguments({"--trials", "7", "--study", "own", "--seed", "3"});
  const Program::Environment stopping = {{"RANKS", "4"}, {"CENTRE", "22"}, {"STOP", "1"}};
  Fifo fifo(folder_.file("pids"));
  Program program(folder_, own, stopping);
  ASSERT_EQ(fifo.read_pids(1).size(), 1U);
  program.signal(SIGTERM);
  ASSERT_EQ(program.wait().status, 130);
  fifo.wait_for_end();
  folder_.write("go", "");
  // Nearer than the study's donor, with its minimum elsewhere.
  ASSERT_EQ(tune("4", {"--trials", "8", "--study", "nearer"}, "40").status, 3);
  const auto resumed =
      hocket_run(folder_, {"tune", "--resume", "--study", "own", "--json"}, stopping);
  ASSERT_EQ(resumed.status, 3) << resumed.err;
  EXPECT_THAT(resumed.err, Not(HasSubstr("starts from")));

  const TemporaryFolder other;
  ASSERT_EQ(hocket_run(other, arguments({"--trials", "8", "--study", "earlier"}),
                       {{"RANKS", "2"}, {"CENTRE", "20"}})
                .status,
            3);
  const auto undisturbed = hocket_run(other, own, {{"RANKS", "4"}, {"CENTRE", "22"}});
  ASSERT_EQ(undisturbed.status, 3) << undisturbed.err;
  EXPECT_THAT(undisturbed.err, HasSubstr("starts from study earlier"));
  for (std::size_t trial = 0; trial < 7; ++trial)
    EXPECT_EQ(x_of(resumed, trial), x_of(undisturbed, trial)) << trial;
}

TEST_F(TuneTransfer, AnswersWrongArgumentsWithTwoBeforeAnythingRuns) {
  ASSERT_EQ(tune("2", {"--trials", "3", "--study", "two"}).status, 3);
  const std::vector<std::pair<std::vector<std::string>, std::string>> misuses = {
      {{"--transfer", "none"}, "none"},
      {{"--transfer", "two", "--no-transfer"}, "--transfer"},
      {{"--transfer", "two", "--method", "random"}, "--transfer"},
      {{"--transfer", "two", "--param", "Y=int:1..2"}, "its parameters are X"},
      {{"--transfer", "two", "--objective", "wall"}, "its objective was report"},
      {{"--transfer", "two", "--resume"}, "--resume"},
  };
  for (const auto& [options, named] : misuses) {
    SCOPED_TRACE(named);
    const auto ended = tune("2", options);
    EXPECT_EQ(ended.status, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, HasSubstr(named));
  }
  const auto studies = hocket_run(folder_, {"studies", "--json"}).json();
  EXPECT_EQ(studies.at("studies").size(), 1U);
}

}  // namespace
}  // namespace hocket
