#include "cli/output/table.h"

#include <gtest/gtest.h>

#include <sstream>

namespace hocket {
namespace {

TEST(TextTable, AlignsColumnsByCharactersNotBytes) {
  TextTable table({"a", "value", "last"});
  table.add({"long name", "1 ± 2", "x"});
  table.add({"b", "1 + 2", ""});
  std::ostringstream out;
  table.print(out);
  EXPECT_EQ(out.str(),
            "a          value  last\n"
            "long name  1 ± 2  x\n"
            "b          1 + 2\n");
}

TEST(TextTable, HeadingsAloneAreATable) {
  std::ostringstream out;
  TextTable({"x", "y"}).print(out);
  EXPECT_EQ(out.str(), "x  y\n");
}

}  // namespace
}  // namespace hocket
