#include "core/base/printable_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

TEST(Printable, KeepsOneEndWithinTheLimit) {
  EXPECT_EQ(printable("abcdef", 3), "abc");
  EXPECT_EQ(printable("abcdef", 3, true), "def");
  EXPECT_EQ(printable("a\tb\n\x1b[1mc", 100), "a b  [1mc");
}

TEST(Printable, AnyBytesBecomeJson) {
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto text = printable(mutated("größe \xe2\x82\xac 1.5\r\n", random), 12, seed % 2 == 0);
    ASSERT_NO_THROW(static_cast<void>(nlohmann::json(text).dump()));
    ASSERT_EQ(text.find('\n'), std::string::npos);
  }
}

TEST(Printable, LastLinesSkipsBlankOnes) {
  EXPECT_EQ(last_lines("one\ntwo\n\nthree\n\n", 2, 100), "two | three");
  EXPECT_EQ(last_lines("one\r\ntwo\r\n", 5, 100), "one | two");
  EXPECT_EQ(last_lines("\n\n", 5, 100), "");
  EXPECT_EQ(last_lines("", 5, 100), "");
  EXPECT_EQ(last_lines("a long line", 1, 4), "line");
}

}  // namespace
}  // namespace hocket
