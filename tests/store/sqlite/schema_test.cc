#include "store/sqlite/schema.h"

#include <gmock/gmock.h>

#include <array>

#include "store/sqlite/database.h"
#include "tests/store/fixtures.h"

namespace hocket::sqlite {
namespace {

using testing::HasSubstr;

Connection fresh(const TempDir& folder) {
  return must(Connection::open(folder.file("store.db"), Connection::Mode::create, 0));
}

std::int64_t number(Connection& db, const char* sql) {
  return must(db.integer(sql)).value_or(-1);
}

TEST(Migrate, RunsTheStepsThatTheFileIsDueForInOrder) {
  TempDir folder;
  auto db = fresh(folder);
  const std::array<const char*, 3> steps = {"CREATE TABLE t (x); INSERT INTO t VALUES (1)",
                                            "ALTER TABLE t ADD COLUMN y DEFAULT 2",
                                            "UPDATE t SET x = x + y; INSERT INTO t VALUES (5, 6)"};
  must(migrate(db, std::span(steps).first(1)));
  EXPECT_EQ(number(db, "PRAGMA user_version"), 1);
  EXPECT_EQ(number(db, "PRAGMA application_id"), kApplicationId);
  must(migrate(db, steps));
  EXPECT_EQ(number(db, "PRAGMA user_version"), 3);
  EXPECT_EQ(number(db, "SELECT sum(x) FROM t"), 8);
  must(migrate(db, steps));
  EXPECT_EQ(number(db, "SELECT sum(x) FROM t"), 8) << "each step runs once";
}

TEST(Migrate, AStepThatFailsLeavesTheVersionBefore) {
  TempDir folder;
  auto db = fresh(folder);
  const std::array<const char*, 2> steps = {
      "CREATE TABLE t (x)", "INSERT INTO t VALUES (1); INSERT INTO missing VALUES (1)"};
  EXPECT_THAT(message_of(migrate(db, steps)), HasSubstr("missing"));
  EXPECT_EQ(number(db, "PRAGMA user_version"), 1);
  EXPECT_EQ(number(db, "SELECT count(*) FROM t"), 0);
  EXPECT_FALSE(db.in_transaction());
}

TEST(Migrate, RefusesToGoBack) {
  TempDir folder;
  auto db = fresh(folder);
  const std::array<const char*, 2> steps = {"CREATE TABLE t (x)", "CREATE TABLE u (x)"};
  must(migrate(db, steps));
  EXPECT_THAT(message_of(migrate(db, std::span(steps).first(1))), HasSubstr("has version 2"));
}

TEST(OpenDatabase, SetsWhatKeepsTheDataSafe) {
  TempDir folder;
  auto db = must(open_database(folder.file("store.db"), /*read_only=*/false, 5000));
  EXPECT_EQ(number(db, "PRAGMA foreign_keys"), 1);
  EXPECT_EQ(number(db, "PRAGMA synchronous"), 2) << "FULL";
  EXPECT_EQ(number(db, "PRAGMA trusted_schema"), 0);
  EXPECT_EQ(number(db, "PRAGMA busy_timeout"), 5000);
  EXPECT_EQ(number(db, "PRAGMA user_version"), 1);
  EXPECT_EQ(number(db, "PRAGMA application_id"), 0x68636b74);
  auto mode = must(db.query("PRAGMA journal_mode"));
  ASSERT_TRUE(must(mode.next()));
  EXPECT_EQ(mode.text(0), "wal");
}

TEST(OpenDatabase, AnOlderFileIsMigratedByWritersAndRefusedByReaders) {
  TempDir folder;
  const std::string path = folder.file("store.db");
  {
    auto db = must(open_database(path, /*read_only=*/false, 0));
    must(db.execute_script("PRAGMA user_version = 0"));
  }
  // Version 0 with our mark is a stand-in for any older version: its step cannot run on these
  // tables, which shows that it was tried.
  EXPECT_THAT(message_of(open_database(path, /*read_only=*/false, 0)), HasSubstr("already exists"));
  EXPECT_FALSE(open_database(path, /*read_only=*/true, 0));
}

}  // namespace
}  // namespace hocket::sqlite
