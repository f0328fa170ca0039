#include "tests/style/includes.h"

#include <gtest/gtest.h>

namespace hocket::style {
namespace {

TEST(Includes, AreFoundHoweverTheyAreWritten) {
  const auto includes = includes_of(
      "#include \"a/b.h\"\n  #  include <c>\n// #include <no>\n#include NAME\nint x;\n");
  ASSERT_EQ(includes.size(), 2u);
  EXPECT_EQ(includes[0].path, "a/b.h");
  EXPECT_TRUE(includes[0].quoted);
  EXPECT_EQ(includes[1].path, "c");
  EXPECT_FALSE(includes[1].quoted);
  EXPECT_EQ(includes[1].line, 2u);
}

}  // namespace
}  // namespace hocket::style
