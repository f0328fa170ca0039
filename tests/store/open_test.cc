// Tests opening a store: its path, and every kind of file that cannot be a store.

#include "store/open.h"
#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <random>

#include "store/schema/migrations.h"
#include "store/sql/sql_store.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/database.h"
#include "store/sqlite/sqlite_database.h"
#include "tests/odd_files.h"
#include "tests/scoped_environment.h"
#include "tests/store/check_store.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using sqlite::Connection;
using sqlite::Transaction;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

std::string default_path(const char* store, const char* state, const char* home) {
  const ScopedEnvironment a("HOCKET_STORE", store), b("XDG_STATE_HOME", state), c("HOME", home);
  const auto path = default_store_path();
  return path ? *path : "error: " + path.error().message;
}

/// Creates a store with rows of each kind, and closes it.
void fill(const std::string& path) {
  const auto store = must(open_store(path));
  const auto topology = must(store->upsert_topology(sample_topology()));
  const auto workload = must(store->upsert_workload(sample_workload()));
  for (int s = 0; s < 3; ++s) {
    const auto study = must(store->create_study(sample_study()));
    for (int t = 0; t < 5; ++t) {
      const auto trial = must(store->start_trial({study.id, TrialPhase::search, {{"x", t}}}));
      must(store->finish_trial(trial.id, sample_result(t)));
    }
    must(store->promote(
        {topology, workload, study.id, {{"streams", s + 1}}, MeasuredGain{1, 2, 0.5}}));
  }
  must(store->quarantine({topology, workload, {{"streams", 9}}, "slow", "tuner"}));
  must(store->set_key_state(topology, workload, {.frozen = true}, "ada"));
}

/// Checks that both ways of opening fail with a reason and leave the file unchanged.
void expect_refused(const std::string& path, const testing::Matcher<std::string>& message) {
  const std::string before = read_bytes(path);
  for (const bool read_only : {false, true}) {
    SCOPED_TRACE(read_only ? "read-only" : "writing");
    const auto store = open_store(path, {.read_only = read_only});
    EXPECT_THAT(message_of(store), AllOf(HasSubstr(path), message));
    EXPECT_EQ(read_bytes(path), before);
  }
}

TEST(DefaultStorePath, FollowsTheEnvironment) {
  EXPECT_EQ(default_path("/a.db", "/state", "/home/me"), "/a.db");
  EXPECT_EQ(default_path("", "/state", "/home/me"), "/state/hocket/hocket.db");
  EXPECT_EQ(default_path(nullptr, "", "/home/me"), "/home/me/.local/state/hocket/hocket.db");
  EXPECT_EQ(default_path(nullptr, "relative", "/home/me"),
            "/home/me/.local/state/hocket/hocket.db");
  EXPECT_THAT(default_path(nullptr, nullptr, nullptr), HasSubstr("set HOCKET_STORE"));
}

TEST(OpenStore, CreatesFoldersAndFileAndFindsEverythingAgain) {
  TemporaryFolder folder;
  const std::string path = folder.file("a/b/store.db");
  fill(path);
  for (const bool read_only : {true, false}) {
    const auto store = must(open_store(path, {.read_only = read_only}));
    EXPECT_EQ(must(store->studies()).size(), 3u);
    const auto trials = must(store->trials(2, TrialDetail::with_measurements));
    ASSERT_EQ(trials.size(), 5u);
    EXPECT_EQ(trials[3].measurements, sample_result(3).metrics);
    EXPECT_EQ(must(store->promotions({})).size(), 3u);
  }
}

TEST(OpenStore, WhatItCreatesIsForTheOwnerAloneAndTheRestStays) {
  TemporaryFolder folder;
  const auto mode = [](const std::string& path) { return fs::status(path).permissions(); };
  const fs::perms all = fs::perms::all & ~fs::perms::others_write;
  fs::permissions(folder.path(), all);
  const std::string path = folder.file("a/b/store.db");
  const mode_t before = ::umask(0);
  {
    const auto store = must(open_store(path));
    must(store->create_study(sample_study()));
    for (const char* more : {"", "-wal", "-shm"}) {
      EXPECT_EQ(mode(path + more), fs::perms::owner_read | fs::perms::owner_write) << more;
    }
  }
  EXPECT_EQ(mode(folder.file("a")), fs::perms::owner_all);
  EXPECT_EQ(mode(folder.file("a/b")), fs::perms::owner_all);
  EXPECT_EQ(mode(folder.path()), all);
  const fs::perms shared = fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read;
  fs::permissions(path, shared);
  must(open_store(path));
  EXPECT_EQ(mode(path), shared);
  ::umask(before);
}

TEST(OpenStore, TakesTheTimeFromTheMachineUnlessTold) {
  TemporaryFolder folder;
  const std::int64_t before = system_unix_ns();
  const auto row = must(must(open_store(folder.file("a.db")))->create_study(sample_study()));
  EXPECT_GE(row.created_at_ns, before);
  EXPECT_LE(row.created_at_ns, system_unix_ns());
}

TEST(OpenStore, WhereNoFolderCanBeCreatedSaysSo) {
  TemporaryFolder folder;
  write_bytes(folder.file("file"), "x");
  const std::string path = folder.file("file/sub/store.db");
  const auto store = open_store(path);
  EXPECT_EQ(code_of(store), ErrorCode::unavailable);
  EXPECT_THAT(message_of(store), HasSubstr("cannot create the folder " + folder.file("file/sub")));
}

TEST(OpenStore, OddNamesAreFiles) {
  TemporaryFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  for (const std::string name : {":memory:", "file:x?mode=memory", "a%41#b?immutable=1", " "}) {
    must(must(open_store(name))->create_study(sample_study("kept")));
    EXPECT_TRUE(fs::is_regular_file(folder.path() / name)) << name;
    EXPECT_TRUE(must(open_store(name, {.read_only = true}))->study("kept")) << name;
  }
  fs::current_path(before);
}

TEST(OpenStoreInMemory, EachIsEmptyAndByItself) {
  const auto store = open_store_in_memory([] { return std::int64_t{7}; });
  EXPECT_EQ(must(store->create_study(sample_study("a"))).created_at_ns, 7);
  EXPECT_EQ(must(store->studies()).size(), 1u);
  EXPECT_TRUE(must(open_store_in_memory()->studies()).empty());
}

TEST(OpenStore, RefusesWhatIsNotAFile) {
  TemporaryFolder folder;
  EXPECT_EQ(code_of(open_store("")), ErrorCode::invalid_argument);
  for (const std::string& path : {folder.path().string(), std::string("/dev/null")}) {
    for (const bool read_only : {false, true}) {
      EXPECT_THAT(message_of(open_store(path, {.read_only = read_only})),
                  HasSubstr(path + " is not a file"));
    }
  }
}

TEST(OpenStore, RefusesTheUriOfAnotherDatabase) {
  EXPECT_EQ(message_of(open_store("pstgresql://db/hocket", {.read_only = true})),
            "no store is named by pstgresql://: write the path of a file, or "
            "postgresql://USER@HOST/DATABASE");
  EXPECT_EQ(code_of(open_store("mysql://db/hocket", {})), ErrorCode::invalid_argument);
}

TEST(OpenStore, ReadOnlyNeedsAStoreAndCreatesNothing) {
  TemporaryFolder folder;
  const auto missing = open_store(folder.file("sub/none.db"), {.read_only = true});
  EXPECT_EQ(code_of(missing), ErrorCode::not_found);
  EXPECT_THAT(message_of(missing), HasSubstr("or a profile creates it"));
  write_bytes(folder.file("empty.db"), "");
  EXPECT_EQ(code_of(open_store(folder.file("empty.db"), {.read_only = true})),
            ErrorCode::not_found);
  EXPECT_EQ(fs::file_size(folder.file("empty.db")), 0u);
  EXPECT_FALSE(fs::exists(folder.file("sub")));
}

TEST(OpenStore, ReadOnlyRefusesToWrite) {
  TemporaryFolder folder;
  fill(folder.file("a.db"));
  const auto store = must(open_store(folder.file("a.db"), {.read_only = true}));
  const auto made = store->create_study(sample_study());
  EXPECT_EQ(code_of(made), ErrorCode::unavailable);
  EXPECT_THAT(message_of(made), HasSubstr("read-only"));
  EXPECT_EQ(must(store->studies()).size(), 3u) << "and goes on reading";
}

TEST(OpenStore, InitialisesAnEmptyFile) {
  TemporaryFolder folder;
  write_bytes(folder.file("empty.db"), "");
  EXPECT_TRUE(must(open_store(folder.file("empty.db")))->create_study(sample_study()));
}

TEST(OpenStore, RefusesAFileThatIsNotADatabase) {
  TemporaryFolder folder;
  const std::string path = folder.file("notes.txt");
  for (const std::string& bytes : {std::string("shopping list\n"), std::string(5000, 'x'),
                                   std::string(8192, '\0') + "x", std::string("SQLite format 3")}) {
    write_bytes(path, bytes);
    expect_refused(path, HasSubstr("not an SQLite database"));
  }
}

TEST(OpenStore, RefusesAnotherProgramsDatabase) {
  TemporaryFolder folder;
  const char* scripts[] = {"CREATE TABLE t (x)", "PRAGMA application_id = 77",
                           "PRAGMA user_version = 1",
                           "PRAGMA application_id = 77; CREATE TABLE studies (x)"};
  for (const char* script : scripts) {
    SCOPED_TRACE(script);
    const std::string path = folder.file("other.db");
    fs::remove(path);
    must(must(Connection::open(path, Connection::Mode::create, 0)).execute_script(script));
    expect_refused(path, HasSubstr("another program's"));
  }
}

TEST(OpenStore, RefusesANewerVersion) {
  TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  fill(path);
  const std::string newer = std::to_string(schema::newest_version() + 1);
  {
    auto db = must(Connection::open(path, Connection::Mode::create, 0));
    must(db.execute_script(("PRAGMA user_version = " + newer).c_str()));
  }
  expect_refused(path, AllOf(HasSubstr("has version " + newer), HasSubstr("use the newer hocket")));
}

TEST(OpenStore, AWriterWaitsForALockThenNamesPathAndWait) {
  TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  fill(path);
  auto other = must(Connection::open(path, Connection::Mode::create, 0));
  const auto store = must(open_store(path, {.busy_timeout_ms = 30}));
  {
    const auto held = must(Transaction::begin(other, Transaction::Kind::write));
    const auto made = store->create_study(sample_study());
    EXPECT_EQ(code_of(made), ErrorCode::timed_out);
    EXPECT_THAT(message_of(made), AllOf(HasSubstr(path + " is locked by another process"),
                                        HasSubstr("waited 30 ms")));
    EXPECT_EQ(must(store->studies()).size(), 3u) << "a reader does not wait";
    EXPECT_TRUE(open_store(path, {.busy_timeout_ms = 30})) << "nor does opening";
  }
  EXPECT_TRUE(store->create_study(sample_study()));
}

TEST(OpenStore, CreatingWaitsForALockThenSaysSo) {
  TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  auto other = must(Connection::open(path, Connection::Mode::create, 0));
  must(other.execute_script("BEGIN EXCLUSIVE"));
  const auto store = open_store(path, {.busy_timeout_ms = 30});
  EXPECT_EQ(code_of(store), ErrorCode::timed_out);
  EXPECT_THAT(message_of(store), HasSubstr("waited 30 ms"));
  must(other.execute_script("ROLLBACK"));
  EXPECT_TRUE(open_store(path, {.busy_timeout_ms = 30}));
}

TEST(OpenStore, AFullDiskLosesNothingEarlier) {
  TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  fill(path);
  std::vector<TrialRow> acknowledged;
  std::int64_t study_id = 0;
  {
    auto db = must(sqlite::open_database(path, /*read_only=*/false, 5000));
    const auto pages = *must(db.integer("PRAGMA page_count"));
    // The limit lasts as long as the connection.
    must(db.integer("PRAGMA max_page_count = " + std::to_string(pages + 6)));
    sql::SqlStore store(sqlite::make_database(std::move(db)), {});
    study_id = must(store.create_study(sample_study())).id;
    TrialOutcome result = sample_result(1);
    result.metrics["wall_ns"] = std::vector<double>(300, 1.5);
    Result<void> ended;
    while (ended && acknowledged.size() < 100) {
      const auto trial = store.start_trial({study_id, {}, nlohmann::json::object()});
      ended = trial ? store.finish_trial(trial->id, result) : failure(trial.error());
      if (ended) acknowledged.push_back(*trial);
    }
    EXPECT_EQ(code_of(ended), ErrorCode::unavailable);
    EXPECT_THAT(message_of(ended), AllOf(StartsWith("disk full"), HasSubstr(path)));
    EXPECT_EQ(must(store.studies()).size(), 4u) << "the store still answers";
  }
  ASSERT_FALSE(acknowledged.empty());
  const auto store = must(open_store(path));
  EXPECT_EQ(must(store->trials(1, TrialDetail::summary)).size(), 5u);
  const auto trials = must(store->trials(study_id, TrialDetail::with_measurements));
  ASSERT_GE(trials.size(), acknowledged.size());
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const bool told = i < acknowledged.size();
    EXPECT_EQ(trials[i].state, told ? TrialState::complete : TrialState::running);
    EXPECT_EQ(trials[i].measurements.size(), told ? 2u : 0u) << "never half a trial";
  }
  EXPECT_TRUE(store->start_trial({study_id, {}, nlohmann::json::object()})) << "and has room again";
}

/// Calls every function; checks only that each returns, and that errors have messages.
void use(Store& store) {
  const auto look = [](const auto& result) {
    if (!result) message_of(result);
    return result.has_value();
  };
  look(store.topologies());
  look(store.workloads(""));
  look(store.latest_unfinished_study());
  look(store.promotions({}));
  look(store.keys());
  look(store.quarantined(1, 1));
  look(store.audit({.limit = 3, .newest = true}));
  look(store.profiles());
  look(store.profile("profile-1"));
  look(store.profile_iterations(1));
  look(store.profile_metrics(1));
  look(store.profile_requests());
  look(store.take_profile_request("job", "", 1'000'000));
  look(store.change_count());
  look(store.set_stage(1, PromotionStage::withdrawn, "", ""));
  look(store.current_promotion(fingerprint(sample_topology()), fingerprint(sample_workload())));
  if (const auto studies = store.studies(); look(studies)) {
    for (const auto& study : *studies) look(store.trials(study.id, TrialDetail::with_measurements));
  }
  look(store.study("train-1"));
}

TEST(CheckStore, KnowsAWholeStoreFromADamagedOne) {
  const TemporaryFolder folder;
  const std::string path = folder.file("store.db"), copy = folder.file("copy.db");
  EXPECT_THAT(message_of(check_store(path)), HasSubstr("there is no store"));
  fill(path);
  EXPECT_TRUE(check_store(path));
  const std::string whole = read_bytes(path);
  constexpr std::size_t kPage = 4096;
  int damaged = 0;
  // Overwrites each page's header except the first one's, without which the file is no database.
  for (std::size_t page = kPage; page < whole.size(); page += kPage) {
    std::string bytes = whole;
    bytes.replace(page, 8, 8, '\x7f');
    write_bytes(copy, bytes);
    damaged += !check_store(copy);
  }
  EXPECT_EQ(damaged, static_cast<int>(whole.size() / kPage) - 1);
  {
    auto db = must(sqlite::open_database(path, false, 1000));
    must(db.execute("PRAGMA foreign_keys = OFF"));
    must(db.execute("DELETE FROM studies WHERE id = 1"));
  }
  EXPECT_THAT(message_of(check_store(path)), HasSubstr("names one that is not there"));
}

TEST(OpenStore, ADamagedFileIsAnErrorOrWorksButNeverACrash) {
  TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  fill(path);
  const std::string intact = read_bytes(path);
  int refused = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::string bytes = intact;
    if (seed % 10 == 9) bytes.resize(random() % bytes.size());
    // Half of the changes are near a page's start, where SQLite keeps its structure.
    for (unsigned i = 0; i < 1 + seed % 24 && !bytes.empty(); ++i) {
      std::size_t at = random() % bytes.size();
      if (random() % 2 == 0) at = at / 4096 * 4096 + random() % 110;
      if (at < bytes.size()) bytes[at] = static_cast<char>(random());
    }
    write_bytes(path, bytes);
    fs::remove(path + "-wal");
    fs::remove(path + "-shm");
    const auto reader = open_store(path, {.read_only = true, .busy_timeout_ms = 1});
    if (reader) use(**reader);
    const auto writer = open_store(path, {.busy_timeout_ms = 1});
    if (!writer) {
      ++refused;
      message_of(writer);
      continue;
    }
    use(**writer);
    const auto study = (*writer)->create_study(sample_study());
    if (!study) continue;
    const auto trial = (*writer)->start_trial({study->id, {}, nlohmann::json::object()});
    if (trial) (void)(*writer)->finish_trial(trial->id, sample_result(1));
    (void)(*writer)->abandon_running_trials(1);
  }
  EXPECT_GT(refused, 0) << "the damage must sometimes matter";
  EXPECT_LT(refused, 300);
}

TEST(OpenStore, AValueThatNoVersionWritesIsReportedAsDamage) {
  TemporaryFolder folder;
  const char* scripts[] = {
      "PRAGMA ignore_check_constraints = ON; UPDATE trials SET state = 'odd'",
      "PRAGMA ignore_check_constraints = ON; UPDATE trials SET phase = ''",
      "UPDATE trials SET params = '{'",
      "UPDATE trials SET value = NULL",
      "UPDATE trials SET value = 9e999",
      "UPDATE studies SET command = '[1]'",
      "UPDATE studies SET command = '{}'",
      "UPDATE studies SET definition = '[]'",
      "UPDATE studies SET result = 'x'",
      "UPDATE topologies SET document = ''",
      "UPDATE workloads SET document = 'null'",
      "UPDATE promotions SET config = '1'",
      "UPDATE promotions SET declared = '1'",
      "UPDATE promotions SET gain = -9e999",
      "UPDATE promotions SET gain = NULL",
      "PRAGMA ignore_check_constraints = ON; UPDATE promotions SET stage = 'odd'",
      "PRAGMA ignore_check_constraints = ON; UPDATE promotions SET origin = ''",
      "UPDATE quarantine SET config = 'x'",
      "UPDATE audit SET detail = ''",
  };
  for (const char* script : scripts) {
    SCOPED_TRACE(script);
    const std::string path = folder.file("store.db");
    fs::remove(path);
    fill(path);
    must(must(Connection::open(path, Connection::Mode::create, 0)).execute_script(script));
    const auto store = must(open_store(path));
    const auto check = [&](const auto& result) {
      if (!result) {
        EXPECT_THAT(message_of(result), HasSubstr("store " + path + " is damaged"));
        EXPECT_EQ(code_of(result), ErrorCode::unavailable);
      }
      return result.has_value();
    };
    EXPECT_FALSE(check(store->studies()) && check(store->trials(1, TrialDetail::summary)) &&
                 check(store->topologies()) && check(store->workloads("")) &&
                 check(store->promotions({})) && check(store->quarantined(1, 1)) &&
                 check(store->audit({})));
  }
}

TEST(OpenStore, OneThatEverybodyCanChangeIsRefused) {
  const TemporaryFolder dir;
  const std::string folder = dir.file("open"), path = folder + "/hocket.db";
  fill(path);
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  expect_refused(path, HasSubstr("chmod o-w " + path));
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  expect_refused(path, HasSubstr("chmod o-w " + folder));
  ASSERT_EQ(::chmod(folder.c_str(), 01777), 0);
  EXPECT_TRUE(open_store(path)) << "as in /tmp";
}

TEST(OpenStore, WhatLiesBesideIsNotWaitedFor) {
  const TemporaryFolder dir;
  const std::string path = dir.file("hocket.db");
  fill(path);
  for (const char* beside : {"-journal", "-wal", "-shm"}) {
    for_odd_files(
        path + beside,
        [&] {
          (void)open_store(path);
          (void)open_store(path, {.read_only = true});
        },
        [&](const OddFile& odd, bool ended) {
          EXPECT_TRUE(ended) << odd.kind << beside;
          EXPECT_THAT(message_of(open_store(path)), HasSubstr(beside)) << odd.kind;
        });
  }
  EXPECT_TRUE(open_store(path));
}

TEST(OpenStore, ItsFilesAreItsOwnersAloneWhateverTheUmask) {
  const TemporaryFolder dir;
  const std::string path = dir.file("new/hocket.db");
  const auto before = ::umask(0);
  const auto store = must(open_store(path));
  must(store->upsert_topology(sample_topology()));
  ::umask(before);
  int files = 0;
  for (const auto& entry : fs::directory_iterator(dir.file("new"))) {
    struct stat status = {};
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 3) << "the store, -wal and -shm";
}

}  // namespace
}  // namespace hocket
