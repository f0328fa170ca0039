#include "daemon/api/meeting_board.h"

#include <gtest/gtest.h>

#include "tests/store/fixtures.h"

namespace hocket {
namespace {

TEST(MeetingBoard, KeepsTheLastTextUntilItIsOld) {
  MeetingBoard board;
  EXPECT_FALSE(board.find("ada", "nccl-1", 0));
  must(board.put("ada", "nccl-1", "a", 0));
  must(board.put("ada", "nccl-1", "b", 10));
  EXPECT_EQ(board.find("ada", "nccl-1", 10 + kMeetingLifeNs), "b");
  EXPECT_FALSE(board.find("ada", "nccl-1", 11 + kMeetingLifeNs));
}

TEST(MeetingBoard, KeepsWhatIsLeftAgainInTime) {
  MeetingBoard board;
  for (int i = 0; i < 5; ++i) must(board.put("ada", "nccl-1", "a", i * kMeetingLifeNs));
  EXPECT_EQ(board.find("ada", "nccl-1", 5 * kMeetingLifeNs), "a");
}

TEST(MeetingBoard, RefusesOtherNamesLongTextsAndTooManyOfThem) {
  MeetingBoard board;
  for (const std::string& name : {std::string(), std::string("a b"), std::string("ä"),
                                  std::string(101, 'a'), std::string("../x")})
    EXPECT_EQ(code_of(board.put("ada", name, "a", 0)), ErrorCode::invalid_argument) << name;
  EXPECT_EQ(code_of(board.put("ada", "a", std::string(kMaxMeetingBytes + 1, 'x'), 0)),
            ErrorCode::invalid_argument);
  for (std::size_t i = 0; i < kMostMeetings; ++i)
    must(board.put("ada", "m" + std::to_string(i), "x", 0));
  EXPECT_EQ(code_of(board.put("ada", "one-more", "x", 1)), ErrorCode::unavailable);
  must(board.put("ada", "m0", "again", 1));
  // The old ones make room.
  must(board.put("ada", "one-more", "x", 2 + kMeetingLifeNs));
}

TEST(MeetingBoard, KeepsWhatOneOwnerLeavesFromAnother) {
  MeetingBoard board;
  must(board.put("ada", "nccl-1", "ada's secret", 0));
  EXPECT_FALSE(board.find("eve", "nccl-1", 0));
  must(board.put("eve", "nccl-1", "eve's", 0));
  EXPECT_EQ(board.find("ada", "nccl-1", 0), "ada's secret");
  for (std::size_t i = 1; i < kMostMeetings; ++i)
    must(board.put("eve", "m" + std::to_string(i), "x", 0));
  EXPECT_EQ(code_of(board.put("eve", "one-more", "x", 0)), ErrorCode::unavailable);
  must(board.put("ada", "nccl-2", "x", 0));
}

}  // namespace
}  // namespace hocket
