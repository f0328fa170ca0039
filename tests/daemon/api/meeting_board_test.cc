#include "daemon/api/meeting_board.h"

#include <gtest/gtest.h>

#include "tests/store/fixtures.h"

namespace hocket {
namespace {

TEST(MeetingBoard, KeepsTheLastTextForAnHour) {
  MeetingBoard board;
  EXPECT_FALSE(board.find("nccl-1", 0));
  must(board.put("nccl-1", "a", 0));
  must(board.put("nccl-1", "b", 10));
  EXPECT_EQ(board.find("nccl-1", 10 + kMeetingLifeNs), "b");
  EXPECT_FALSE(board.find("nccl-1", 11 + kMeetingLifeNs));
}

TEST(MeetingBoard, RefusesOtherNamesLongTextsAndTooManyOfThem) {
  MeetingBoard board;
  for (const std::string& name : {std::string(), std::string("a b"), std::string("ä"),
                                  std::string(101, 'a'), std::string("../x")})
    EXPECT_EQ(code_of(board.put(name, "a", 0)), ErrorCode::invalid_argument) << name;
  EXPECT_EQ(code_of(board.put("a", std::string(kMaxMeetingBytes + 1, 'x'), 0)),
            ErrorCode::invalid_argument);
  for (std::size_t i = 0; i < kMostMeetings; ++i) must(board.put("m" + std::to_string(i), "x", 0));
  EXPECT_EQ(code_of(board.put("one-more", "x", 1)), ErrorCode::unavailable);
  must(board.put("m0", "again", 1));
  // The old ones make room.
  must(board.put("one-more", "x", 2 + kMeetingLifeNs));
}

}  // namespace
}  // namespace hocket
