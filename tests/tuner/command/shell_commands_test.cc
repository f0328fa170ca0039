#include "tuner/command/shell_commands.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/text.h"

namespace hocket {
namespace {

using Commands = std::vector<std::vector<std::string>>;

TEST(ShellCommands, AreThoseOfAList) {
  EXPECT_EQ(shell_commands("a b; c && d\ne &"), (Commands{{"a", "b"}, {"c"}, {"d"}, {"e"}}));
  EXPECT_EQ(shell_commands(" \t a  \\\n b # not this; c\nd"), (Commands{{"a", "b"}, {"d"}}));
  EXPECT_EQ(shell_commands(""), Commands{});
}

TEST(ShellCommands, KeepQuotedWordsWhole) {
  EXPECT_EQ(shell_commands("a 'b; c' \"d e\" f\\ g h'i'\"j\" ''"),
            (Commands{{"a", "b; c", "d e", "f g", "hij", ""}}));
  EXPECT_EQ(shell_commands("a \"x\\\"y\" $V ${W}"), (Commands{{"a", "x\"y", "$V", "${W}"}}));
}

TEST(ShellCommands, LoseRedirectionsAndFilters) {
  EXPECT_EQ(shell_commands("a b >out 2>&1 < in c"), (Commands{{"a", "b", "c"}}));
  EXPECT_EQ(shell_commands("a &> out; b >> log"), (Commands{{"a"}, {"b"}}));
  EXPECT_EQ(shell_commands("a b 2>&1 | tee log | grep x; c"), (Commands{{"a", "b"}, {"c"}}));
  EXPECT_EQ(shell_commands("a 3 > out"), (Commands{{"a", "3"}}));
}

TEST(ShellCommands, AreNoneWhereTheTextDoesMore) {
  for (const char* text :
       {"a || b", "if a; then b; fi", "{ a; }", "(a)", "a $(b)", "a `b`", "a \"$(b)\"", "a | b",
        "! a", "a <<END", "a 'b", "a \"b", "f() { a; }", "while a; do b; done", "diff <(a) <(b)"}) {
    EXPECT_FALSE(shell_commands(text)) << text;
  }
}

/// Quoting undoes reading.
TEST(ShellCommands, ReadWhatIsQuoted) {
  const std::vector<std::string> words = {"a b", "", "it's", "$(x)", "; |", "\\", "\"", "#", "\n"};
  EXPECT_EQ(shell_commands(shell_text(words)), Commands{words});
}

}  // namespace
}  // namespace hocket
