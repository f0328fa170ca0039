// Live tuning while a search takes long to answer.

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>

#include "daemon/live/search_runner.h"
#include "tests/daemon/live/live_tuning_fixture.h"

namespace hocket {
namespace {

/// Answers when the test says so.
class HeldSearches final : public SearchRunner {
 public:
  void run(std::function<void()> ask) override {
    held_.push_back(std::move(ask));
    if (!is_holding) release();
  }
  void release() {
    for (const auto& ask : std::exchange(held_, {})) ask();
  }
  std::size_t size() const { return held_.size(); }

  bool is_holding = true;

 private:
  std::deque<std::function<void()>> held_;
};

class HeldSearchesTest : public LiveTuningTest {
 protected:
  void SetUp() override { start(); }
  void start() {
    daemon_ = std::make_unique<Assembled>(*store_, clock_, AccessTokens(), nullptr, MemoryLimits(),
                                          &searches_);
  }
  void run_until_asked() {
    for (int i = 0; i < 10 && searches_.size() == 0; ++i) run(1);
    ASSERT_EQ(searches_.size(), 1u);
  }
  void release() {
    searches_.release();
    daemon_->settle();
  }

  HeldSearches searches_;
};

TEST_F(HeldSearchesTest, JobsShowTheStateOfTheTuningForTheExplorerAlone) {
  const std::string path = "/v1/configs/" + sample_key();
  add_job("a");
  add_job("b", 0);
  const auto shown = [&](std::size_t job) {
    return daemon_->ask("GET", "/v1/jobs")["jobs"][job].value("tuning", "");
  };
  EXPECT_EQ(shown(0), "measuring");
  run_until_asked();
  EXPECT_EQ(shown(0), "asking");
  release();
  EXPECT_EQ(shown(0), "trying");
  daemon_->ask("PUT", path + "/pin");
  run(1);
  EXPECT_EQ(shown(0), "ready");
  daemon_->ask("PUT", path + "/pin", {{"pinned", false}});
  searches_.is_holding = false;
  release();
  run(30);
  EXPECT_EQ(shown(0), "settled");
  EXPECT_EQ(shown(1), "");
  jobs_[0]->end();
  jobs_.erase(jobs_.begin());
  EXPECT_EQ(shown(0), "");
}

TEST_F(HeldSearchesTest, AVersionIsReleasedWhileASearchIsAsked) {
  auto& explorer = add_job("a");
  auto& other = add_job("b", 0);
  run_until_asked();
  const auto version = push(1 << 20);
  run(3);
  EXPECT_EQ(stage_of(version), PromotionStage::released);
  EXPECT_EQ(explorer.config(), with_parts(1 << 20));
  EXPECT_EQ(other.config(), with_parts(1 << 20));
  EXPECT_TRUE(explorer.offered.empty());
  EXPECT_EQ(searches_.size(), 1u) << "it is asked once";
}

TEST_F(HeldSearchesTest, AnAnswerIsForTheConfigurationThatTheJobHas) {
  auto& job = add_job("a");
  for (const std::int64_t parts : {2 << 20, 1 << 20, 512 << 10}) {
    run_until_asked();
    push(parts);
    run(2);
    ASSERT_EQ(job.config(), with_parts(parts)) << "it is faster";
    release();
    run(1);
    EXPECT_TRUE(job.offered.empty()) << "what was excluded is out of date";
    EXPECT_EQ(searches_.size(), 1u);
  }
  searches_.is_holding = false;
  release();
  run(30);
  EXPECT_FALSE(job.offered.empty());
  for (const auto& candidate : job.offered) EXPECT_NE(candidate.config, with_parts(512 << 10));
  EXPECT_EQ(job.config(), with_parts(512 << 10));
  EXPECT_EQ(studies().back().state, StudyState::finished);
}

TEST_F(HeldSearchesTest, AJobEndsAsItWouldWithAnswersAtOnce) {
  auto& job = add_job("a");
  for (int i = 0; i < 100; ++i) {
    release();
    run(1);
  }
  EXPECT_EQ(studies().size(), 1u);
  EXPECT_EQ(studies()[0].state, StudyState::finished);
  EXPECT_EQ(job.config(), with_parts(512 << 10));
  EXPECT_TRUE(daemon_->lines.empty()) << daemon_->lines[0];
}

TEST_F(HeldSearchesTest, AnAnswerAfterTheExplorerHasLeftIsDropped) {
  add_job("a");
  run_until_asked();
  jobs_[0]->end();
  jobs_.clear();
  release();
  EXPECT_EQ(studies()[0].state, StudyState::interrupted);
  searches_.is_holding = false;
  auto& next = add_job("b");
  run(30);
  EXPECT_EQ(studies().size(), 1u);
  EXPECT_EQ(studies()[0].state, StudyState::finished);
  EXPECT_EQ(next.config(), with_parts(512 << 10));
}

TEST_F(HeldSearchesTest, AnAnswerAfterTheDaemonHasEndedIsDropped) {
  add_job("a");
  run_until_asked();
  jobs_[0]->lose_daemon();
  daemon_.reset();
  searches_.release();
  start();
  searches_.is_holding = false;
  jobs_[0]->connect(*daemon_);
  run(30);
  EXPECT_EQ(studies().size(), 1u);
  EXPECT_EQ(studies()[0].state, StudyState::finished);
}

}  // namespace
}  // namespace hocket
