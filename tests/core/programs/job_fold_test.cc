#include "core/programs/job_fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/programs/fold_order.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Two pipelines of two stages with two tensor ranks each, on two hosts.
class JobFoldTest : public ::testing::Test {
 protected:
  JobFoldTest() {
    step_.ranks = 8;
    step_.ranks_per_host = 4;
    step_.mesh = {{"pipeline", 2}, {"data", 2}, {"tensor", 2}};
    step_.cluster = Cluster{{1e9, 1000}, {1e8, 9000}};
    step_.programs = {{.name = "first", .at = {{"pipeline", {0}}}, .data = {}, .tasks = {}},
                      {.name = "last", .at = {{"pipeline", {1}}}, .data = {}, .tasks = {}}};
  }

  StepTask& add(std::size_t program, const char* name, const char* group,
                CollectiveKind kind = CollectiveKind::all_reduce, std::int64_t bytes = 64) {
    StepTask& task = step_.programs[program].tasks.emplace_back();
    task.name = name;
    task.collective = kind;
    task.bytes = bytes;
    task.group = mesh_of(step_).parse_group(group).value();
    return task;
  }
  void add_message(const char* group = "pipeline") {
    add(0, "on", group, CollectiveKind::send).peer = MessagePeer{1, true};
    add(1, "from", group, CollectiveKind::receive).peer = MessagePeer{-1, true};
  }
  JobFold fold() const {
    auto fold = fold_job(step_);
    EXPECT_TRUE(fold) << fold.error().message;
    return std::move(*fold);
  }
  std::string error() const {
    const auto fold = fold_job(step_);
    if (!fold) return fold.error().message;
    const auto order = check_order_of_submission(*fold);
    return order ? "no error" : order.error().message;
  }

  StepDescription step_;
};

TEST_F(JobFoldTest, RanksOfAProgramAreAlike) {
  add_message();
  add(0, "sum", "data+tensor");
  add(1, "sum", "data+tensor");
  const JobFold folded = fold();
  EXPECT_THAT(folded.class_of, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_THAT(folded.classes, ElementsAre(RankClass{0, 4, 1, 0}, RankClass{4, 4, 1, 1}));
  // Four messages are one, and the sums of two stages are two.
  ASSERT_EQ(folded.communications.size(), 3u);
  const FoldedCommunication& message = folded.communications[folded.begun[0][0]];
  EXPECT_EQ(folded.begun[1][0], folded.begun[0][0]);
  EXPECT_THAT(message.members, ElementsAre(0, 1));
  EXPECT_TRUE(message.crosses_hosts);
  // All four share the link between the hosts.
  ASSERT_EQ(message.uses.size(), 2u);
  EXPECT_EQ(message.uses[0].times, 4);
  EXPECT_FALSE(folded.communications[folded.begun[0][1]].crosses_hosts);
}

TEST_F(JobFoldTest, WhoCommunicatesWithAnotherDiffers) {
  add_message();
  // The ranks of one tensor group are slower, and all that depends on them differs.
  step_.rank_compute_scale = {2, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_THAT(fold().class_of, ElementsAre(0, 1, 1, 1, 2, 3, 3, 3));
  add(0, "sum", "tensor");
  // Rank 1 is in the tensor group of rank 0.
  EXPECT_THAT(fold().class_of, ElementsAre(0, 1, 2, 2, 3, 4, 5, 5));
}

TEST_F(JobFoldTest, HostsThatDifferHaveLinksOfTheirOwn) {
  step_.mesh = {{"data", 2}, {"pipeline", 2}, {"tensor", 2}};
  step_.rank_compute_scale = {1, 1, 1, 1, 1, 1, 1, 3};
  add_message();
  // Messages stay on a host; those of the host of rank 7 share no link with the others, but the
  // ranks of that host are not those of the other.
  EXPECT_THAT(fold().class_of, ElementsAre(0, 0, 1, 1, 2, 3, 4, 5));
}

TEST_F(JobFoldTest, WithJitterEachRankIsAlone) {
  add_message();
  step_.jitter = {JitterKind::uniform, 0.1, 1};
  EXPECT_EQ(fold().classes.size(), 8u);
}

TEST_F(JobFoldTest, CommunicationsAreMatchedByTheirPlaceInTheGroup) {
  add(0, "a", "pipeline");
  add(0, "g", "data");
  add(0, "n", "world");
  add(1, "a", "pipeline");
  add(1, "h", "data");
  add(1, "n", "world");
  const JobFold folded = fold();
  EXPECT_EQ(folded.begun[0][0], folded.begun[1][0]);
  EXPECT_NE(folded.begun[0][1], folded.begun[1][1]);
  EXPECT_EQ(folded.begun[0][2], folded.begun[1][2]);
  EXPECT_EQ(error(), "no error");
}

TEST_F(JobFoldTest, ThoseThatDifferWhereTheyMeetAreRefusedWithBothNames) {
  add(0, "a", "pipeline");
  add(1, "b", "pipeline", CollectiveKind::all_reduce, 128);
  EXPECT_THAT(error(), AllOf(HasSubstr("ranks 0 and 4"), HasSubstr("\"a\" (all-reduce of 64 bytes"),
                             HasSubstr("\"b\" (all-reduce of 128 bytes in pipeline)")));
}

TEST_F(JobFoldTest, OneThatOtherRanksLackIsRefused) {
  add(1, "n", "data");
  add(0, "a\033", "world");
  EXPECT_THAT(error(), AllOf(HasSubstr("rank 4 never takes part in \"a"), HasSubstr("rank 0 has"),
                             testing::Not(HasSubstr("\033"))));
}

TEST_F(JobFoldTest, AMessageThatNobodyReceivesIsRefused) {
  add(0, "on", "pipeline", CollectiveKind::send).peer = MessagePeer{1, false};
  add(1, "n", "data");
  EXPECT_THAT(error(),
              AllOf(HasSubstr("rank 4 never takes part in \"on\" (send"), HasSubstr("rank 0 has")));
}

TEST_F(JobFoldTest, AMessageOfOtherBytesIsRefused) {
  add(0, "on", "pipeline", CollectiveKind::send).peer = MessagePeer{1, false};
  add(1, "from", "pipeline", CollectiveKind::receive, 32).peer = MessagePeer{0, false};
  EXPECT_THAT(error(), AllOf(HasSubstr("64 bytes"), HasSubstr("32 bytes"), HasSubstr("\"from\"")));
}

TEST_F(JobFoldTest, AShiftIsOneCommunicationOfItsGroup) {
  for (std::size_t program = 0; program < 2; ++program) {
    add(program, "round", "data", CollectiveKind::shift).peer = MessagePeer{1, true};
    add(program, "all", "world", CollectiveKind::shift).peer = MessagePeer{3, true};
  }
  const JobFold folded = fold();
  EXPECT_EQ(error(), "no error");
  ASSERT_EQ(folded.classes.size(), 2u);
  // Ranks of the data groups are on one host; three of a host's four send all to another host.
  EXPECT_FALSE(folded.communications[folded.begun[0][0]].crosses_hosts);
  const FoldedCommunication& all = folded.communications[folded.begun[0][1]];
  EXPECT_EQ(all.members.size(), 2u);
  for (const SharedFlows::Use& use : all.uses) EXPECT_EQ(use.times, 3);
}

TEST_F(JobFoldTest, ShiftsByOtherDistancesAreRefused) {
  add(0, "a", "pipeline", CollectiveKind::shift).peer = MessagePeer{1, true};
  add(1, "b", "pipeline", CollectiveKind::shift).peer = MessagePeer{-1, true};
  EXPECT_EQ(error(), "no error") << "round the end it is the same";
  step_.programs[1].tasks[0].peer->index = 0;
  EXPECT_THAT(error(), AllOf(HasSubstr("\"a\" (shift by 1 of 64 bytes in pipeline)"),
                             HasSubstr("\"b\" (shift by 0 of")));
}

TEST_F(JobFoldTest, AMessageToItselfIsRefused) {
  add(0, "on", "pipeline", CollectiveKind::send).peer = MessagePeer{0, false};
  add(1, "n", "data");
  EXPECT_THAT(error(), HasSubstr("rank 0 has a message to itself in pipeline"));
}

TEST_F(JobFoldTest, ThoseThatWaitForEachOtherAreRefusedWithTheirNames) {
  add(0, "a", "pipeline");
  add(0, "n", "world");
  add(1, "n", "world");
  add(1, "a", "pipeline");
  EXPECT_THAT(error(),
              AllOf(HasSubstr("in a circle: rank "), HasSubstr("begins \"a\""),
                    HasSubstr("begins \"n\" (all-reduce of 64 bytes in world) before \"a\"")));
}

TEST_F(JobFoldTest, DependenciesOverSeveralRanksHaveNoCircle) {
  const auto checked = [&] {
    const JobFold folded = fold();
    std::vector<std::shared_ptr<const CapturedStep>> programs;
    for (const StepDescription& program : folded.programs) {
      std::vector<CapturedStep::Task> tasks;
      for (const StepTask& task : program.tasks) {
        tasks.push_back(
            {task.name, task.priority, task.collective.has_value(), task.bytes, task.accesses});
      }
      programs.push_back(std::make_shared<const CapturedStep>(std::move(tasks)));
    }
    const auto ok = check_dependencies(folded, programs);
    return ok ? "no error" : ok.error().message;
  };
  for (RankProgram& program : step_.programs) program.data = {"x"};
  add(0, "a", "pipeline");
  add(0, "n", "world");
  add(1, "n", "world");
  add(1, "a", "pipeline");
  // Submitted in two orders, they wait for each other only where they share data.
  EXPECT_EQ(checked(), "no error");
  for (StepTask& task : step_.programs[0].tasks) task.accesses = {update({0})};
  EXPECT_EQ(checked(), "no error");
  for (StepTask& task : step_.programs[1].tasks) task.accesses = {update({0})};
  EXPECT_THAT(checked(), AllOf(HasSubstr("on rank 0 \"n\" (all-reduce of 64 bytes in world) waits "
                                         "for \"a\""),
                               HasSubstr("on rank 4 \"a\"")));
}

}  // namespace
}  // namespace hocket
