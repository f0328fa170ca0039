#include "store/sqlite/schema.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <array>

#include "store/open.h"
#include "store/sqlite/database.h"
#include "tests/store/fixtures.h"

namespace hocket::sqlite {
namespace {

using testing::HasSubstr;

Connection fresh(const TemporaryFolder& folder) {
  return must(Connection::open(folder.file("store.db"), Connection::Mode::create, 0));
}

std::int64_t number(Connection& db, const char* sql) {
  return must(db.integer(sql)).value_or(-1);
}

TEST(Migrate, RunsTheStepsThatTheFileIsDueForInOrder) {
  TemporaryFolder folder;
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
  TemporaryFolder folder;
  auto db = fresh(folder);
  const std::array<const char*, 2> steps = {
      "CREATE TABLE t (x)", "INSERT INTO t VALUES (1); INSERT INTO missing VALUES (1)"};
  EXPECT_THAT(message_of(migrate(db, steps)), HasSubstr("missing"));
  EXPECT_EQ(number(db, "PRAGMA user_version"), 1);
  EXPECT_EQ(number(db, "SELECT count(*) FROM t"), 0);
  EXPECT_FALSE(db.in_transaction());
}

TEST(Migrate, RefusesToGoBack) {
  TemporaryFolder folder;
  auto db = fresh(folder);
  const std::array<const char*, 2> steps = {"CREATE TABLE t (x)", "CREATE TABLE u (x)"};
  must(migrate(db, steps));
  EXPECT_THAT(message_of(migrate(db, std::span(steps).first(1))), HasSubstr("has version 2"));
}

TEST(OpenDatabase, SetsWhatKeepsTheDataSafe) {
  TemporaryFolder folder;
  auto db = must(open_database(folder.file("store.db"), /*read_only=*/false, 5000));
  EXPECT_EQ(number(db, "PRAGMA foreign_keys"), 1);
  EXPECT_EQ(number(db, "PRAGMA synchronous"), 2) << "FULL";
  EXPECT_EQ(number(db, "PRAGMA trusted_schema"), 0);
  EXPECT_EQ(number(db, "PRAGMA busy_timeout"), 5000);
  EXPECT_EQ(number(db, "PRAGMA user_version"), 10);
  EXPECT_EQ(number(db, "PRAGMA application_id"), 0x68636b74);
  auto mode = must(db.query("PRAGMA journal_mode"));
  ASSERT_TRUE(must(mode.next()));
  EXPECT_EQ(mode.text(0), "wal");
}

TEST(OpenDatabase, AnOlderFileIsMigratedByWritersAndRefusedByReaders) {
  TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  {
    auto db = must(open_database(path, /*read_only=*/false, 0));
    must(db.execute_script("PRAGMA user_version = 0"));
  }
  // Version 0 with hocket's mark represents any older version: its migration step fails on these
  // tables, which shows that it ran.
  EXPECT_THAT(message_of(open_database(path, /*read_only=*/false, 0)), HasSubstr("already exists"));
  EXPECT_FALSE(open_database(path, /*read_only=*/true, 0));
}

/// Writes a file of version 1, made by a released program.
void write_version_1(const std::string& path) {
  auto db = must(Connection::open(path, Connection::Mode::create, 0));
  must(
      db.execute_script(read_bytes(HOCKET_SOURCE_DIR "/tests/store/sqlite/version_1.sql").c_str()));
  ASSERT_EQ(number(db, "PRAGMA user_version"), 1);
}

std::vector<std::string> schema(Connection& db) {
  auto query =
      must(db.query("SELECT name || ': ' || sql FROM sqlite_schema "
                    "WHERE sql IS NOT NULL ORDER BY name"));
  std::vector<std::string> found;
  while (must(query.next())) found.push_back(query.text(0));
  return found;
}

TEST(Version2, KeepsEverythingThatVersion1Had) {
  TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  write_version_1(path);
  EXPECT_THAT(message_of(open_store(path, {.read_only = true})), HasSubstr("older version 1"));

  const auto store = must(open_store(path, {.now_unix_ns = [] { return 9; }}));
  const auto promotions = must(store->promotions({}));
  ASSERT_EQ(promotions.size(), 2u);
  const PromotionRow expected{.id = 1,
                              .topology_id = 1,
                              .workload_id = 1,
                              .study_id = 1,
                              .config = {{"X", 4}},
                              .measured = MeasuredGain{104, 125, 0.16800000000000048},
                              .promoted_at_ns = 1795274312109390245,
                              .declared = must(store->study("1")).definition.at("space")};
  EXPECT_EQ(promotions[0], expected);
  EXPECT_EQ(promotions[1].config, nlohmann::json({{"X", 4}}));
  const auto key = must(store->keys()).at(0);
  EXPECT_EQ(key.current_id, 2);
  EXPECT_EQ(must(store->current_promotion(key.key.topology, key.key.workload)), promotions[1]);

  const auto trials = must(store->trials(1, TrialDetail::with_measurements));
  ASSERT_EQ(trials.size(), 3u);
  EXPECT_EQ(trials[0].measurements, (Measurements{{"objective", {125}}, {"wall_ns", {5639211}}}));
  EXPECT_EQ(trials[0].worker, "");
  EXPECT_EQ(trials[0].lease_until_ns, std::nullopt);
  EXPECT_EQ(must(store->trials(2, TrialDetail::summary)).back().state, TrialState::running);
  EXPECT_EQ(must(store->start_trial({2, {}, {{"X", 1}}, "w", 5})).id, 41) << "ids go on";
  EXPECT_EQ(must(store->promote({.topology_id = 1,
                                 .workload_id = 1,
                                 .config = {{"X", 4}},
                                 .origin = PromotionOrigin::push}))
                .id,
            3);
  EXPECT_EQ(must(store->audit({})).size(), 1u);
}

TEST(Version8, GivesVersionsWhatTheirStudiesDeclare) {
  TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  write_version_1(path);
  auto old = must(Connection::open(path, Connection::Mode::create, 0));
  must(old.execute("UPDATE studies SET definition = '{\"space\":7}' WHERE id = 2"));
  must(old.execute("UPDATE promotions SET study_id = 2, config = '{\"Y\":1}' WHERE id = 2"));
  const auto store = must(open_store(path));
  const auto promotions = must(store->promotions({}));
  EXPECT_EQ(promotions[0].declared, must(store->study("1")).definition.at("space"));
  EXPECT_EQ(promotions[1].declared, nlohmann::json::object());
}

/// Returns every row of every table of version 2.
std::vector<std::string> rows_of_version_2(Connection& db) {
  std::vector<std::string> found;
  for (const char* sql :
       {"SELECT id || fingerprint || name || document FROM topologies",
        "SELECT id || fingerprint || name || document FROM workloads",
        "SELECT id || name || command || definition || state || coalesce(result, '') FROM studies",
        "SELECT id || study_id || number || phase || state || params || coalesce(value, '') || "
        "worker || coalesce(lease_until_ns, '') FROM trials",
        "SELECT trial_id || metric || position || ':' || value FROM measurements",
        "SELECT id || config || coalesce(value, '') || origin || stage || actor FROM promotions",
        "SELECT topology_id || workload_id || pinned || frozen FROM key_states",
        "SELECT id || config || reason FROM quarantine",
        "SELECT id || at_ns || actor || action || subject || detail FROM audit"}) {
    auto query = must(db.query(sql));
    while (must(query.next())) found.push_back(query.text(0));
  }
  return found;
}

TEST(Version3, KeepsEverythingThatVersion2HadAndTakesProfiles) {
  TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  write_version_1(path);
  std::vector<std::string> before;
  {
    auto db = must(Connection::open(path, Connection::Mode::create, 0));
    must(migrate(db, migration_steps().first(2)));
    ASSERT_EQ(number(db, "PRAGMA user_version"), 2);
    must(db.execute("INSERT INTO key_states VALUES (1, 1, 1, 0)"));
    must(db.execute("INSERT INTO quarantine VALUES (1, 1, 1, '{}', 'slow', 'ada', 5)"));
    must(db.execute("INSERT INTO audit VALUES (1, 2, 'ada', 'push', 'key', '{}')"));
    before = rows_of_version_2(db);
  }
  EXPECT_THAT(message_of(open_store(path, {.read_only = true})), HasSubstr("older version 2"));
  const auto store = must(open_store(path));
  EXPECT_TRUE(must(store->profiles()).empty());
  const ProfileRow row = must(store->add_profile({.source = "host", .workload_id = 1}));
  EXPECT_EQ(row.name, "parabola-1");
  auto db = must(open_database(path, /*read_only=*/true, 0));
  EXPECT_EQ(rows_of_version_2(db), before);
  EXPECT_GT(before.size(), 10u);
}

TEST(Version3, IsTheSameFromVersion1AsFromNothing) {
  TemporaryFolder folder;
  write_version_1(folder.file("old.db"));
  auto old = must(open_database(folder.file("old.db"), /*read_only=*/false, 0));
  auto fresh = must(open_database(folder.file("new.db"), /*read_only=*/false, 0));
  EXPECT_EQ(schema(old), schema(fresh));
  EXPECT_EQ(number(old, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
  auto check = must(old.query("PRAGMA integrity_check"));
  ASSERT_TRUE(must(check.next()));
  EXPECT_EQ(check.text(0), "ok");
}

TEST(Version4, TakesTheOriginOfAStudyFromItsOwner) {
  TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  write_version_1(path);
  const char* insert =
      "INSERT INTO studies (name, command, definition, state, owner, created_at_ns, updated_at_ns) "
      "VALUES (?1, '[]', '{}', 'running', ?2, 1, 1)";
  auto older = must(Connection::open(path, Connection::Mode::create, 0));
  must(migrate(older, migration_steps().first(3)));
  must(older.execute(insert, "shared", "workers"));
  must(older.execute(insert, "live", "hocket serve"));
  const auto store = must(open_store(path));
  EXPECT_EQ(must(store->study("parabola-1")).origin, StudyOrigin::tune);
  EXPECT_EQ(must(store->study("shared")).origin, StudyOrigin::http);
  EXPECT_EQ(must(store->study("live")).origin, StudyOrigin::live);
  EXPECT_EQ(number(older, "SELECT count(*) FROM studies WHERE origin = 'http'"), 1);

  // A daemon of the older version that still has the file open writes no origin.
  must(older.execute(insert, "late", "workers"));
  EXPECT_EQ(must(store->study("late")).origin, StudyOrigin::http);
  EXPECT_EQ(must(store->latest_unfinished_study()), std::nullopt);
  // Who took over the study before has hidden its owner, but not its origin.
  must(store->update_study(must(store->study("shared")).id, {.owner = "7@host boot/1"}));
  EXPECT_EQ(must(store->study("shared")).origin, StudyOrigin::http);
}

TEST(Version6, KeepsWhatAnOlderStoreHadAndRemovesItsStudies) {
  TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  write_version_1(path);
  auto older = must(Connection::open(path, Connection::Mode::create, 0));
  must(migrate(older, migration_steps().first(5)));
  const auto before = rows_of_version_2(older);
  const auto store = must(open_store(path));
  EXPECT_EQ(rows_of_version_2(older), before);
  const auto promotions = must(store->promotions({}));
  ASSERT_FALSE(promotions.empty());
  const auto study = must(store->study("1"));
  must(store->remove_study(study.id, study.owner, "ada"));
  EXPECT_EQ(must(store->promotions({})).front().removed_study, study.name);
  EXPECT_EQ(must(store->promotions({})).front().config, promotions.front().config);
  // A program of the older version that still has the file open continues to promote.
  must(
      older.execute("INSERT INTO promotions (topology_id, workload_id, study_id, config, "
                    "promoted_at_ns) VALUES (1, 1, 2, '{}', 7)"));
  EXPECT_EQ(must(store->promotions({})).back().removed_study, "");
  EXPECT_EQ(number(older, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

TEST(Version7, KeepsWhatVersion6HadAndTakesWorkers) {
  TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  write_version_1(path);
  auto older = must(Connection::open(path, Connection::Mode::create, 0));
  must(older.execute_script("PRAGMA foreign_keys = ON"));
  must(migrate(older, migration_steps().first(6)));
  ASSERT_EQ(number(older, "PRAGMA user_version"), 6);
  const auto before = rows_of_version_2(older);
  EXPECT_THAT(message_of(open_store(path, {.read_only = true})), HasSubstr("older version 6"));
  const auto store = must(open_store(path, {.now_unix_ns = [] { return 9; }}));
  EXPECT_EQ(rows_of_version_2(older), before);
  for (const auto& row : must(store->trials(2, TrialDetail::summary))) {
    EXPECT_FALSE(row.is_offered);
    EXPECT_EQ(row.losses, 0);
  }
  EXPECT_EQ(must(store->workers(2)), std::vector<WorkerRow>());

  // A program of the older version, which has the file open, starts, ends and removes trials.
  must(
      older.execute("INSERT INTO trials (study_id, number, phase, state, params, message, "
                    "started_at_ns, worker, lease_until_ns) "
                    "SELECT 2, max(number) + 1, 'search', 'running', '{}', '', 7, '', NULL "
                    "FROM trials WHERE study_id = 2"));
  EXPECT_FALSE(must(store->trials(2, TrialDetail::summary)).back().is_offered);
  const auto offered = must(store->start_trial({.study_id = 2, .is_offered = true}));
  must(older.execute("UPDATE trials SET state = 'failed', finished_at_ns = 8 WHERE id = ?1",
                     offered.id));
  EXPECT_FALSE(must(store->trials(2, TrialDetail::summary)).back().is_offered);
  EXPECT_EQ(must(store->claim_trial(2, {"a", "host", 5})), std::nullopt);
  EXPECT_EQ(must(store->workers(2)).size(), 1u);
  must(older.execute("DELETE FROM promotions WHERE study_id = 2"));
  must(older.execute("DELETE FROM trials WHERE study_id = 2"));
  must(older.execute("DELETE FROM studies WHERE id = 2"));
  EXPECT_EQ(number(older, "SELECT count(*) FROM workers"), 0) << "they go with their study";
}

TEST(Version2, AProgramThatKnowsVersion1GoesOnPromoting) {
  TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  write_version_1(path);
  auto older = must(Connection::open(path, Connection::Mode::create, 0));
  const char* insert =
      "INSERT INTO promotions (topology_id, workload_id, study_id, config, value, "
      "default_value, gain, promoted_at_ns) VALUES (1, 1, 2, '{}', 1, 2, 0.5, ?1)";
  must(older.execute(insert, std::int64_t{7}));
  const auto store = must(open_store(path));
  must(older.execute(insert, std::int64_t{8}));
  const auto row = must(store->promotions({})).back();
  EXPECT_EQ(row.promoted_at_ns, 8);
  EXPECT_EQ(row.origin, PromotionOrigin::study);
  EXPECT_EQ(row.stage, PromotionStage::released);
}

TEST(Version9, WhatAnOlderProgramPromotedIsKeptByNobodyInParticular) {
  TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  write_version_1(path);
  auto older = must(Connection::open(path, Connection::Mode::create, 0));
  must(older.execute_script("PRAGMA foreign_keys = ON"));
  must(migrate(older, migration_steps().first(8)));
  ASSERT_EQ(number(older, "PRAGMA user_version"), 8);
  const auto before = rows_of_version_2(older);
  const auto store = must(open_store(path, {.now_unix_ns = [] { return 9; }}));
  EXPECT_EQ(rows_of_version_2(older), before);
  // A program of the older version, which has the file open, goes on.
  must(
      older.execute("INSERT INTO promotions (topology_id, workload_id, config, promoted_at_ns, "
                    "origin, stage) VALUES (1, 1, '{}', 7, 'live', 'released')"));
  const auto rows = must(store->promotions({}));
  for (const PromotionRow& row : rows) EXPECT_TRUE(row.kept_by.empty());
  EXPECT_EQ(newest_for(rows, "ada")->id, rows.back().id);
  EXPECT_EQ(newest_for(rows, "")->id, rows.back().id);
}

}  // namespace
}  // namespace hocket::sqlite
