// Tests verbs on a store on PostgreSQL.

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <filesystem>

#include "cli/base/context.h"
#include "store/open.h"
#include "tests/archive/profiles/profiled_job.h"
#include "tests/cli/answer.h"
#include "tests/daemon/running_daemon.h"
#include "tests/reserved_port.h"
#include "tests/scoped_environment.h"
#include "tests/store/fixtures.h"
#include "tests/store/test_place.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

class StoreOnPostgres : public testing::Test {
 protected:
  StoreOnPostgres() { fs::create_directory(folder_.file("temporary")); }

  const TemporaryFolder folder_;
  const TestPlace place_;
  const std::string traces_ = folder_.file("traces");
  const ScopedEnvironment store_{"HOCKET_STORE", place_.store().c_str()},
      traces_variable_{"HOCKET_TRACES", traces_.c_str()},
      state_{"XDG_STATE_HOME", folder_.file("state").c_str()},
      cache_{"XDG_CACHE_HOME", folder_.file("cache").c_str()},
      temporary_{"TMPDIR", folder_.file("temporary").c_str()}, daemon_{"HOCKET_DAEMON", nullptr};
};

TEST_F(StoreOnPostgres, IsNamedLikeAFile) {
  EXPECT_EQ(ask_hocket({"studies"}).status, kBadInput) << "nothing is tuned yet";
  must(must(open_store(place_.store()))->record_audit({"ada", "push", "shared"}));
  const auto studies = ask_hocket({"studies", "--json"});
  EXPECT_EQ(studies.status, kDone) << studies.err;
  EXPECT_THAT(ask_hocket({"audit", "--store", place_.store()}).out, HasSubstr("shared"));
}

TEST_F(StoreOnPostgres, IsCopiedToAFileAndBack) {
  must(must(open_store(place_.store()))->record_audit({"ada", "push", "shared"}));
  const std::string file = folder_.file("copy.db");
  EXPECT_EQ(ask_hocket({"store", "copy", place_.store(), file}).status, kDone);
  EXPECT_THAT(ask_hocket({"audit", "--store", file}).out, HasSubstr("shared"));
  const TestPlace other;
  const auto back = ask_hocket({"store", "copy", "--json", file, other.store()});
  EXPECT_EQ(back.status, kDone) << back.err;
  EXPECT_EQ(back.json().at("rows"), 1);
  EXPECT_THAT(ask_hocket({"audit", "--store", other.store()}).out, HasSubstr("shared"));
}

TEST_F(StoreOnPostgres, TheDoctorSaysWhetherItCanBeOpened) {
  const auto empty = ask_hocket({"doctor", "--no-start"});
  EXPECT_EQ(empty.status, kDone) << empty.out;
  EXPECT_THAT(empty.out, HasSubstr("a database without the tables of a store"));
  must(open_store(place_.store()));
  const auto there = ask_hocket({"doctor", "--no-start", "--json"});
  EXPECT_EQ(there.status, kDone) << there.out;
  const auto store = there.json().at("files").at(0);
  EXPECT_EQ(store.at("what"), "store");
  EXPECT_EQ(store.at("state"), "ok");
  EXPECT_EQ(store.at("path"), place_.store());
  EXPECT_THAT(store.at("advice"), HasSubstr("a database of PostgreSQL"));
}

TEST_F(StoreOnPostgres, TracesThatADaemonServesAreReadFromEveryHost) {
  const ScopedEnvironment no_folder("HOCKET_TRACES", nullptr);
  const auto store = must(open_store(place_.store()));
  const ReservedPort port;
  std::string profile;
  {
    const RunningDaemon daemon(
        *store, port.port(),
        {.folder = folder_.file("served"), .url = port.url(), .store = "the test's"});
    const ScopedEnvironment daemon_address("HOCKET_DAEMON", port.url().c_str());
    ProfiledJob job;
    const std::string timeline = folder_.file("timeline.json");
    ASSERT_EQ(ask_hocket({"profiles", "export", job.add().name, "--store", job.path, "--format",
                          "chrome", "-o", timeline})
                  .status,
              kDone);
    const auto imported = ask_hocket({"profiles", "import", timeline, "--json"});
    ASSERT_EQ(imported.status, kDone) << imported.err;
    profile = imported.json().at("profile");
    EXPECT_THAT(must(store->profile(profile)).ranks.at(0).trace_path,
                testing::StartsWith(port.url()));
    const auto written =
        ask_hocket({"profiles", "export", profile, "-o", folder_.file("trace"), "--json"});
    EXPECT_EQ(written.status, kDone) << written.err;
    EXPECT_EQ(written.err, "");
  }
  const auto alone = ask_hocket({"profiles", "export", profile, "-o", folder_.file("trace")});
  EXPECT_EQ(alone.status, kBadInput);
  EXPECT_THAT(alone.err, HasSubstr("daemon " + port.url()));
  EXPECT_EQ(ask_hocket({"profiles", "rm", profile}).status, kDone);
}

TEST_F(StoreOnPostgres, TracesAreServedToOtherHostsAlone) {
  const std::string file = folder_.file("hocket.db");
  const auto no_server = ask_hocket({"serve", "--serve-traces", "http://node7", "--store", file});
  EXPECT_EQ(no_server.status, kBadInput);
  EXPECT_THAT(no_server.err, HasSubstr("it is for a store on PostgreSQL"));
  const auto no_address = ask_hocket({"serve", "--serve-traces", "node7"});
  EXPECT_EQ(no_address.status, kBadInput);
  EXPECT_THAT(no_address.err, HasSubstr("--serve-traces: the daemon's address must be http://"));
}

TEST_F(StoreOnPostgres, TracesOfOtherStoresAreLeftAlone) {
  must(open_store(place_.store()));
  const std::string trace = traces_ + "/others-1/rank-0.sqlite";
  fs::create_directories(fs::path(trace).parent_path());
  write_bytes(trace, "x");
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(48);
  fs::last_write_time(trace, long_ago);
  fs::last_write_time(fs::path(trace).parent_path(), long_ago);
  const auto doctor = ask_hocket({"doctor", "--no-start"});
  EXPECT_EQ(doctor.status, kDone);
  EXPECT_THAT(doctor.out, AllOf(HasSubstr("others-1"), HasSubstr("another store may have it")));
  EXPECT_THAT(ask_hocket({"prune"}).out, HasSubstr("nothing to remove"));
  EXPECT_TRUE(fs::exists(trace));
}

TEST_F(StoreOnPostgres, ResumeTakesNoStudyOfAnotherHostUnnamed) {
  NewStudy theirs = sample_study("theirs");
  theirs.owner = "1@elsewhere boot/1";
  must(must(open_store(place_.store()))->create_study(theirs));
  const auto refused = ask_hocket({"tune", "--resume"});
  EXPECT_EQ(refused.status, kBadInput);
  EXPECT_THAT(refused.err, HasSubstr("there is theirs (on elsewhere)"));
  EXPECT_THAT(ask_hocket({"tune", "--resume", "--study", "theirs"}).err,
              Not(HasSubstr("on this host")));
  EXPECT_EQ(must(must(open_store(place_.store()))->study("theirs")).owner, theirs.owner);
}

}  // namespace
}  // namespace hocket
