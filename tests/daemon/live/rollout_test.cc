#include "daemon/live/rollout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <string>
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

const std::vector<RolloutJob> kOwners = {
    {"a1", true, {}, 1, "ada"}, {"a2", true, {}, 2, "ada"}, {"b1", true, {}, 3, "bob"}};

TEST(Rollout, ARollbackOfOneOwnersCanaryIsForItsJobsAlone) {
  Rollout rollout;
  rollout.begin_staged(7);
  ASSERT_EQ(rollout.next(kOwners, false, 0)->job, "a1");
  rollout.outcome("a1", 7, ChangeStatus::rolled_back, "slower", "ada");
  const auto offer = rollout.next(kOwners, false, 0);
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->kind, Kind::offer);
  EXPECT_EQ(offer->job, "b1") << "no other job of ada's";
  rollout.outcome("b1", 7, ChangeStatus::applied, "", "bob");
  const auto release = rollout.next(kOwners, false, 0);
  ASSERT_TRUE(release);
  EXPECT_EQ(release->kind, Kind::release);
  EXPECT_EQ(release->owners, std::set<std::string>{"ada"});
  EXPECT_FALSE(rollout.next(kOwners, false, 0));
}

TEST(Rollout, WhatTheCanariesOfAllOwnersRollBackIsWithdrawn) {
  Rollout rollout;
  rollout.begin_staged(7);
  ASSERT_TRUE(rollout.next(kOwners, false, 0));
  rollout.outcome("a1", 7, ChangeStatus::rolled_back, "slower", "ada");
  ASSERT_EQ(rollout.next(kOwners, false, 0)->job, "b1");
  rollout.outcome("b1", 7, ChangeStatus::rolled_back, "slower", "bob");
  const auto withdrawal = rollout.next(kOwners, false, 0);
  ASSERT_TRUE(withdrawal);
  EXPECT_EQ(withdrawal->kind, Kind::withdraw);
  EXPECT_EQ(withdrawal->owners, (std::set<std::string>{"ada", "bob"}));
  EXPECT_EQ(withdrawal->reason, "job a1 tried it and rolled back: slower");
}

TEST(Rollout, AnAdministratorsCanarySpeaksForAll) {
  Rollout rollout;
  rollout.begin_staged(7);
  const std::vector<RolloutJob> jobs = {{"r", true}, {"b1", true, {}, 2, "bob"}};
  ASSERT_EQ(rollout.next(jobs, false, 0)->job, "r");
  rollout.outcome("r", 7, ChangeStatus::rolled_back, "slower");
  const auto withdrawal = rollout.next(jobs, false, 0);
  ASSERT_TRUE(withdrawal);
  EXPECT_EQ(withdrawal->kind, Kind::withdraw);
  EXPECT_TRUE(withdrawal->owners.empty());
}

TEST(Rollout, AReleasedVersionIsTakenFromTheOwnerWhoseJobsRollItBack) {
  Rollout rollout;
  rollout.begin_released(7);
  rollout.outcome("a1", 7, ChangeStatus::rolled_back, "", "ada");
  rollout.outcome("b1", 7, ChangeStatus::rolled_back, "", "bob");
  EXPECT_FALSE(rollout.next(kOwners, false, 0)) << "one job of each is not two";
  rollout.outcome("b2", 7, ChangeStatus::rolled_back, "", "bob");
  rollout.outcome("a2", 7, ChangeStatus::applied, "", "ada");
  const auto withdrawal = rollout.next(kOwners, false, 0);
  ASSERT_TRUE(withdrawal);
  EXPECT_EQ(withdrawal->kind, Kind::withdraw);
  EXPECT_EQ(withdrawal->owners, std::set<std::string>{"bob"});
  EXPECT_EQ(withdrawal->reason, "2 jobs of bob rolled it back, 0 kept it");
  rollout.outcome("b3", 7, ChangeStatus::rolled_back, "", "bob");
  EXPECT_FALSE(rollout.next(kOwners, false, 0)) << "once";
  rollout.outcome("a3", 7, ChangeStatus::rolled_back, "", "ada");
  rollout.outcome("a4", 7, ChangeStatus::rolled_back, "", "ada");
  EXPECT_EQ(rollout.next(kOwners, false, 0)->owners, std::set<std::string>{"ada"});
}

TEST(Rollout, WhatMustBeTriedIsNotReleasedWithoutAJob) {
  Rollout rollout;
  rollout.begin_staged(7, /*must_be_tried=*/true);
  EXPECT_FALSE(rollout.next({}, false, 0));
  const std::vector<RolloutJob> later = {{"a", true, {JobFitKind::at_start, "it cannot"}}};
  EXPECT_FALSE(rollout.next(later, false, 0));
  ASSERT_EQ(rollout.next(kTwo, false, 0)->job, "a");
  rollout.ended_first("a");
  EXPECT_FALSE(rollout.next({}, false, 0));
  ASSERT_EQ(rollout.next(kTwo, false, 0)->job, "b");
  rollout.outcome("b", 7, ChangeStatus::applied, "");
  EXPECT_EQ(rollout.next(kTwo, false, 0)->kind, Kind::release);
}

const std::vector<RolloutJob> kOne = {{"a", true}};
const JobFit kNever = {JobFitKind::never, "order=static: it has none"};
const JobFit kAtStart = {JobFitKind::at_start, "it cannot change streams"};

TEST(Rollout, WhatTheOnlyJobRejectedIsHeldWithItsReason) {
  Rollout rollout;
  rollout.begin_staged(7);
  ASSERT_TRUE(rollout.next(kOne, false, 0));
  rollout.outcome("a", 7, ChangeStatus::rejected, "no order");
  const auto hold = rollout.next(kOne, false, 0);
  ASSERT_TRUE(hold);
  EXPECT_EQ(hold->kind, Kind::hold);
  EXPECT_EQ(hold->reason, "job a rejected it: no order");
  EXPECT_FALSE(rollout.next({}, false, 0));
}

TEST(Rollout, AnotherJobMayKeepWhatOneRejected) {
  Rollout rollout;
  rollout.begin_staged(7);
  ASSERT_TRUE(rollout.next(kTwo, false, 0));
  rollout.outcome("a", 7, ChangeStatus::rejected, "no order");
  EXPECT_EQ(rollout.next(kTwo, false, 0)->job, "b");
  rollout.outcome("b", 7, ChangeStatus::applied, "");
  EXPECT_EQ(rollout.next(kTwo, false, 0)->kind, Kind::release);
}

TEST(Rollout, JobsThatCannotRunItAreNotAsked) {
  Rollout rollout;
  rollout.begin_staged(7);
  const std::vector<RolloutJob> none = {{"a", true, kNever}, {"b", true, kNever}};
  const auto hold = rollout.next(none, false, 0);
  ASSERT_TRUE(hold);
  EXPECT_EQ(hold->kind, Kind::hold);
  EXPECT_EQ(hold->reason, "job a cannot run it: order=static: it has none");
  rollout.begin_staged(8);
  const std::vector<RolloutJob> later = {{"a", true, kNever}, {"b", true, kAtStart}};
  EXPECT_EQ(rollout.next(later, false, 0)->kind, Kind::release);
  rollout.begin_staged(9);
  const std::vector<RolloutJob> one = {{"a", true, kNever}, {"b", true, kAtStart}, {"c", true}};
  EXPECT_EQ(rollout.next(one, false, 0)->job, "c");
}

TEST(Rollout, ACanaryThatIsGoneIsReplacedByTheNextThatComesAndTwoAreEnough) {
  Rollout rollout;
  rollout.begin_staged(7);
  ASSERT_TRUE(rollout.next(kOne, false, 0));
  EXPECT_FALSE(rollout.next({}, false, 0)) << "it may have been its fault";
  EXPECT_EQ(rollout.staged(), 7);
  EXPECT_EQ(rollout.next(std::vector<RolloutJob>{{"b", true}}, false, 0)->job, "b");
  const auto hold = rollout.next({}, false, 0);
  ASSERT_TRUE(hold);
  EXPECT_EQ(hold->kind, Kind::hold);
}

TEST(Rollout, ASilentCanaryIsWaitedForIfThereIsNoOther) {
  Rollout rollout;
  rollout.begin_staged(7);
  ASSERT_TRUE(rollout.next(kOne, false, 0));
  EXPECT_FALSE(rollout.next(kOne, false, 3 * kCanaryLimitNs));
  rollout.outcome("a", 7, ChangeStatus::applied, "");
  EXPECT_EQ(rollout.next(kOne, false, 3 * kCanaryLimitNs)->kind, Kind::release);
}

TEST(Rollout, AJobThatEndsFirstSaysNothing) {
  Rollout rollout;
  rollout.begin_staged(7);
  ASSERT_TRUE(rollout.next(kOne, false, 0));
  rollout.ended_first("b");
  EXPECT_EQ(rollout.canary(), "a");
  rollout.ended_first("a");
  EXPECT_FALSE(rollout.next(kOne, true, 0)) << "it is not asked again";
  EXPECT_EQ(rollout.next({}, false, 0)->kind, Kind::release);
}

/// Jobs at random, which arrive, disconnect, leave and answer, and what a rollout did with them.
struct Story {
  explicit Story(std::uint64_t seed) : random(seed) { rollout.begin_staged(7); }

  void happen() {
    switch (random() % 6) {
      case 0:
        jobs.push_back({"j" + std::to_string(++names),
                        random() % 2 == 0,
                        {static_cast<JobFitKind>(random() % 3), "because"}});
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
        if (!jobs.empty() && random() % 4 == 0) answer(jobs[random() % jobs.size()].id);
    }
  }

  void answer(const std::string& job) {
    if (random() % 4 == 0) {
      rollout.ended_first(job);
      if (job == canary && !said) canary.clear();
      return;
    }
    const auto status = static_cast<ChangeStatus>(random() % 3);
    rollout.outcome(job, 7, status, "");
    if (job == canary) said = status;
  }

  bool is_here(const std::string& id) const {
    return std::ranges::find(jobs, id, &RolloutJob::id) != jobs.end();
  }
  bool somebody_is_left() const {
    return std::ranges::any_of(jobs, [&](const RolloutJob& job) {
      return job.fit.fit == JobFitKind::now && !asked.contains(job.id);
    });
  }
  bool nobody_could_start() const {
    return !jobs.empty() && std::ranges::all_of(jobs, [](const RolloutJob& job) {
      return job.fit.fit == JobFitKind::never;
    });
  }

  /// The canary has rejected, or is gone: it is the canary no more.
  void leave_canary() {
    if (canary.empty()) return;
    const bool has_rejected = said == ChangeStatus::rejected;
    if (!has_rejected && is_here(canary)) return;
    ++(has_rejected ? rejections : unanswered);
    canary.clear();
    said.reset();
  }

  void check_offer(const RolloutAction& action) {
    // Another job may be asked only if the canary rejected, is late or gone.
    if (!canary.empty()) {
      EXPECT_GT(now_ns - offered_ns, kCanaryLimitNs);
      ++unanswered;
    }
    const auto job = std::ranges::find(jobs, action.job, &RolloutJob::id);
    ASSERT_NE(job, jobs.end());
    EXPECT_EQ(job->fit.fit, JobFitKind::now);
    EXPECT_TRUE(job->is_connected);
    EXPECT_TRUE(asked.insert(action.job).second) << "asked twice";
    canary = action.job;
    said.reset();
    offered_ns = now_ns;
  }

  /// Returns whether the rollout is over.
  bool advance(bool more_may_come) {
    const auto action = rollout.next(jobs, more_may_come, now_ns);
    if (said == ChangeStatus::applied || said == ChangeStatus::rolled_back) {
      EXPECT_TRUE(action);
      EXPECT_EQ(action->kind, said == ChangeStatus::applied ? Kind::release : Kind::withdraw);
      return true;
    }
    leave_canary();
    if (!action) {
      EXPECT_TRUE(more_may_come || somebody_is_left() || !canary.empty() ||
                  (unanswered == 1 && rejections == 0));
      return false;
    }
    if (action->kind == Kind::offer) {
      check_offer(*action);
      return false;
    }
    EXPECT_FALSE(more_may_come || somebody_is_left()) << "a job could have tried it";
    EXPECT_TRUE(canary.empty());
    const bool has_reason = rejections > 0 || unanswered >= kMostUnanswered ||
                            (unanswered == 0 && nobody_could_start());
    EXPECT_EQ(action->kind, has_reason ? Kind::hold : Kind::release);
    EXPECT_FALSE(action->reason.empty());
    return true;
  }

  std::mt19937_64 random;
  Rollout rollout;
  std::vector<RolloutJob> jobs;
  std::set<std::string> asked;
  std::string canary;
  std::optional<ChangeStatus> said;
  int rejections = 0, unanswered = 0, names = 0;
  std::int64_t now_ns = 0, offered_ns = 0;
};

void follow(std::uint64_t seed) {
  Story story(seed);
  for (int i = 0; i < 100; ++i) {
    story.happen();
    if (story.advance(story.random() % 2 == 0)) return;
  }
}

TEST(Rollout, FollowsItsRuleWhateverJobsDo) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(seed);
    follow(seed);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace hocket
