// The daemon names the rank that a running job waits for, and none where there is none.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/fault/daemon_process.h"
#include "tests/fault/gpt2_job.h"
#include "tests/fault/slow_link.h"

namespace hocket {
namespace {

constexpr auto kLimit = std::chrono::seconds(90);
constexpr std::int64_t kEnoughSteps = 150;

const std::vector<std::string> kLong = {"--d-model", "64", "--sequence", "32",
                                        "--batch",   "2",  "--steps",    "100000"};

class StragglersOfAJob : public ::testing::Test {
 protected:
  Gpt2JobOptions watching(const std::string& url) {
    return {.daemon = url, .ranks = 3, .watch = true, .explore = "0%", .arguments = kLong};
  }

  /// Returns the daemon's verdict on the only job; null before it knows it.
  nlohmann::json verdict(DaemonClient& client) {
    const auto jobs = client.ask("GET", "/v1/jobs");
    if (!jobs || jobs->at("jobs").empty()) return nullptr;
    const auto id = jobs->at("jobs")[0].at("job").get<std::string>();
    const auto found = client.ask("GET", "/v1/jobs/" + id + "/stragglers");
    return found ? *found : nlohmann::json();
  }

  /// Returns the ranks that are to blame.
  static std::vector<int> blamed(const nlohmann::json& verdict) {
    std::vector<int> ranks;
    if (!verdict.is_object()) return ranks;
    for (const auto& rank : verdict.at("ranks")) {
      if (rank.at("pattern") != "none") ranks.push_back(rank.at("rank"));
    }
    return ranks;
  }

  TemporaryFolder folder_;
  DaemonProcess::Options serve_ = {.store = folder_.file("store.db"), .log = folder_.file("log")};
};

TEST_F(StragglersOfAJob, ARankThatIsStoppedAgainAndAgainIsNamed) {
  DaemonProcess daemon(serve_);
  ASSERT_TRUE(daemon.listens());
  DaemonClient client(daemon.port());
  Gpt2Job job(folder_, watching(daemon.url()));
  nlohmann::json found;
  const bool named = eventually(
      [&] {
        job.rank(1).signal(SIGSTOP);
        // It is held up for so long; this is no wait for something.
        (void)eventually([] { return false; }, std::chrono::milliseconds(60));
        job.rank(1).signal(SIGCONT);
        found = verdict(client);
        return blamed(found) == std::vector<int>{1};
      },
      kLimit);
  EXPECT_TRUE(named) << found << job.errors();
}

// Beside other programs on a few processors a rank may really be held up for a while.
TEST_F(StragglersOfAJob, WhereNoRankIsHeldUpNoneIsNamedForLong) {
  DaemonProcess daemon(serve_);
  ASSERT_TRUE(daemon.listens());
  DaemonClient client(daemon.port());
  Gpt2Job job(folder_, watching(daemon.url()));
  nlohmann::json found;
  const auto is_undecided = [&] {
    found = verdict(client);
    return found.is_object() && found.at("steps") >= kEnoughSteps && blamed(found).empty();
  };
  EXPECT_TRUE(eventually(is_undecided, kLimit)) << found << job.errors();
}

TEST_F(StragglersOfAJob, ARankThatSendsSlowlyIsNamedWithItsLink) {
  SlowLink hosts(1, "50mbit");
  if (!hosts.made())
    GTEST_SKIP() << "network namespaces cannot be made: it needs root and iproute2";
  ASSERT_TRUE(hosts.enter());
  DaemonProcess daemon(serve_);
  ASSERT_TRUE(daemon.listens());
  DaemonClient client(daemon.port());
  auto options = watching(daemon.url());
  options.rendezvous = "tcp://" + SlowLink::address(0) + ":29641";
  for (int rank = 0; rank < SlowLink::kHosts; ++rank)
    options.launchers.push_back(hosts.launcher(rank));
  Gpt2Job job(folder_, options);
  nlohmann::json found;
  const auto is_named = [&] {
    found = verdict(client);
    return blamed(found) == std::vector<int>{1} && found.at("ranks")[1].at("cause") == "link";
  };
  EXPECT_TRUE(eventually(is_named, kLimit)) << found << job.errors();
}

}  // namespace
}  // namespace hocket
