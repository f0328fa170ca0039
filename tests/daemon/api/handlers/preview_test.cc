// Tests of the daemon's preview of a change.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/daemon/assembled.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

class PreviewTest : public ::testing::Test {
 protected:
  PreviewTest() { enter("a"); }

  void enter(const std::string& id) {
    auto job = sample_job(id);
    daemon_.ask("POST", "/v1/jobs", to_json(job));
  }
  nlohmann::json preview(const nlohmann::json& intent) {
    return daemon_.ask("POST", path_ + "/preview", intent);
  }
  /// Returns the sentences as one text.
  std::string says(const nlohmann::json& intent) {
    std::string text;
    const auto answer = preview(intent);
    for (const auto& sentence : answer["says"]) text += sentence.get<std::string>() + " ";
    return text;
  }
  void push(std::int64_t credit_bytes) {
    ScheduleConfig config;
    config.credit_bytes = credit_bytes;
    daemon_.ask("PUT", path_, {{"config", to_json(config)}});
  }

  void remove(const std::string& id) { daemon_.jobs.remove(daemon_.jobs.find(id)->number, 0); }

  SetClock clock_;
  std::unique_ptr<Store> store_ = open_store_in_memory([this] { return clock_.now; });
  Assembled daemon_{*store_, clock_};
  const std::string path_ = "/v1/configs/" + sample_key();
};

TEST_F(PreviewTest, APushGoesToOneJobFirst) {
  const nlohmann::json intent = {{"action", "push"}, {"config", to_json(ScheduleConfig{})}};
  const auto one = preview(intent);
  EXPECT_EQ(one["before"], nullptr);
  EXPECT_EQ(one["after"], to_json(ScheduleConfig{}));
  EXPECT_THAT(says(intent), HasSubstr("A running job measures it first"));
  enter("b");
  EXPECT_THAT(says(intent), HasSubstr("One of 2 running jobs"));
  EXPECT_THAT(says(intent), HasSubstr("the others get it"));
  remove("a");
  remove("b");
  EXPECT_THAT(says(intent), HasSubstr("No job runs"));
}

TEST_F(PreviewTest, AJobThatCannotRunItIsNamed) {
  remove("a");
  auto job = sample_job("fixed");
  job.can_run.start.emplace();  // its defaults and nothing else
  ASSERT_TRUE(daemon_.jobs.enter(job, 0));
  ScheduleConfig config;
  config.streams = 7;
  const nlohmann::json intent = {{"action", "push"}, {"config", to_json(config)}};
  EXPECT_THAT(says(intent), HasSubstr("No running job could even start with it (job fixed: "));
  enter("free");
  EXPECT_THAT(says(intent), HasSubstr("A running job measures it first"));
  EXPECT_THAT(says(intent), HasSubstr("1 job cannot change to it while training (job fixed: "));
}

TEST_F(PreviewTest, NothingIsChanged) {
  push(1 << 20);
  const auto before = store_->audit({})->size();
  const auto versions = store_->promotions({})->size();
  for (const char* action : {"pin", "unpin", "freeze", "unfreeze", "rollback"})
    EXPECT_FALSE(says({{"action", action}}).empty()) << action;
  preview({{"action", "push"}, {"config", to_json(ScheduleConfig{})}});
  EXPECT_EQ(store_->audit({})->size(), before);
  EXPECT_EQ(store_->promotions({})->size(), versions);
}

TEST_F(PreviewTest, ARollbackSaysWhatItTakesBackAndWhatComes) {
  remove("a");  // so that versions are released at once
  push(1 << 20);
  daemon_.settle();
  push(2 << 20);
  daemon_.settle();
  const auto previous = preview({{"action", "rollback"}});
  daemon_.ask("PUT", path_ + "/rollback");
  EXPECT_EQ(daemon_.ask("GET", path_)["config"], previous["after"]);
  EXPECT_THAT(previous["says"].dump(), HasSubstr("Version 2 is withdrawn"));
  const auto none = preview({{"action", "rollback"}, {"to", "default"}});
  EXPECT_EQ(none["after"], nlohmann::json::object());
  EXPECT_THAT(none["says"].dump(), HasSubstr("their own default"));
}

TEST_F(PreviewTest, IsRefusedAsTheChangeItself) {
  const auto status = [&](const nlohmann::json& intent) {
    return daemon_.call("POST", path_ + "/preview", intent.dump()).status;
  };
  EXPECT_EQ(status({{"action", "rollback"}}), 404);
  EXPECT_EQ(status({{"action", "push"}}), 400);
  EXPECT_EQ(status({{"action", "push"}, {"config", {{"partition_bytes", 0}}}}), 400);
  EXPECT_EQ(status({{"action", "pin"}, {"version", 7}}), 404);
  EXPECT_EQ(status({{"action", "sing"}}), 400);
  EXPECT_EQ(status(nlohmann::json::object()), 400);
  const auto unknown = daemon_.call(
      "POST", "/v1/configs/" + std::string(8, '0') + "." + std::string(8, '0') + "/preview",
      R"({"action":"freeze"})");
  EXPECT_GE(unknown.status, 400);
}

}  // namespace
}  // namespace hocket
