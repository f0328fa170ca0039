// Tests `hocket versions`, `audit` and `rollback` without a daemon and with one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "archive/studies/owner.h"
#include "store/open.h"
#include "tests/cli/answer.h"
#include "tests/daemon/running_daemon.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

class VersionsTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    topology_id_ = must(store_->upsert_topology({}));
    workload_id_ = must(store_->upsert_workload({.name = "work"}));
    if (GetParam()) daemon_ = std::make_unique<RunningDaemon>(*store_);
  }

  void push(const nlohmann::json& config, const std::string& actor) {
    must(store_->promote({.topology_id = topology_id_,
                          .workload_id = workload_id_,
                          .config = config,
                          .measured = MeasuredGain{3, 4, 0.25},
                          .origin = PromotionOrigin::push,
                          .actor = actor}));
  }

  Answer ask(Words arguments) const {
    const Words source = daemon_ ? Words{"--daemon", daemon_->url()} : Words{"--store", path_};
    arguments.insert(arguments.end(), source.begin(), source.end());
    return ask_hocket(arguments);
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.file("store.db");
  std::unique_ptr<Store> store_ = must(open_store(path_));
  std::unique_ptr<RunningDaemon> daemon_;
  std::int64_t topology_id_ = 0, workload_id_ = 0;
};

TEST_P(VersionsTest, ShowWhoChangedWhatAndWhatItGained) {
  push({{"streams", 1}}, "ada@b7");
  push({{"streams", 2}, {"order", "static"}}, "bob@b8");
  const auto answer = ask({"versions", "work"});
  EXPECT_EQ(answer.status, 0) << answer.err;
  for (const char* text :
       {"push by ada@b7", "streams 1 ", "push by bob@b8", "streams 1 -> 2", "25.0 %", "2 *"}) {
    EXPECT_THAT(answer.out, HasSubstr(text));
  }
  EXPECT_THAT(answer.out, Not(HasSubstr("1 *")));
  const auto versions = ask({"versions", "work", "--json"}).json().at("versions");
  ASSERT_EQ(versions.size(), 2U);
  EXPECT_EQ(versions[1].at("config"), nlohmann::json({{"streams", 2}, {"order", "static"}}));
  EXPECT_EQ(ask({"versions", "nothing"}).status, 2);
}

TEST_P(VersionsTest, GoBackToNoConfigurationAndToAnyVersion) {
  push({{"streams", 1}}, "ada@b7");
  push({{"streams", 2}}, "ada@b7");
  const auto back = ask({"rollback", "work", "--to", "default", "--note", "start afresh"});
  EXPECT_EQ(back.status, 0) << back.err;
  EXPECT_THAT(back.err, HasSubstr("jobs that start get their own default"));
  EXPECT_THAT(ask({"versions", "work"}).out, HasSubstr("the default"));
  EXPECT_EQ(ask({"fetch", "--workload", "work"}).status, 2);
  EXPECT_EQ(ask({"rollback", "work", "--to", "1"}).status, 0);
  EXPECT_EQ(must(store_->promotions({})).back().config, nlohmann::json({{"streams", 1}}));
  EXPECT_EQ(ask({"rollback", "work", "--to", "77"}).status, 2);
  EXPECT_EQ(ask({"rollback", "work", "--to", "never"}).status, 2);
  // Whoever goes back is in the audit, with what changed.
  const auto audit = ask({"audit", "work"}).out;
  EXPECT_THAT(audit, HasSubstr("streams 1 -> 2"));
  EXPECT_THAT(audit, HasSubstr("start afresh"));
  EXPECT_THAT(audit, HasSubstr(daemon_ ? "local@127.0.0.1" : actor_text()));
}

INSTANTIATE_TEST_SUITE_P(All, VersionsTest, ::testing::Values(false, true),
                         [](const auto& each) { return each.param ? "Daemon" : "Store"; });

}  // namespace
}  // namespace hocket
