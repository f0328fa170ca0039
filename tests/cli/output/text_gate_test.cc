#include "cli/output/text_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "core/base/plain_text.h"
#include "tests/core/base/shown.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

/// Returns what comes through when each of `writes` is written at once.
std::string through(const std::vector<std::string>& writes) {
  std::ostringstream behind;
  {
    TextGate gate(behind.rdbuf());
    std::ostream out(&gate);
    for (const std::string& each : writes) out << each << std::flush;
  }
  return behind.str();
}

TEST(TextGate, LetsTextNewlinesAndTabsThrough) {
  EXPECT_EQ(through({"a\tb\n", "größe 日本\n"}), "a\tb\ngröße 日本\n");
  EXPECT_EQ(through({"\x1b[2J\x1b]0;x\a\r\xc2\x9b"}), "\ufffd[2J\ufffd]0;x\ufffd \ufffd");
}

TEST(TextGate, ACharacterMayComeInParts) {
  EXPECT_EQ(through({"\xe6", "\x97", "\xa5"}), "日");
  EXPECT_EQ(through({"a\xe6\x97"}), "a\ufffd") << "it never ended";
  EXPECT_EQ(through({"\xe2", "\x80", "\xae"}), "\ufffd") << "an override in parts";
  EXPECT_EQ(through({"\xc2", "\x9b"}), "\ufffd");
  EXPECT_EQ(through({"\xe6", "a"}),
            "\ufffd"
            "a");
}

TEST(TextGate, HocketsOwnControlPassesAndNoTextDoes) {
  std::ostringstream behind;
  TextGate gate(behind.rdbuf());
  std::ostream out(&gate);
  out << TerminalControl::clear_line << "\x1b[Jx" << TerminalControl::go_home << "\xe6"
      << TerminalControl::next_line;
  EXPECT_EQ(behind.str(), "\r\x1b[K\ufffd[Jx\x1b[H\ufffd\r\n");
  EXPECT_EQ(behind_gate(out), behind.rdbuf());
  std::ostringstream without;
  without << TerminalControl::clear_to_end;
  EXPECT_EQ(without.str(), "\x1b[J");
  EXPECT_EQ(behind_gate(without), without.rdbuf());
}

TEST(TextGate, NoPartsOfBytesEscape) {
  for (std::uint64_t seed = 0; seed < rounds(2000); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<std::string> parts;
    std::string all;
    for (std::uint64_t left = random() % 12; left > 0; --left) {
      const std::string hostile(kHostileCharacters[random() % kHostileCharacters.size()]);
      parts.push_back(random() % 2 == 0 ? hostile.substr(0, 1 + random() % hostile.size())
                                        : hostile.substr(random() % hostile.size()));
      all += parts.back();
    }
    EXPECT_EQ(what_is_not_plain(through(parts)), "");
    EXPECT_EQ(through(parts), plain_lines(all)) << "parts make no difference";
  }
}

TEST(TextGate, ABrokenStreamIsSeen) {
  struct Full : std::streambuf {
  } full;
  TextGate gate(&full);
  std::ostream out(&gate);
  out << "text";
  EXPECT_FALSE(out);
}

}  // namespace
}  // namespace hocket
