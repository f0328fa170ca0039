#include "daemon/daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "daemon/retention/store_keeper.h"
#include "tests/daemon/raw_client.h"
#include "tests/set_clock.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Daemon, ListensForOtherHostsOnlyWhereItAsksWhoTheyAre) {
  const auto store = open_store_in_memory();
  const SetClock clock;
  const auto create = [&](const std::string& address, bool insecure) {
    DaemonOptions options;
    options.server.address = address;
    options.server.port = 0;
    options.server.insecure = insecure;
    return Daemon::create(std::move(options), *store, clock);
  };
  EXPECT_GT(must(create("127.0.0.1", false))->server().port(), 0);
  const auto refused = create("0.0.0.0", false);
  EXPECT_EQ(code_of(refused), ErrorCode::invalid_argument);
  EXPECT_NE(message_of(refused).find("token"), std::string::npos);
  EXPECT_TRUE(create("0.0.0.0", true));
}

/// A daemon in whose store a study has ended a year ago, and what the daemon's log says once it has
/// removed it.
class KeptStore : public ::testing::Test {
 protected:
  KeptStore() {
    const auto study = must(store_->create_study(sample_study("old")));
    must(store_->update_study(study.id, {.state = StudyState::finished}));
  }

  void start(bool is_daemon) {
    DaemonOptions options;
    options.server.port = 0;
    options.is_daemon = is_daemon;
    options.retention.studies_ns = kHoursOfYear / 2 * StoreKeeper::kIntervalNs;
    options.log = Log({.sink = [this](std::string_view line) {
      if (line.find("removed what has expired") != std::string_view::npos) removed_.set_value();
    }});
    options.now_unix_ns = [] { return kHoursOfYear * StoreKeeper::kIntervalNs; };
    daemon_ = must(Daemon::create(std::move(options), *store_, clock_));
    thread_ = std::jthread([this] { daemon_->run(); });
  }
  ~KeptStore() override {
    daemon_->server().stop();
    thread_.join();
  }

  std::string metrics() {
    RawClient client(daemon_->server().port());
    client.get("/metrics");
    return client.read_response().body;
  }

  static constexpr std::int64_t kHoursOfYear = 8'760;
  const std::unique_ptr<Store> store_ = open_store_in_memory([] { return std::int64_t{0}; });
  const SteadyClock clock_;
  std::promise<void> removed_;
  std::unique_ptr<Daemon> daemon_;
  std::jthread thread_;
};

TEST_F(KeptStore, LosesWhatHasExpiredWhenTheDaemonStarts) {
  start(true);
  removed_.get_future().wait();
  EXPECT_THAT(metrics(), AllOf(HasSubstr("\nhocket_pruned_total{what=\"study\"} 1\n"),
                               HasSubstr("\nhocket_pruned_total{what=\"profile\"} 0\n")));
  EXPECT_TRUE(must(store_->studies()).empty());
}

TEST_F(KeptStore, LosesNothingWhenItIsOnlyShown) {
  start(false);
  EXPECT_THAT(metrics(), HasSubstr("\nhocket_pruned_total{what=\"study\"} 0\n"));
  EXPECT_EQ(must(store_->studies()).size(), 1u);
}

}  // namespace
}  // namespace hocket
