#include "cli/base/question.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(Question, OnlyYesIsYes) {
  for (const char* yes : {"y", "Y", "yes", " Yes "}) EXPECT_TRUE(is_yes(yes)) << yes;
  for (const char* no : {"", "n", "no", "yess", "ja", "1"}) EXPECT_FALSE(is_yes(no)) << no;
}

}  // namespace
}  // namespace hocket
