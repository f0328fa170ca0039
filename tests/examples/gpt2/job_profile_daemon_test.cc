// Tests profiles of the real job whose traces a daemon serves.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "archive/profiles/load_profile.h"
#include "tests/daemon/running_daemon.h"
#include "tests/examples/gpt2/run_job.h"
#include "tests/reserved_port.h"
#include "tests/store/fixtures.h"
#include "tests/store/test_place.h"

namespace hocket {
namespace {

using testing::HasSubstr;

TEST(JobProfileAtADaemon, RanksThatShareNoFolderSendTheirTracesToTheDaemon) {
  const TemporaryFolder dir;
  const TestPlace place;
  const auto store = must(open_store(place.store()));
  const ReservedPort port;
  const RunningDaemon daemon(
      *store, port.port(),
      {.folder = dir.file("served"), .url = port.url(), .store = "the test's"});
  const auto process = run_job({"--layers", "2", "--d-model", "64", "--sequence", "32", "--batch",
                                "2", "--json", "--steps", "20"},
                               {{"HOCKET_STORE", place.store()},
                                {"HOCKET_PROFILE", "at=7,iterations=4"},
                                {"HOCKET_DAEMON", port.url()},
                                {"HOCKET_TRACES", ""},
                                {"XDG_STATE_HOME", dir.file("state")}});
  ASSERT_TRUE(process.succeeded()) << describe_end(process) << process.stderr_text;
  EXPECT_THAT(process.stderr_text, HasSubstr("4 iterations, 2 ranks, in " + port.url()));
  const auto rows = must(store->profiles());
  ASSERT_EQ(rows.size(), 1u);
  const auto loaded = must(load_profile(rows[0]));
  ASSERT_EQ(loaded.traces.size(), 2u) << testing::PrintToString(loaded.notes);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(parse_trace_url(rows[0].ranks[rank].trace_path).value().daemon, port.url());
    EXPECT_EQ(std::ssize(loaded.traces[rank].records), rows[0].ranks[rank].records);
  }
  const std::filesystem::path left = dir.file("state") + "/hocket/profiles";
  EXPECT_TRUE(std::filesystem::is_empty(left)) << "no trace stays in the job's own folder";
}

}  // namespace
}  // namespace hocket
