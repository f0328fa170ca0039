#include "cli/output/reading_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace hocket {
namespace {

using ::testing::HasSubstr;

/// A clock that a test sets.
struct ReadingClock final : Clock {
  std::int64_t now_ns() const override { return ns; }
  void sleep_until_ns(std::int64_t) const override {}

  std::int64_t ns = 0;
};

TEST(ReadingLine, IsShownOnlyWhenItTakesLong) {
  ReadingClock clock;
  std::ostringstream err;
  ReadingLine line(err, 80, clock);
  clock.ns = 900'000'000;
  line.show("a.json", 10, 100);
  EXPECT_EQ(err.str(), "");
  clock.ns = 1'100'000'000;
  line.show("a.json", 25, 100);
  EXPECT_THAT(err.str(), HasSubstr("25.0 % of 100 B  a.json"));
  const auto length = err.str().size();
  line.show("a.json", 26, 100);
  EXPECT_EQ(err.str().size(), length) << "a few times a second are enough";
  clock.ns += 300'000'000;
  line.show("standard input", 2048, 0);
  EXPECT_THAT(err.str(), HasSubstr("reading 2 KiB  standard input"));
  line.clear();
  EXPECT_TRUE(err.str().ends_with("\r\033[K"));
}

TEST(ReadingLine, IsNothingWithoutATerminal) {
  ReadingClock clock;
  std::ostringstream err;
  ReadingLine line(err, 0, clock);
  clock.ns = 9'000'000'000;
  line.show("a.json", 25, 100);
  line.clear();
  EXPECT_EQ(err.str(), "");
}

}  // namespace
}  // namespace hocket
