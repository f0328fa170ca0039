// Tests several processes on one store, killed processes, and users without write permission.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "store/open.h"
#include "store/sqlite/connection.h"
#include "tests/store/fixtures.h"
#include "tests/store/processes.h"

namespace hocket {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

/// A generous limit, since the system may be busy; no test waits for it to expire.
constexpr int kBusyTimeoutMs = 60'000;

TEST(StoreProcesses, ManyOpenANewStoreAtOnce) {
  for (int round = 0; round < 10; ++round) {
    TemporaryFolder folder;
    Pipe gate;
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i) {
      children.push_back(start_process([&] {
        gate.close_write();
        char byte;
        (void)!read(gate.ends[0], &byte, 1);  // blocks until the parent opens the gate
        const auto store = open_store(folder.file("store.db"), {.busy_timeout_ms = kBusyTimeoutMs});
        return worked(store) && worked((*store)->create_study(sample_study())) ? 0 : 1;
      }));
    }
    gate.close_write();
    for (const pid_t child : children) EXPECT_EQ(exit_status(child), 0);
    EXPECT_EQ(must(must(open_store(folder.file("store.db")))->studies()).size(), 6u);
    if (HasFailure()) return;
  }
}

TEST(StoreProcesses, SweepsShareAStoreAndNothingIsLost) {
  constexpr int kProcesses = 4, kTrials = 15;
  TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(start_process([&] {
      const auto store = open_store(path, {.busy_timeout_ms = kBusyTimeoutMs});
      if (!worked(store)) return 1;
      const auto study = (*store)->create_study(sample_study());
      if (!worked(study)) return 2;
      for (int t = 0; t < kTrials; ++t) {
        const auto trial = (*store)->start_trial({study->id, {}, {{"pid", getpid()}}});
        if (!worked(trial)) return 3;
        if (!worked((*store)->finish_trial(trial->id, sample_result(t)))) return 4;
      }
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(exit_status(child), 0);
  const auto store = must(open_store(path));
  const auto studies = must(store->studies());
  ASSERT_EQ(studies.size(), static_cast<std::size_t>(kProcesses));
  std::set<std::string> names;
  for (const auto& study : studies) {
    names.insert(study.name);
    const auto trials = must(store->trials(study.id, TrialDetail::with_measurements));
    ASSERT_EQ(trials.size(), static_cast<std::size_t>(kTrials));
    for (int t = 0; t < kTrials; ++t) {
      const auto& trial = trials[static_cast<std::size_t>(t)];
      EXPECT_EQ(trial.number, t + 1);
      EXPECT_EQ(trial.measurements, sample_result(t).metrics);
      EXPECT_EQ(trial.params, trials[0].params) << "trials stay in their study";
    }
  }
  EXPECT_EQ(names.size(), studies.size());
}

/// Finishes trials of study 1 forever; writes each id to `acknowledgements` after it is finished.
int tell_for_ever(const std::string& path, int acknowledgements) {
  const auto store = open_store(path, {.busy_timeout_ms = kBusyTimeoutMs});
  if (!worked(store)) return 1;
  for (;;) {
    const auto trial = (*store)->start_trial({1, {}, nlohmann::json::object()});
    if (!worked(trial)) return 2;
    TrialOutcome result = sample_result(static_cast<double>(trial->id));
    result.metrics["many"] = std::vector<double>(200, 1);
    if (!worked((*store)->finish_trial(trial->id, result))) return 3;
    if (write(acknowledgements, &trial->id, sizeof trial->id) != sizeof trial->id) return 4;
  }
}

/// Kills a process that runs `work` after it has acknowledged `count` ids; returns all acknowledged
/// ids.
std::set<std::int64_t> kill_after(const std::string& path, int count,
                                  int (*work)(const std::string&, int) = tell_for_ever) {
  Pipe pipe;
  const pid_t child = start_process([&] { return work(path, pipe.ends[1]); });
  pipe.close_write();
  std::set<std::int64_t> told;
  std::int64_t id = 0;
  while (read(pipe.ends[0], &id, sizeof id) == sizeof id) {
    told.insert(id);
    // The child continues meanwhile, and the pipe keeps the ids acknowledged before its end.
    if (static_cast<int>(told.size()) == count) kill(child, SIGKILL);
  }
  EXPECT_EQ(exit_status(child), 128 + SIGKILL);
  return told;
}

TEST(StoreProcesses, AKilledWriterLosesNoTrialThatItTold) {
  TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  must(must(open_store(path))->create_study(sample_study()));
  std::set<std::int64_t> told;
  for (int round = 0; round < 10; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    told.merge(kill_after(path, 3 * round + 1));
    {
      auto db = must(sqlite::Connection::open(path, sqlite::Connection::Mode::create, 5000));
      auto check = must(db.query("PRAGMA integrity_check"));
      ASSERT_TRUE(must(check.next()));
      EXPECT_EQ(check.text(0), "ok");
    }
    const auto store = must(open_store(path));
    must(store->abandon_running_trials(1));
    std::set<std::int64_t> found;
    for (const auto& trial : must(store->trials(1, TrialDetail::with_measurements))) {
      found.insert(trial.id);
      EXPECT_EQ(trial.state, TrialState::complete);
      EXPECT_EQ(trial.value, static_cast<double>(trial.id));
      EXPECT_EQ(trial.measurements.at("many").size(), 200u);
    }
    for (const std::int64_t id : told) EXPECT_TRUE(found.contains(id)) << id;
  }
}

/// Creates a store with a topology, a workload (each with id 1), and a study.
void prepare(const std::string& path) {
  const auto store = must(open_store(path));
  must(store->upsert_topology(sample_topology()));
  must(store->upsert_workload(sample_workload()));
  must(store->create_study(sample_study()));
}

NewPromotion push() {
  return {.topology_id = 1,
          .workload_id = 1,
          .config = {{"streams", 2}},
          .origin = PromotionOrigin::push,
          .stage = PromotionStage::staged};
}

/// Pushes versions of key (1, 1) and releases them, forever; writes each id after its release.
int push_for_ever(const std::string& path, int acknowledgements) {
  const auto store = open_store(path, {.busy_timeout_ms = kBusyTimeoutMs});
  if (!worked(store)) return 1;
  for (;;) {
    const auto row = (*store)->promote(push());
    if (!worked(row)) return 2;
    if (!worked((*store)->set_stage(row->id, PromotionStage::released, "", ""))) return 3;
    if (write(acknowledgements, &row->id, sizeof row->id) != sizeof row->id) return 4;
  }
}

TEST(StoreProcesses, AKilledWriterLosesNoVersionAndNothingIsHalfAudited) {
  TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  prepare(path);
  std::set<std::int64_t> told;
  for (int round = 0; round < 10; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    told.merge(kill_after(path, 2 * round + 1, push_for_ever));
    const auto store = must(open_store(path));
    std::map<std::int64_t, std::string> audited;
    for (const auto& row : must(store->audit({}))) {
      audited[row.detail.at("version")] = row.detail.at("stage");
    }
    std::map<std::int64_t, std::string> stored;
    for (const auto& row : must(store->promotions({}))) stored[row.id] = to_string(row.stage);
    EXPECT_EQ(stored, audited);
    for (const std::int64_t id : told) EXPECT_EQ(stored[id], "released") << id;
  }
}

TEST(StoreProcesses, WorkersShareAStudyWhileLeasesExpire) {
  constexpr int kProcesses = 4, kTrials = 15;
  constexpr std::int64_t kLongLeaseNs = 3'600'000'000'000;
  TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  prepare(path);
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(start_process([&] {
      const auto store = open_store(path, {.busy_timeout_ms = kBusyTimeoutMs});
      if (!worked(store)) return 1;
      for (int t = 0; t < kTrials; ++t) {
        // Every third lease ends at once, so any worker may remove its trial.
        const bool is_lost = t % 3 == 2;
        const auto trial =
            (*store)->start_trial({1, {}, {{"x", t}}, "w", is_lost ? 0 : kLongLeaseNs});
        if (!worked(trial)) return 2;
        if (!worked((*store)->expire_leases(1))) return 3;
        if (!is_lost && !worked((*store)->finish_trial(trial->id, sample_result(t)))) return 4;
        if (is_lost && (*store)->finish_trial(trial->id, sample_result(t))) return 5;
      }
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(exit_status(child), 0);
  std::set<std::int64_t> numbers;
  const auto trials = must(must(open_store(path))->trials(1, TrialDetail::with_measurements));
  for (const auto& trial : trials) {
    numbers.insert(trial.number);
    EXPECT_EQ(trial.state, TrialState::complete);
    EXPECT_EQ(trial.measurements.size(), 2u);
  }
  EXPECT_EQ(trials.size(), static_cast<std::size_t>(kProcesses * kTrials * 2 / 3));
  EXPECT_EQ(numbers.size(), trials.size());
}

TEST(StoreProcesses, AChangeByAnotherProcessChangesTheCount) {
  TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  prepare(path);
  for (const bool read_only : {false, true}) {
    // Started before the store is opened: a child must not inherit SQLite's state about a file.
    Pipe gate;
    const pid_t child = start_process([&] {
      gate.close_write();
      char byte;
      (void)!read(gate.ends[0], &byte, 1);  // blocks until the parent opens the gate
      const auto store = open_store(path, {.busy_timeout_ms = kBusyTimeoutMs});
      return worked(store) && worked((*store)->promote(push())) ? 0 : 1;
    });
    const auto store = must(open_store(path, {.read_only = read_only}));
    const auto before = must(store->change_count());
    EXPECT_EQ(must(store->change_count()), before);
    gate.close_write();
    EXPECT_EQ(exit_status(child), 0);
    EXPECT_NE(must(store->change_count()), before);
  }
}

/// Limits all files of this process to `bytes`.
bool limit_files(rlim_t bytes) {
  const rlimit limit{bytes, RLIM_INFINITY};
  return setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

/// Runs `step` until it fails; returns whether it failed for lack of space and succeeds once there
/// is space.
template <class Step>
bool fills_up_and_goes_on(Step&& step) {
  if (!limit_files(200'000)) return complain("setrlimit");
  for (;;) {
    const auto done = step();
    if (done) continue;
    if (!is_told(done, "disk full") || !is_told(done, "free some space and try again"))
      return false;
    if (done.error().code != ErrorCode::unavailable) return complain("another code");
    return limit_files(RLIM_INFINITY) && worked(step());
  }
}

TEST(StoreProcesses, AFileThatMayNotGrowIsAFullDisk) {
  TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  prepare(path);
  Pipe pipe;
  const pid_t child = start_process([&] {
    signal(SIGXFSZ, SIG_IGN);
    const auto store = must(open_store(path));
    const auto tell = [&]() -> Result<void> {
      const auto trial = store->start_trial({1, {}, nlohmann::json::object()});
      HOCKET_TRY(trial);
      if (auto ok = store->finish_trial(trial->id, sample_result(1)); !ok) return ok;
      return write(pipe.ends[1], &trial->id, sizeof trial->id) == sizeof trial->id
                 ? Result<void>()
                 : failure(ErrorCode::unavailable, "pipe");
    };
    const auto change_key = [&]() -> Result<void> {
      const auto row = store->promote(push());
      HOCKET_TRY(row);
      return store->quarantine({1, 1, {{"version", row->id}}, "slow", "tuner"});
    };
    return fills_up_and_goes_on(tell) && fills_up_and_goes_on(change_key) ? 0 : 1;
  });
  pipe.close_write();
  std::set<std::int64_t> told;
  std::int64_t id = 0;
  while (read(pipe.ends[0], &id, sizeof id) == sizeof id) told.insert(id);
  EXPECT_EQ(exit_status(child), 0);
  EXPECT_FALSE(told.empty());
  const auto store = must(open_store(path));
  for (const auto& trial : must(store->trials(1, TrialDetail::summary))) {
    EXPECT_EQ(told.erase(trial.id) == 1, trial.state == TrialState::complete);
  }
  EXPECT_TRUE(told.empty());
  EXPECT_EQ(must(store->promotions({})).size() + must(store->quarantined(1, 1)).size(),
            must(store->audit({})).size());
}

/// Runs `body` as a user who owns nothing here (root may write anywhere).
template <class Body>
int as_stranger(Body&& body) {
  return exit_status(start_process([&] {
    constexpr unsigned kNobody = 65534;
    if (geteuid() == 0 &&
        (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0)) {
      return 98;
    }
    return body();
  }));
}

/// A folder that can be read but not written, with a store in it.
class ReadOnlyFolder : public testing::Test {
 protected:
  ReadOnlyFolder() {
    const auto store = must(open_store(path_));
    const auto study = must(store->create_study(sample_study("kept")));
    const auto trial = must(store->start_trial({study.id, {}, nlohmann::json::object()}));
    must(store->finish_trial(trial.id, sample_result(1)));
  }

  void make_read_only() {
    constexpr auto kRead = fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read;
    constexpr auto kEnter = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
    for (const auto& file : fs::directory_iterator(folder_.path())) {
      fs::permissions(file.path(), kRead);
    }
    fs::permissions(folder_.path(), kRead | kEnter);
  }

  /// Returns the number of trials of study 1 that another user sees; -1, with a message on stderr,
  /// if it fails.
  static std::int64_t trials_seen(const std::string& path) {
    Pipe pipe;
    std::int64_t count = -1;
    const int status = as_stranger([&] {
      const auto store = open_store(path, {.read_only = true});
      if (!worked(store)) return 1;
      const auto trials = (*store)->trials(1, TrialDetail::with_measurements);
      if (!worked(trials)) return 1;
      count = std::ssize(*trials);
      return write(pipe.ends[1], &count, sizeof count) == sizeof count ? 0 : 1;
    });
    return status == 0 && read(pipe.ends[0], &count, sizeof count) == sizeof count ? count : -1;
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("s?t#o%23re.db");
};

TEST_F(ReadOnlyFolder, CanBeRead) {
  make_read_only();
  EXPECT_EQ(trials_seen(path_), 1);
}

TEST_F(ReadOnlyFolder, CanBeReadAfterAWriterWasKilled) {
  const auto told = kill_after(path_, 5);
  ASSERT_TRUE(fs::exists(path_ + "-wal"));
  make_read_only();
  EXPECT_GT(trials_seen(path_), std::ssize(told));
  TemporaryFolder other;
  fs::permissions(other.path(), fs::perms::all);
  fs::create_symlink(path_, other.path() / "link.db");
  EXPECT_EQ(trials_seen(other.file("link.db")), trials_seen(path_));
}

TEST_F(ReadOnlyFolder, CanBeReadWhileItsOwnerWrites) {
  const auto store = must(open_store(path_));
  must(store->start_trial({1, {}, nlohmann::json::object()}));
  make_read_only();
  EXPECT_EQ(trials_seen(path_), 2);
}

TEST_F(ReadOnlyFolder, ChangesThatCannotBeReadAreNotHidden) {
  (void)kill_after(path_, 5);
  fs::remove(path_ + "-shm");
  make_read_only();
  EXPECT_EQ(as_stranger([&] {
              const auto store = open_store(path_, {.read_only = true});
              if (store) return (*store)->trials(1, TrialDetail::summary)->size() > 5 ? 0 : 1;
              const std::string& message = store.error().message;
              return message.find("-wal, which cannot be read without") != message.npos ? 0 : 2;
            }),
            0);
}

TEST_F(ReadOnlyFolder, AWriterIsToldSo) {
  make_read_only();
  EXPECT_EQ(as_stranger([&] {
              const auto store = open_store(path_);
              if (store) return 1;
              if (store.error().code != ErrorCode::unavailable) return 2;
              return store.error().message.find("is read-only") != std::string::npos ? 0 : 3;
            }),
            0);
  EXPECT_EQ(as_stranger([&] {
              const auto store = open_store(folder_.file("new.db"));
              if (store) return 1;
              return store.error().message.find("cannot be opened") != std::string::npos ? 0 : 2;
            }),
            0);
  EXPECT_EQ(
      as_stranger([&] {
        const auto store = open_store(folder_.file("new/store.db"));
        if (store) return 1;
        return store.error().message.find("cannot create the folder") != std::string::npos ? 0 : 2;
      }),
      0);
}

TEST_F(ReadOnlyFolder, AFileThatMayNotBeReadIsReported) {
  make_read_only();
  fs::permissions(path_, fs::perms::none);
  EXPECT_EQ(as_stranger([&] {
              const auto store = open_store(path_, {.read_only = true});
              if (store) return 1;
              return store.error().message.find("cannot be opened") != std::string::npos ? 0 : 2;
            }),
            0);
}

TEST_F(ReadOnlyFolder, AReadOnlyFileInAWritableFolderIsReadAndNotWritten) {
  constexpr auto kRead = fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read;
  fs::permissions(path_, kRead);
  fs::permissions(folder_.path(), fs::perms::all | fs::perms::sticky_bit);
  EXPECT_EQ(trials_seen(path_), 1);
  EXPECT_EQ(as_stranger([&] {
              const auto store = open_store(path_);
              if (store) return 1;
              return store.error().message.find("is read-only") != std::string::npos ? 0 : 2;
            }),
            0);
  // Files that the reader leaves must not keep the owner from writing again.
  fs::permissions(path_, kRead | fs::perms::owner_write);
  EXPECT_TRUE(must(open_store(path_))->create_study(sample_study()));
}

}  // namespace
}  // namespace hocket
