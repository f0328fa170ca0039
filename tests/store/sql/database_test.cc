#include "store/sql/database.h"

#include <gtest/gtest.h>

namespace hocket::sql {
namespace {

TEST(StatementText, HasTheMarksAndLocksOfItsDatabase) {
  const std::string_view sql = "SELECT a FROM t WHERE b = ?1 AND c = ?12 {FOR UPDATE}";
  EXPECT_EQ(statement_text(sql, '?', false), "SELECT a FROM t WHERE b = ?1 AND c = ?12 ");
  EXPECT_EQ(statement_text(sql, '$', true), "SELECT a FROM t WHERE b = $1 AND c = $12 FOR UPDATE");
  EXPECT_EQ(statement_text("{LOCK t}", '?', false), "");
}

}  // namespace
}  // namespace hocket::sql
