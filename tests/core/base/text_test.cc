#include "core/base/text.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

TEST(Percent, GivesOneDecimalOrTwoDigits) {
  EXPECT_EQ(percent(0.1234), "12.3 %");
  EXPECT_EQ(percent(-0.0456), "-4.6 %");
  EXPECT_EQ(percent(0.00123), "0.12 %");
  EXPECT_EQ(percent(0.0071), "0.71 %");
  EXPECT_EQ(percent(0.00997), "1.0 %");
  EXPECT_EQ(percent(0), "0.0 %");
  EXPECT_EQ(percent(1e300).back(), '%');
}

TEST(Percent, IsReadAsPeopleWriteIt) {
  EXPECT_DOUBLE_EQ(parse_percent("3%").value(), 0.03);
  EXPECT_DOUBLE_EQ(parse_percent("0.5 %").value(), 0.005);
  EXPECT_DOUBLE_EQ(parse_percent("50", 50).value(), 0.5);
  for (const char* text : {"", "%", "-1%", "51%", "3%%", "3 percent", "nan", "1e999", " 3%"}) {
    const auto share = parse_percent(text, 50);
    ASSERT_FALSE(share) << text;
    EXPECT_NE(share.error().message.find("from 0% to 50%"), std::string::npos);
  }
}

TEST(SizeWithUnit, TakesTheLargestUnitThatLeavesAWholeNumber) {
  EXPECT_EQ(size_with_unit(0), "0 B");
  EXPECT_EQ(size_with_unit(1023), "1023 B");
  EXPECT_EQ(size_with_unit(1024), "1 KiB");
  EXPECT_EQ(size_with_unit(25 << 20), "25 MiB");
  EXPECT_EQ(size_with_unit((25 << 20) + 1), "26214401 B");
  EXPECT_EQ(size_with_unit(std::int64_t{1} << 62), "4194304 TiB");
  EXPECT_EQ(size_with_unit(-2048, ""), "-2KiB");
}

TEST(Printable, KeepsOneEndWithinTheLimit) {
  EXPECT_EQ(printable("abcdef", 3), "abc");
  EXPECT_EQ(printable("abcdef", 3, true), "def");
  EXPECT_EQ(printable("a\tb\n\x1b[1mc", 100), "a b \ufffd[1mc");
  EXPECT_EQ(printable("größe", 3), "gr") << "no character is cut";
  EXPECT_EQ(printable("größe", 2, true), "e");
  EXPECT_EQ(printable("größe", 4, true), "ße");
  EXPECT_EQ(printable("\x1b\x1b", 4), "\ufffd") << "a replacement counts with its bytes";
  EXPECT_EQ(printable("", 0), "");
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

/// Returns what a shell prints for `words`, one pair of brackets an argument.
std::string through_shell(const std::string& words) {
  const std::string command = "printf '[%s]' " + words;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::array<char, 4096> block{};
  const auto length = fread(block.data(), 1, block.size(), pipe.get());
  return {block.data(), length};
}

TEST(ShellText, AShellReadsQuotedArgumentsBack) {
  const std::vector<std::string> words = {"plain", "",        "a b", "it's", "$HOME `x` \"q\" \\",
                                          "*",     "a;b|c&d", "~",   "#"};
  std::string expected;
  for (const auto& word : words) expected += "[" + word + "]";
  EXPECT_EQ(through_shell(shell_text(words)), expected);
  EXPECT_EQ(shell_quoted("a/b-c.d_e"), "a/b-c.d_e");
}

TEST(DateText, IsTheDayInUtc) {
  constexpr std::int64_t kDayNs = 24LL * 3600 * 1'000'000'000;
  EXPECT_EQ(date_text(0), "1970-01-01");
  EXPECT_EQ(date_text(kDayNs - 1), "1970-01-01");
  EXPECT_EQ(date_text(-1), "1969-12-31");
  EXPECT_EQ(date_text(20'778 * kDayNs), "2026-11-21");
}

TEST(Trimmed, LosesBlanksAndLineEndsAtBothEnds) {
  EXPECT_EQ(trimmed(" \ta b\r\n"), "a b");
  EXPECT_EQ(trimmed("ab"), "ab");
  EXPECT_EQ(trimmed(" \r\n"), "");
  EXPECT_EQ(trimmed(""), "");
}

}  // namespace
}  // namespace hocket
