#include "core/host/shown_ranks.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "tests/core/host/own_lanes.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ShownRanks, AreThoseThatHaveABoard) {
  const Mesh mesh(RankGrid{4, 4});
  EXPECT_THAT(own_lanes(), IsEmpty());
  auto second = LaneBoard::open(mesh, 2, {.compute = 1});
  {
    const auto first = LaneBoard::open(mesh, 1, {.compute = 1});
    first->begin({.name = "forward"});
    const auto ranks = own_lanes();
    ASSERT_EQ(ranks.size(), 2u);
    EXPECT_EQ(ranks[0].rank, 1);
    EXPECT_EQ(ranks[0].lanes.at(0).name, "forward");
    EXPECT_EQ(ranks[1].rank, 2);
  }
  ASSERT_EQ(own_lanes().size(), 1u);
  second.reset();
  EXPECT_THAT(own_lanes(), IsEmpty());
}

TEST(ShownRanks, AProcessThatARankForkedIsNone) {
  auto board = LaneBoard::open(Mesh(), 0, {.compute = 1});
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    // It has the board's descriptor, too, and goes on when the rank has closed its own.
    ::close(gate[1]);
    char byte;
    ::_exit(::read(gate[0], &byte, 1) == 0 ? 0 : 1);
  }
  ::close(gate[0]);
  const auto shown_by = [](pid_t pid) {
    return std::ranges::count(shown_ranks().ranks, pid, &ShownRank::pid);
  };
  EXPECT_EQ(shown_by(::getpid()), 1);
  EXPECT_EQ(shown_by(child), 0);
  board.reset();
  EXPECT_EQ(shown_by(::getpid()), 0);
  EXPECT_EQ(shown_by(child), 0);
  ::close(gate[1]);
  int status = 0;
  ::waitpid(child, &status, 0);
}

TEST(ShownRanks, AStoppedProcessIsSaidToBe) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto board = LaneBoard::open(Mesh(), 0, {.compute = 1});
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  int stopped = 0;
  for (const ShownRank& rank : shown_ranks().ranks)
    if (rank.pid == child && rank.is_stopped && rank.lanes.pid == child) ++stopped;
  EXPECT_EQ(stopped, 1);
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
}

/// A memory file with the label of a board.
class FalseBoard {
 public:
  FalseBoard(std::size_t size, unsigned seals)
      : descriptor_(::memfd_create("hocket-lanes", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    EXPECT_EQ(::ftruncate(descriptor_, static_cast<off_t>(size)), 0);
    if (seals == 0) return;
    EXPECT_EQ(::fcntl(descriptor_, F_ADD_SEALS, seals), 0);
  }
  ~FalseBoard() { ::close(descriptor_); }

 private:
  const int descriptor_;
};

std::vector<std::string> own_problems() {
  std::vector<std::string> own;
  const std::string mine = "process " + std::to_string(::getpid()) + ":";
  for (const std::string& problem : shown_ranks().problems)
    if (problem.starts_with(mine)) own.push_back(problem);
  return own;
}

TEST(ShownRanks, AFileThatMayShrinkIsNotRead) {
  const FalseBoard unsealed(4096, 0), growing(4096, F_SEAL_SHRINK);
  EXPECT_THAT(own_problems(), IsEmpty());
  EXPECT_THAT(own_lanes(), IsEmpty());
}

TEST(ShownRanks, AFileThatIsNoBoardIsAProblem) {
  const FalseBoard zeros(4096, F_SEAL_SHRINK | F_SEAL_GROW);
  EXPECT_THAT(own_problems(), ElementsAre(HasSubstr("lanes of a rank")));
  EXPECT_THAT(own_lanes(), IsEmpty());
}

TEST(ShownRanks, WithoutTheKernelsFolderThereAreNone) {
  EXPECT_THAT(shown_ranks("/nonexistent").ranks, IsEmpty());
}

}  // namespace
}  // namespace hocket
