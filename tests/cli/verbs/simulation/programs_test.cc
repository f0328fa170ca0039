// Tests the verbs that take a step description on one whose ranks run different programs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/base/context.h"
#include "core/base/json.h"
#include "core/trace/paired_collectives.h"
#include "profiler/formats/chrome_import.h"
#include "tests/cli/answer.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
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

/// Simulates each rank of the pipeline, and returns the files of their timelines.
std::vector<std::string> timelines_of_all_ranks(const TemporaryFolder& folder) {
  std::vector<std::string> paths;
  for (int rank = 0; rank < 16; ++rank) {
    paths.push_back(folder.file("rank-" + std::to_string(rank) + ".json"));
    const auto answer = simulate_pipeline({"--set", "order=static", "--iterations", "12", "--rank",
                                           std::to_string(rank), "--trace", paths.back()});
    EXPECT_EQ(answer.status, kDone) << answer.err;
  }
  return paths;
}

TEST(ProgramsOfRanks, HaveTheirGroupsKindsAndPairsInTheirTimelines) {
  TemporaryFolder folder;
  std::vector<RankTrace> traces;
  for (const std::string& path : timelines_of_all_ranks(folder)) {
    std::istringstream text(read_file(path).value());
    const auto read = read_chrome_trace(text);
    ASSERT_TRUE(read) << read.error().message;
    traces.push_back(read->traces.at(0));
    EXPECT_EQ(traces.back().ranks, 16);
  }
  std::set<std::string> groups;
  std::size_t messages = 0, collectives = 0;
  const PairedCollectives paired(traces);
  for (std::size_t i = 0; i < paired.size(); ++i) {
    const PairedCollective part = paired[i];
    const MemberGroup& group = paired.groups()[part.group];
    ++(paired.is_of_message(i) ? messages : collectives);
    groups.insert(group.name);
    ASSERT_TRUE(paired.is_complete(i)) << group.name << " " << part.sequence;
    ASSERT_TRUE(paired.is_alike(i)) << group.name << " " << part.sequence;
    // All members have a part at once, so that a pairing that is shifted by one shows.
    std::int64_t last_begin_ns = 0, first_end_ns = std::numeric_limits<std::int64_t>::max();
    for (const TraceRecord* record : part.parts) {
      last_begin_ns = std::max(last_begin_ns, record->begin_ns);
      first_end_ns = std::min(first_end_ns, record->end_ns);
      EXPECT_EQ(record->step, part.parts[0]->step);
      EXPECT_EQ(record->end_ns, part.parts[0]->end_ns) << group.name << " " << part.sequence;
    }
    EXPECT_LE(last_begin_ns, first_end_ns);
  }
  EXPECT_GT(messages, 0U);
  EXPECT_GT(collectives, 0U);
  EXPECT_THAT(groups, AllOf(Contains("tensor"), Contains("data"), Contains("0 to 4"),
                            Contains("4 to 0"), Contains("11 to 15"), Not(Contains("0 to 1"))));
}

TEST(ProgramsOfRanks, OfEqualStagesAreNoStragglers) {
  TemporaryFolder folder;
  const std::string store = folder.file("store.db");
  std::vector<std::string> import{"profiles", "import"};
  for (const std::string& path : timelines_of_all_ranks(folder)) import.push_back(path);
  import.insert(import.end(), {"--name", "pipeline", "--store", store});
  const auto imported = ask_hocket(import);
  ASSERT_EQ(imported.status, kDone) << imported.err;
  EXPECT_THAT(imported.out + imported.err, AllOf(HasSubstr("it sends or receives messages"),
                                                 HasSubstr("nothing can be predicted")));
  const auto answer = ask_hocket({"stragglers", "pipeline", "--store", store, "--json"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  const auto document = answer.json();
  EXPECT_NE(document.at("verdict"), "late_ranks");
  EXPECT_NE(document.at("verdict"), "too_few");
  for (const auto& rank : document.at("ranks")) EXPECT_EQ(rank.at("pattern"), "none");
  EXPECT_THAT(document.at("notes").dump(), HasSubstr("messages between two ranks do not count"));
  for (const auto& collective : document.at("collectives"))
    EXPECT_THAT(collective.at("group"), AnyOf("tensor", "data"));
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
