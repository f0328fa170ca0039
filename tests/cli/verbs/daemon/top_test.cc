#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/trace/lane_board.h"
#include "tests/cli/answer.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Top, ShowsTheRanksOnThisMachineWithoutADaemon) {
  const auto board = LaneBoard::open(Mesh(RankGrid{2, 2}), 1, {.compute = 1});
  ASSERT_TRUE(board);
  board->begin({.name = "forward", .step = 7});
  const std::string pid = std::to_string(::getpid());
  const Answer answer = ask_hocket({"top", "--ranks", "--pid", pid, "--once"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.err, "");
  EXPECT_THAT(answer.out, HasSubstr("1 rank\n"));
  EXPECT_THAT(answer.out, HasSubstr(pid + "  "));
  EXPECT_THAT(answer.out, HasSubstr("1 of 2"));
  EXPECT_THAT(answer.out, HasSubstr("stream 0  forward"));
  EXPECT_THAT(ask_hocket({"top", "--ranks", "--once"}).out, HasSubstr(pid));
}

TEST(Top, AProcessWithoutRanksIsNamed) {
  const Answer answer = ask_hocket({"top", "--ranks", "--pid", "1073741824", "--once"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(answer.out, HasSubstr("0 ranks"));
  EXPECT_THAT(answer.out, HasSubstr("process 1073741824 shows no lanes"));
}

TEST(Top, RanksAreNotThoseOfADaemon) {
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"top", "--ranks", "--daemon", "http://127.0.0.1:1"},
                                             {"top", "--pid", "1"},
                                             {"top", "--ranks", "--pid", "0"},
                                             {"top", "--ranks", "--pid", "one"}}) {
    const Answer answer = ask_hocket(arguments);
    EXPECT_EQ(answer.status, 2);
    EXPECT_THAT(answer.err, Not(testing::IsEmpty()));
  }
}

}  // namespace
}  // namespace hocket
