#include "cli/output/fitted_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using testing::ElementsAre;

FittedTable of_two_rows() {
  FittedTable table({{"name", 3, false, 4}, {"step", 2, true}, {"note", 1, false, 6}});
  table.add({"bert-large", "7", "waits for the others"});
  table.add({"gpt2", "12345", ""});
  return table;
}

TEST(FittedTable, ColumnsAreAsWideAsTheirWidestCell) {
  EXPECT_THAT(of_two_rows().lines(80), ElementsAre("name         step  note                ",
                                                   "bert-large      7  waits for the others",
                                                   "gpt2        12345                      "));
}

TEST(FittedTable, TextIsCutWhereAColumnAllowsIt) {
  EXPECT_THAT(of_two_rows().lines(25),
              ElementsAre("name      step  note     ", "bert-l…      7  waits fo…",
                          "gpt2     12345           "));
}

TEST(FittedTable, ColumnsOfLeastWorthAreLeftOut) {
  EXPECT_THAT(of_two_rows().lines(14),
              ElementsAre("name      step", "bert-l…      7", "gpt2     12345"));
  EXPECT_THAT(of_two_rows().lines(6), ElementsAre("name  ", "bert-…", "gpt2  "));
  EXPECT_THAT(of_two_rows().lines(2), ElementsAre("n…", "b…", "g…"));
}

TEST(FittedTable, AColumnIsNotWiderThanItsLimit) {
  FittedTable table({{"busy", 1, false, 0, 6}});
  table.add({"12345678"});
  EXPECT_THAT(table.lines(80), ElementsAre("busy  ", "12345…"));
}

}  // namespace
}  // namespace hocket
