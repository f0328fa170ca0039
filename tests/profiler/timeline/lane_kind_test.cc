#include "profiler/timeline/lane_kind.h"

#include <gtest/gtest.h>

#include "profiler/formats/category.h"

namespace hocket {
namespace {

TEST(LaneKind, HasAWord) {
  for (std::size_t i = 0; i < kLaneKinds; ++i) {
    const auto kind = static_cast<LaneKind>(i);
    EXPECT_EQ(*lane_kind_from(to_string(kind)), kind);
  }
  for (const auto& [kind, word] : kCategories) {
    EXPECT_EQ(to_string(static_cast<LaneKind>(static_cast<int>(kind) + 2)), word);
  }
}

TEST(LaneKind, MayBeAnyOrWrong) {
  EXPECT_EQ(*lane_kind_from(""), std::nullopt);
  const auto wrong = lane_kind_from("streams\xff");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(wrong.error().message,
            "no lanes are of kind \"streams\uFFFD\"; kinds are iteration, exposed, compute, "
            "communication, copy, range, call");
}

}  // namespace
}  // namespace hocket
