// One row that cannot be read never hides the others: each column of each table is damaged in turn,
// and every verb and every route that lists something shows what is left.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "cli/inputs/access/daemon_access.h"
#include "core/base/text.h"
#include "tests/cli/answer.h"
#include "tests/cli/full_store.h"
#include "tests/daemon/running_daemon.h"
#include "tests/scoped_environment.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

/// Values that are put in place of others: nothing, text that is no JSON or no known word, other
/// types, numbers out of range, and what a newer program may have written.
const Words kDamages = {"NULL",
                        "''",
                        "'garbage'",
                        "x'ff1b5b324aff'",
                        "'[1, 2]'",
                        "'{\"a\": '",
                        "'{\"version\": 99, \"space\": 3, \"best\": [], \"notes\": 7}'",
                        "-1",
                        "9e999",
                        "9223372036854775807"};

struct Column {
  std::string table, name;
};

std::string copied(const std::string& path, const std::string& to) {
  std::filesystem::copy_file(path, to, std::filesystem::copy_options::overwrite_existing);
  for (const char* beside : {"-wal", "-shm"}) std::filesystem::remove(to + beside);
  return to;
}

/// Lets every column take any value, as in a store that was written by hand.
std::vector<Column> loosen(const std::string& path) {
  std::vector<Column> columns;
  std::set<std::string> tables;
  {
    auto db = must(sqlite::Connection::open(path, sqlite::Connection::Mode::create, 5000));
    auto rows =
        must(db.query("SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) "
                      "c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'"));
    while (must(rows.next())) {
      columns.push_back({rows.text(0), rows.text(1)});
      tables.insert(rows.text(0));
    }
  }
  std::string script = "PRAGMA foreign_keys = OFF; PRAGMA journal_mode = DELETE;";
  for (const std::string& table : tables) {
    script += "CREATE TABLE loose AS SELECT * FROM " + table + "; DROP TABLE " + table +
              "; ALTER TABLE loose RENAME TO " + table + ";";
  }
  FullStore::change(path, script);
  return columns;
}

/// Damages the last row of the table, one of round "two".
void damage(const std::string& path, const Column& column, const std::string& value) {
  FullStore::change(path, "PRAGMA foreign_keys = OFF; UPDATE " + column.table + " SET " +
                              column.name + " = " + value +
                              " WHERE rowid = (SELECT max(rowid) FROM " + column.table + ");");
}

/// A list, and what it shows however the rows of round two are damaged.
struct Listing {
  Words words;
  std::string shows;
  std::set<std::string> asks_for = {};  ///< tables of which it asks for the damaged row
};

const std::vector<Listing> kListings = {
    {{"studies"}, "study-one"},
    {{"studies", "--json"}, "study-one"},
    {{"trials", "study-one"}, "worker-one"},
    {{"trials", "study-two"}, "worker-two", {"studies"}},
    {{"trials", "study-two", "--json"}, "worker-two", {"studies"}},
    {{"trials", "study-two", "--csv"}, "complete", {"studies"}},
    {{"best"}, "study "},
    {{"best", "study-one"}, "study-one"},
    {{"versions", "work-one"}, "actor-one"},
    {{"profiles", "list"}, "job-one"},
    {{"profiles", "list", "--json"}, "job-one"},
    {{"profiles", "show", "job-one-1"}, "job-one"},
    {{"profiles", "prune", "--keep", "0", "--dry-run"}, ""},
    {{"audit"}, "auditor-one"},
    {{"audit", "--json"}, "auditor-one"},
    {{"prune", "--dry-run", "--keep-studies", "1m", "--keep-audit", "1m", "--keep-profiles", "0"},
     ""},
};

class UnreadableRows : public ::testing::Test {
 protected:
  const ScopedEnvironment no_daemon_{"HOCKET_DAEMON", nullptr};
  const FullStore store_;
  const std::vector<Column> columns_ = loosen(store_.path());
  const std::string damaged_ = store_.folder().file("damaged.db");
};

// Every column with a third of the lists and one of the damages, others from column to column: all
// damages with all lists take thirty times as long.
TEST_F(UnreadableRows, EveryListShowsTheOthers) {
  ASSERT_GT(columns_.size(), 80U);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    for (std::size_t j = i % 3; j < kListings.size(); j += 3) {
      const Listing& listing = kListings[j];
      if (listing.asks_for.contains(column.table)) continue;
      const std::string& value = kDamages[(i + 3 * j) % kDamages.size()];
      damage(copied(store_.path(), damaged_), column, value);
      Words words = listing.words;
      words.insert(words.end(), {"--store", damaged_});
      const Answer answer = ask_hocket(words);
      SCOPED_TRACE(column.table + "." + column.name + " = " + value + ": " + shell_text(words) +
                   "\n" + answer.err);
      EXPECT_EQ(answer.status, 0);
      EXPECT_THAT(answer.out, HasSubstr(listing.shows));
      if (HasFailure()) return;
    }
  }
}

TEST_F(UnreadableRows, TheRowThatIsLeftOutIsNamed) {
  const std::vector<std::pair<Column, Listing>> cases = {
      {{"studies", "definition"}, {{"studies"}, "study 2 of the store cannot be read"}},
      {{"studies", "state"}, {{"studies"}, "study 2 of the store cannot be read"}},
      {{"trials", "params"}, {{"trials", "study-two"}, "trial 8 of the store cannot be read"}},
      {{"trials", "state"}, {{"studies"}, "trial 8 of the store cannot be read"}},
      {{"promotions", "config"}, {{"versions", "work-two"}, "version 4 of the store cannot"}},
      {{"profiles", "detail"}, {{"profiles", "list"}, "profile 2 of the store cannot be read"}},
      {{"profile_ranks", "clock_fit"}, {{"profiles", "list"}, "a rank of profile 2 of the store"}},
      {{"audit", "detail"}, {{"audit"}, "of the audit"}},
      {{"topologies", "document"}, {{"studies"}, "row 2 of the store, is not there or cannot"}},
      {{"workloads", "document"}, {{"trials", "study-two"}, "row 2 of the store, is not there"}}};
  for (const auto& [column, listing] : cases) {
    damage(copied(store_.path(), damaged_), column, "'garbage'");
    Words words = listing.words;
    words.insert(words.end(), {"--store", damaged_});
    for (const bool as_json : {false, true}) {
      if (as_json) words.push_back("--json");
      const Answer answer = ask_hocket(words);
      EXPECT_EQ(answer.status, 0) << answer.err;
      EXPECT_THAT(answer.err, HasSubstr("note: ")) << shell_text(words);
      EXPECT_THAT(answer.err, HasSubstr(listing.shows)) << shell_text(words);
      if (!as_json) continue;
      EXPECT_FALSE(answer.json().value("unreadable", Words()).empty()) << answer.out;
    }
  }
}

TEST_F(UnreadableRows, EveryListOfADaemonShowsTheOthers) {
  const std::vector<std::pair<std::string, std::string>> routes = {
      {"/v1/studies", "study-one"}, {"/v1/studies/study-one/trials", "worker-one"},
      {"/v1/configs", "work-one"},  {"/v1/profiles", "job-one"},
      {"/v1/audit", "auditor-one"}, {"/v1/jobs", "jobs"}};
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    const std::string value = i % 2 == 0 ? "'garbage'" : "NULL";
    damage(copied(store_.path(), damaged_), column, value);
    const auto store = must(open_store(damaged_));
    const RunningDaemon daemon(*store);
    HttpClient client({.address = must(parse_daemon_address(daemon.url()))});
    for (const auto& [route, shows] : routes) {
      const auto answer = ask_daemon(client, "GET", route);
      SCOPED_TRACE(column.table + "." + column.name + " = " + value + ": " + route);
      ASSERT_TRUE(answer) << answer.error().message;
      EXPECT_THAT(answer->dump(-1, ' ', true), HasSubstr(shows));
    }
    for (const Listing& listing : std::vector<Listing>{{{"configs"}, "work-one"},
                                                       {{"versions", "work-one"}, "actor-one"},
                                                       {{"audit"}, "auditor-one"},
                                                       {{"jobs"}, ""},
                                                       {{"top", "--once"}, ""}}) {
      Words words = listing.words;
      words.insert(words.end(), {"--daemon", daemon.url()});
      const Answer shown = ask_hocket(words);
      SCOPED_TRACE(column.table + "." + column.name + " = " + value + ": " + shell_text(words));
      EXPECT_EQ(shown.status, 0) << shown.err;
      EXPECT_THAT(shown.out, HasSubstr(listing.shows));
    }
    if (HasFailure()) return;
  }
}

TEST_F(UnreadableRows, AStudyWithoutTopologyAndWorkloadIsWhole) {
  FullStore::change(store_.path(),
                    "UPDATE studies SET topology_id = NULL, workload_id = NULL WHERE id = 2;");
  const auto ask = [&](Words words) {
    words.insert(words.end(), {"--store", store_.path()});
    return ask_hocket(words);
  };
  for (const Words& words : std::vector<Words>{{"studies"},
                                               {"studies", "--json"},
                                               {"trials", "study-two"},
                                               {"trials", "study-two", "--json"},
                                               {"trials", "study-two", "--csv"},
                                               {"best", "study-two"},
                                               {"best", "study-two", "--json"}}) {
    const Answer answer = ask(words);
    EXPECT_EQ(answer.status, 0) << answer.err;
    EXPECT_EQ(answer.err.find("note: "), std::string::npos) << answer.err;
  }
  EXPECT_THAT(ask({"trials", "study-two"}).out, HasSubstr("an unknown workload on an unknown"));
  EXPECT_TRUE(ask({"trials", "study-two", "--json"}).json().at("topology").is_null());
}

}  // namespace
}  // namespace hocket
