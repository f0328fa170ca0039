#include "tuner/daemon/live/rollout.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace hocket {
namespace {

using Kind = RolloutAction::Kind;

const std::vector<RolloutJob> kTwo = {{"a", true}, {"b", true}};

TEST(Rollout, OneTriesItThenAllGetIt) {
  Rollout rollout;
  rollout.begin_staged(7);
  const auto offer = rollout.next(kTwo, false, 0);
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->kind, Kind::offer);
  EXPECT_EQ(offer->job, "a");
  EXPECT_FALSE(rollout.next(kTwo, false, kCanaryLimitNs));
  rollout.outcome("b", 7, ChangeStatus::applied, "");
  rollout.outcome("a", 6, ChangeStatus::applied, "");
  EXPECT_FALSE(rollout.next(kTwo, false, kCanaryLimitNs));
  rollout.outcome("a", 7, ChangeStatus::applied, "");
  EXPECT_EQ(rollout.next(kTwo, false, kCanaryLimitNs)->kind, Kind::release);
  EXPECT_EQ(rollout.staged(), 0);
}

TEST(Rollout, WithoutAJobItIsReleasedUnlessOneMayCome) {
  Rollout rollout;
  rollout.begin_staged(7);
  EXPECT_FALSE(rollout.next({}, true, 0));
  EXPECT_FALSE(rollout.next(std::vector<RolloutJob>{{"a", false}}, false, 0));
  EXPECT_EQ(rollout.next({}, false, 0)->kind, Kind::release);
}

TEST(Rollout, AReleasedVersionIsTakenBackWhenMoreRollBackThanKeep) {
  Rollout rollout;
  rollout.begin_released(7);
  rollout.outcome("a", 7, ChangeStatus::rolled_back, "");
  rollout.outcome("a", 7, ChangeStatus::rolled_back, "");
  EXPECT_FALSE(rollout.next(kTwo, false, 0)) << "one job is not two";
  rollout.outcome("c", 7, ChangeStatus::applied, "");
  rollout.outcome("d", 7, ChangeStatus::applied, "");
  rollout.outcome("b", 7, ChangeStatus::rolled_back, "");
  EXPECT_FALSE(rollout.next(kTwo, false, 0));
  rollout.outcome("e", 7, ChangeStatus::rolled_back, "");
  EXPECT_EQ(rollout.next(kTwo, false, 0)->kind, Kind::withdraw);
  EXPECT_FALSE(rollout.next(kTwo, false, 0));
}

/// Jobs arrive, disconnect, leave and answer at random; checks that the actions follow from that.
void follow(std::mt19937_64& random) {
  Rollout rollout;
  rollout.begin_staged(7);
  std::vector<RolloutJob> jobs;
  std::map<std::string, ChangeStatus> said;  // answers of the jobs that were asked
  std::string canary;
  std::int64_t now_ns = 0, offered_ns = 0;
  int names = 0;
  bool is_given_up = false;  // the canary was replaced after a rejection
  for (int i = 0; i < 100; ++i) {
    switch (random() % 6) {
      case 0:
        jobs.push_back({"j" + std::to_string(++names), random() % 2 == 0});
        break;
      case 1:
        if (!jobs.empty()) jobs.erase(jobs.begin() + static_cast<long>(random() % jobs.size()));
        break;
      case 2:
        if (!jobs.empty()) jobs[random() % jobs.size()].is_connected ^= true;
        break;
      case 3:
        now_ns += kCanaryLimitNs / 2;
        break;
      default:
        if (!jobs.empty() && random() % 4 == 0) {
          const auto& job = jobs[random() % jobs.size()].id;
          const auto status = static_cast<ChangeStatus>(random() % 3);
          rollout.outcome(job, 7, status, "");
          if (job == canary && !is_given_up) said[job] = status;
        }
    }
    const bool more_may_come = random() % 2 == 0;
    const auto action = rollout.next(jobs, more_may_come, now_ns);
    // Its later answers do not count.
    if (!action) {
      is_given_up = is_given_up || said.contains(canary);
      continue;
    }
    const bool has_answer = said.contains(canary);
    if (action->kind == Kind::withdraw) {
      EXPECT_TRUE(has_answer && said[canary] == ChangeStatus::rolled_back);
      return;
    }
    if (action->kind == Kind::release) {
      if (has_answer && said[canary] == ChangeStatus::applied) return;
      EXPECT_FALSE(more_may_come);
      for (const RolloutJob& job : jobs) {
        EXPECT_TRUE(job.id == canary || said.contains(job.id)) << job.id << " could have tried it";
      }
      return;
    }
    // Another job may be asked only if the canary rejected, is late or gone.
    const bool is_here = std::ranges::find(jobs, canary, &RolloutJob::id) != jobs.end();
    const bool is_late = now_ns - offered_ns > kCanaryLimitNs;
    EXPECT_TRUE(canary.empty() || !is_here || is_late ||
                (has_answer && said[canary] == ChangeStatus::rejected));
    if (!canary.empty()) said.emplace(canary, ChangeStatus::rejected);
    EXPECT_FALSE(said.contains(action->job)) << "asked twice";
    canary = action->job;
    is_given_up = false;
    offered_ns = now_ns;
  }
}

TEST(Rollout, FollowsItsRuleWhateverJobsDo) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    follow(random);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace hocket
