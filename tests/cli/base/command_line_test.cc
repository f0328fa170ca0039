#include "cli/base/command_line.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hocket {
namespace {

using Words = std::vector<std::string>;

TEST(CommandLine, SplitsAtTheFirstMark) {
  const Words arguments = {"tune", "--json", "--", "mpirun", "-n", "2", "--", "x"};
  const auto line = split_command_line(arguments);
  EXPECT_EQ(line.own, (Words{"tune", "--json"}));
  EXPECT_EQ(line.command, (Words{"mpirun", "-n", "2", "--", "x"}));
  EXPECT_FALSE(split_command_line(Words{"tune"}).command);
  EXPECT_EQ(split_command_line(Words{"tune", "--"}).command, Words{});
}

TEST(CommandLine, AVerbNeedsACommandOrMayNotHaveOne) {
  EXPECT_EQ(*required_command(Words{"ls", ""}, "tune"), (Words{"ls", ""}));
  EXPECT_FALSE(required_command(Words{}, "tune"));
  EXPECT_FALSE(required_command(Words{""}, "tune"));
  EXPECT_FALSE(required_command(std::nullopt, "tune"));
  EXPECT_TRUE(no_command(std::nullopt, "best"));
  EXPECT_FALSE(no_command(Words{}, "best"));
}

}  // namespace
}  // namespace hocket
