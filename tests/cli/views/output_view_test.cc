#include "cli/views/output_view.h"

#include <gtest/gtest.h>

#include <sstream>

namespace hocket {
namespace {

std::string shown(const TrialOutput& output) {
  std::ostringstream out;
  print_output(out, output);
  return out.str();
}

std::string end_of(const TrialOutput& output, std::size_t lines) {
  std::ostringstream out;
  print_output_end(out, output, lines);
  return out.str();
}

TEST(OutputView, ShowsBothStreamsLineByLine) {
  EXPECT_EQ(shown({"one\n\ntwo", ""}), "one\n\ntwo\n");
  EXPECT_EQ(shown({"one\r\n10 %\r20 %\n", "oh\n"}), "one\n10 %\n20 %\nstderr:\noh\n");
  EXPECT_EQ(shown({"", "oh"}), "stderr:\noh\n");
}

TEST(OutputView, ShowsNothingThatChangesTheTerminal) {
  EXPECT_EQ(shown({"a\x1b[2Jb\n\xff", ""}), "a\xef\xbf\xbd[2Jb\n\xef\xbf\xbd\n");
}

TEST(OutputView, ShowsTheLastLinesThatAreNotEmpty) {
  EXPECT_EQ(end_of({"1\n2\n\n3\n \n", "x\ny\n"}, 2),
            "  stdout | 2\n  stdout | 3\n  stderr | x\n  stderr | y\n");
  EXPECT_EQ(end_of({"", ""}, 2), "");
}

}  // namespace
}  // namespace hocket
