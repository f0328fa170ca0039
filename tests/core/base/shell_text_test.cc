#include "core/base/shell_text.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace hocket {
namespace {

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

}  // namespace
}  // namespace hocket
