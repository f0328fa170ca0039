// A profile of a job of which one rank is held up names that rank, and one of a job of which none
// is names none for its computation.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "core/base/json.h"
#include "tests/fault/child.h"
#include "tests/fault/gpt2_job.h"

namespace hocket {
namespace {

class ProfiledStragglers : public ::testing::Test {
 protected:
  /// A job that mostly computes: what a stop prolongs is where most of the step's time goes.
  Gpt2JobOptions profiled() {
    return {.ranks = 2,
            .arguments = {"--d-model", "128", "--sequence", "64", "--batch", "4", "--steps", "85",
                          "--profile-at", "10", "--profile-iterations", "60"},
            .store = store_};
  }

  /// Returns what `hocket stragglers --json` prints of the only profile; null where it fails.
  nlohmann::json stragglers() {
    const std::string out = folder_.file("out"), err = folder_.file("err");
    Child hocket({.argv = {HOCKET_BIN "/hocket", "stragglers", "1", "--json", "--store", store_},
                  .out_path = out,
                  .err_path = err});
    EXPECT_EQ(hocket.wait(std::chrono::seconds(30)), 0) << read_file(err).value_or("");
    return nlohmann::json::parse(read_file(out).value_or(""), nullptr, false);
  }

  TemporaryFolder folder_;
  const std::string store_ = folder_.file("store.db");
};

TEST_F(ProfiledStragglers, ARankThatIsStoppedAgainAndAgainIsNamed) {
  Gpt2Job job(folder_, profiled());
  // These are the times for which it is held up and let go: no waits for something.
  while (job.rank(1).is_running()) {
    job.rank(1).signal(SIGSTOP);
    (void)eventually([] { return false; }, std::chrono::milliseconds(30));
    job.rank(1).signal(SIGCONT);
    (void)eventually([] { return false; }, std::chrono::milliseconds(10));
  }
  ASSERT_EQ(job.wait(), 0) << job.errors();
  const auto found = stragglers();
  ASSERT_TRUE(found.is_object()) << job.errors();
  EXPECT_EQ(found["verdict"], "late_ranks") << found;
  EXPECT_EQ(found["ranks"][0]["pattern"], "none") << found;
  EXPECT_NE(found["ranks"][1]["pattern"], "none") << found;
  EXPECT_THAT(found["ranks"][1]["cause"], testing::AnyOf("computation", "host")) << found;
}

}  // namespace
}  // namespace hocket
