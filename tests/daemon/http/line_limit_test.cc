#include "daemon/http/line_limit.h"

#include <gtest/gtest.h>

#include <string>

namespace hocket {
namespace {

constexpr std::int64_t kTenMinutesNs = 600'000'000'000;

TEST(LineLimit, ACauseHasAFewLinesAndThenOneInTenMinutes) {
  LineLimit limit;
  int lines = 0;
  for (int i = 0; i < 1000; ++i) lines += limit.allow("a", i).has_value() ? 1 : 0;
  EXPECT_EQ(lines, kLinesOfACause);
  EXPECT_EQ(limit.allow("b", 1000), 1000 - kLinesOfACause) << "another cause has lines of its own";
  EXPECT_EQ(limit.allow("a", 1000 + kTenMinutesNs), 0);
  EXPECT_EQ(limit.allow("a", 1000 + kTenMinutesNs), std::nullopt);
}

TEST(LineLimit, AllCausesTogetherHaveALimit) {
  LineLimit limit;
  int lines = 0;
  for (int i = 0; i < 100'000; ++i) lines += limit.allow(std::to_string(i), i).has_value() ? 1 : 0;
  EXPECT_EQ(lines, kLinesOfAllCauses);
}

}  // namespace
}  // namespace hocket
