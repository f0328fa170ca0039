// Tests the verbs that take a step description on one whose ranks run different programs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
using ::testing::Not;

const std::string kPipeline = HOCKET_SOURCE_DIR "/examples/steps/pipeline.json";

Answer simulate_pipeline(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"simulate", kPipeline});
  return ask_hocket(arguments);
}

TEST(ProgramsOfRanks, ArePredictedInAnOrderThatHasNoCircle) {
  const auto naive = simulate_pipeline({});
  EXPECT_EQ(naive.status, kBadInput);
  EXPECT_THAT(naive.err, AllOf(HasSubstr("in a circle"), HasSubstr("\"send for "),
                               HasSubstr("set order=static")));
  const auto answer = simulate_pipeline({"--set", "order=static"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  EXPECT_THAT(answer.out, AllOf(HasSubstr("16 (4 simulated"), HasSubstr("parts a step, on rank 0"),
                                Not(HasSubstr("η"))));
  EXPECT_THAT(answer.err, Not(HasSubstr("hocket explain")));
  const auto document = simulate_pipeline({"--set", "order=static", "--json"}).json();
  EXPECT_TRUE(document.at("efficiency").is_null());
  EXPECT_GE(document.at("iteration_ns"), document.at("bound_ns"));
}

TEST(ProgramsOfRanks, FollowTheChangesOfTheStep) {
  const auto ns = [](std::vector<std::string> arguments) -> std::int64_t {
    arguments.insert(arguments.end(), {"--set", "order=static", "--json"});
    return simulate_pipeline(std::move(arguments)).json().at("iteration_ns");
  };
  const std::int64_t as_given = ns({});
  EXPECT_GT(ns({"--compute-scale", "2"}), as_given * 5 / 4);
  EXPECT_GT(ns({"--bandwidth-scale", "0.1"}), as_given * 3 / 2);
}

TEST(ProgramsOfRanks, ShowTheirMessagesInATimeline) {
  TemporaryFolder folder;
  const std::string path = folder.file("timeline.json");
  const auto answer = simulate_pipeline({"--set", "order=static", "--rank", "5", "--trace", path});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  EXPECT_THAT(read_file(path).value(),
              AllOf(HasSubstr("receive for forward 1 of 0"), HasSubstr("send for forward 2 of 0")));
}

TEST(ProgramsOfRanks, AreRefusedWhereOneProgramIsMeant) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"explain", kPipeline},
           {"tune", "--step", kPipeline, "--objective", "regex:t=(.*)", "--", "echo", "t=1"}}) {
    SCOPED_TRACE(arguments.front());
    const auto answer = ask_hocket(arguments);
    EXPECT_NE(answer.status, kDone);
    EXPECT_THAT(answer.err, HasSubstr("in which all ranks take part in everything"));
  }
}

}  // namespace
}  // namespace hocket
