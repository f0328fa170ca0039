#include "client/live/live_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "tests/client/parts_of.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSlow = 4096, kUsual = 4 << 20, kFast = 1 << 20, kEqual = 2 << 20;

/// A job of one rank whose iteration times depend on its partition size.
class TunedJob {
 public:
  explicit TunedJob(double explore = 0.1, std::uint64_t seed = 1, bool can_profile = true)
      : random_(seed),
        agreement_(0, 1,
                   [this](const std::string&) -> Result<void> {
                     if (!refuses) return {};
                     return failure(ErrorCode::invalid_argument, "no");
                   }),
        controller_({.job = "job",
                     .config = parts_of(kUsual),
                     .explore = explore,
                     .can_profile = can_profile,
                     .first_step = 1000,
                     .payload_of = [](const ScheduleConfig& config) -> Result<std::string> {
                       return to_json(config).dump();
                     },
                     .say = [this](const std::string& line) { lines += line + "\n"; }},
                    agreement_) {
    config_of_[0] = parts_of(kUsual);
  }

  void push(std::int64_t version, std::int64_t partition_bytes) {
    controller_.receive(ConfigMessage{version, parts_of(partition_bytes), ""});
  }
  void candidate(std::int64_t trial, std::int64_t partition_bytes) {
    controller_.receive(CandidateMessage{trial, parts_of(partition_bytes)});
  }

  void profile(std::int64_t request, std::int64_t iterations) {
    controller_.receive(ProfileMessage{request, iterations});
  }

  void steps(int count) {
    for (int i = 0; i < count; ++i) step();
  }

  /// Steps until there is an outcome, and takes it.
  ChangeOutcome outcome(int limit = 500) {
    for (; limit > 0 && outcomes.empty(); --limit) step();
    if (outcomes.empty()) return {.message = "no outcome"};
    auto outcome = outcomes.front();
    outcomes.erase(outcomes.begin());
    return outcome;
  }

  void step() {
    if (const auto due = agreement_.due(step_)) {
      running = due->id;
      if (due->id > 0) config_of_[due->id] = parse_schedule_config(due->payload).value();
    }
    if (ballots) {
      std::vector<float> ballot(agreement_.slots());
      agreement_.contribute(ballot);
      if (spoils) ballot[0] = std::numeric_limits<float>::quiet_NaN();
      agreement_.tally(ballot);
    }
    settled += running == 0 && last_ == 0;
    last_ = running;
    if (agreement_.profile() != heard) {
      heard = agreement_.profile();
      profiled.push_back(*heard);
    }
    for (const auto& order : profiled) {
      if (order.first_step <= step_ && step_ < order.first_step + order.steps)
        within_profiles.push_back(running);
    }
    const auto ns = iteration_ns(runs().partition_bytes);
    total += static_cast<double>(ns);
    excess += std::max(0.0, static_cast<double>(ns) - 1e8);
    controller_.iteration(step_++, running, ns, 1, activity);
    now_ns += ns;
    controller_.advance(now_ns);
    take();
  }

  void take() {
    while (auto report = controller_.take_report()) {
      EXPECT_EQ(report->version, controller_.version());
      reported = report->activity;
      plain += report->iteration_ns.size();
      slowest_reported_ns = 0;
      for (const auto ns : report->iteration_ns) {
        slowest_reported_ns = std::max(slowest_reported_ns, static_cast<double>(ns));
      }
      for (auto& outcome : report->outcomes) outcomes.push_back(std::move(outcome));
    }
  }

  const ScheduleConfig& runs() const { return config_of_.at(running); }
  LiveController& controller() { return controller_; }

  bool refuses = false, ballots = true;
  bool spoils = false;  ///< makes every ballot unreadable
  int running = 0;
  std::int64_t now_ns = 0;
  double total = 0, excess = 0;
  double usual_factor = 1;         ///< factor on the time under kUsual
  double slowest_reported_ns = 0;  ///< in the last report
  std::size_t plain = 0;           ///< number of iterations reported
  /// iterations under the initial configuration, except the first after a switch
  std::size_t settled = 0;
  std::string lines;
  std::vector<ChangeOutcome> outcomes;
  std::optional<ProfileOrder> heard;
  std::vector<ProfileOrder> profiled;
  std::vector<int> within_profiles;  ///< configurations of the profiled steps
  /// activity: of each iteration; reported: in the last report
  std::optional<JobActivity> activity = {}, reported = {};

 private:
  std::int64_t iteration_ns(std::int64_t partition_bytes) {
    const double time = partition_bytes == kSlow   ? 2e8
                        : partition_bytes == kFast ? 8e7
                                                   : 1e8 * usual_factor;
    return static_cast<std::int64_t>(time *
                                     std::exp(0.01 * std::normal_distribution<double>()(random_)));
  }

  std::mt19937_64 random_;
  SwitchAgreement agreement_;
  LiveController controller_;
  std::map<int, ScheduleConfig> config_of_;
  std::int64_t step_ = 0;
  int last_ = -1;
};

TEST(LiveController, KeepsWhatIsFasterAndSaysSo) {
  TunedJob job;
  job.candidate(7, kFast);
  const auto outcome = job.outcome();
  EXPECT_EQ(outcome.status, ChangeStatus::applied) << outcome.message;
  EXPECT_EQ(outcome.trial, 7);
  EXPECT_FALSE(outcome.version);
  EXPECT_GE(outcome.current_ns.size(), 8u);
  EXPECT_GE(outcome.candidate_ns.size(), 8u);
  job.steps(3);
  EXPECT_EQ(job.runs(), parts_of(kFast));
  EXPECT_EQ(job.controller().config(), parts_of(kFast));
  EXPECT_THAT(job.lines, HasSubstr(": trying trial 7: partition_bytes 1 MiB\n"));
  EXPECT_THAT(job.lines, HasSubstr(": kept "));
  EXPECT_THAT(job.lines, HasSubstr(" % faster\n"));
}

TEST(LiveController, AProfileShowsOneConfigurationAndCandidatesWaitForIt) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    TunedJob job(0.5, seed);
    job.steps(static_cast<int>(random() % 30));
    job.candidate(1, kFast);
    job.steps(static_cast<int>(random() % 40));
    const auto iterations = static_cast<std::int64_t>(1 + random() % 40);
    job.profile(5, iterations);
    job.steps(static_cast<int>(random() % 20));
    job.candidate(2, kEqual);
    job.steps(200);
    ASSERT_EQ(job.profiled.size(), 1u);
    EXPECT_EQ(job.profiled[0].steps, iterations);
    ASSERT_EQ(std::ssize(job.within_profiles), iterations);
    EXPECT_EQ(std::set<int>(job.within_profiles.begin(), job.within_profiles.end()).size(), 1u);
    const auto first = 1000 + job.profiled[0].first_step;
    EXPECT_THAT(job.lines, HasSubstr(": profiling steps " + std::to_string(first) + " to " +
                                     std::to_string(first + iterations - 1) + " (request 5)\n"));
    EXPECT_EQ(job.outcomes.size(), 2u) << "both candidates were tried";
  }
}

TEST(LiveController, AProfileThatIsLostOnItsWayIsOrderedAgain) {
  TunedJob job;
  job.steps(3);
  job.profile(1, 4);
  job.step();
  job.spoils = true;
  job.steps(20);
  EXPECT_TRUE(job.profiled.empty());
  job.spoils = false;
  job.steps(60);
  EXPECT_EQ(job.profiled.size(), 1u);
}

TEST(LiveController, ProfilesComeOneAfterTheOtherAndTheNewestThatWaits) {
  TunedJob job;
  job.profile(1, 4);
  job.step();
  job.profile(2, 5);
  job.profile(3, 6);
  job.steps(60);
  ASSERT_EQ(job.profiled.size(), 2u);
  EXPECT_EQ(job.profiled[0].steps, 4);
  EXPECT_EQ(job.profiled[1].steps, 6);
  EXPECT_GT(job.profiled[1].first_step, job.profiled[0].first_step + 4);
  EXPECT_THAT(job.lines, HasSubstr("profile request 2 was replaced by request 3\n"));
  job.profile(4, 7);
  job.controller().finish();
  EXPECT_THAT(job.lines, HasSubstr("profile request 4 was not taken up: the job ended first\n"));
}

TEST(LiveController, EndsInOneLineThatSaysWhatCameOfIt) {
  TunedJob job;
  job.candidate(1, kFast);
  EXPECT_EQ(job.outcome().status, ChangeStatus::applied);
  job.candidate(2, kSlow);
  EXPECT_EQ(job.outcome().status, ChangeStatus::rolled_back);
  job.candidate(3, kFast);  // what it has
  EXPECT_EQ(job.outcome().status, ChangeStatus::rejected);
  job.steps(40);
  job.lines.clear();
  job.controller().finish();
  EXPECT_THAT(job.lines, testing::MatchesRegex(
                             "settled on partition_bytes 1 MiB: iteration (99|100|101)\\.[0-9] ms "
                             "-> (79|80|81)\\.[0-9] ms, (18|19|20|21)\\.[0-9] % faster; tried 2: "
                             "kept 1, went back from 1; "
                             "left out 1; trying took [0-9.]+ % of the time\n"));
}

TEST(LiveController, WithoutAChangeTheLineComparesNothing) {
  TunedJob job;
  job.candidate(1, kSlow);
  EXPECT_EQ(job.outcome().status, ChangeStatus::rolled_back);
  job.steps(40);
  job.lines.clear();
  job.controller().finish();
  EXPECT_THAT(job.lines,
              testing::MatchesRegex("settled on the configuration that it began with: iteration "
                                    "(99|100|101)\\.[0-9] ms; tried 1: kept 0, went back from 1; "
                                    "trying took [0-9.]+ % of the time\n"));
}

TEST(LiveController, WithoutATrialTheLineSaysThatNothingWasTried) {
  TunedJob job;
  job.steps(40);
  job.lines.clear();
  job.controller().finish();
  EXPECT_THAT(job.lines,
              testing::MatchesRegex(
                  "nothing was tried: no candidate came; iteration (99|100|101)\\.[0-9] ms\n"));
}

TEST(LiveController, WithACandidateThatWaitedTheLineNamesTheBudget) {
  TunedJob job;
  job.steps(1);
  job.candidate(7, kFast);
  job.lines.clear();
  job.controller().finish();
  EXPECT_THAT(job.lines, testing::HasSubstr("nothing was tried: the job ended before its budget"));
}

TEST(LiveController, SaysHowTheJobDoes) {
  TunedJob job;
  EXPECT_EQ(job.controller().progress(), std::nullopt);
  job.candidate(1, kFast);
  EXPECT_EQ(job.outcome().status, ChangeStatus::applied);
  job.steps(40);
  const auto without = job.controller().progress();
  ASSERT_TRUE(without);
  EXPECT_NEAR(without->iteration_ns, 80e6, 2e6);
  EXPECT_EQ(std::pair(without->tried, without->kept), std::pair(1, 1));
  EXPECT_EQ(without->waiting, std::nullopt) << "nobody counts";
  for (int i = 0; i < 100; ++i)
    job.controller().counted(
        {.ranks = {{.waited_ns = 40'000'000}, {.waited_ns = i < 50 ? 1 : 20'000'000}}});
  EXPECT_EQ(job.controller().progress()->waiting,
            (Waiting{.exposed_ns = 20e6, .late_rank = 1, .late_ns = 20e6}))
      << "of the latest steps";
}

TEST(LiveController, WhatAnOperatorDecidedIsTakenEvenIfItIsSlower) {
  TunedJob job;
  job.controller().receive(ConfigMessage{3, parts_of(kSlow), "rollback", true});
  EXPECT_EQ(job.outcome(20).status, ChangeStatus::applied) << "it does not wait for the job";
  job.steps(60);
  EXPECT_EQ(job.runs(), parts_of(kSlow));
  EXPECT_EQ(job.controller().version(), 3);
  EXPECT_THAT(job.lines, HasSubstr("took version 3 (rollback) at once: partition_bytes 4 KiB\n"));
  // It is the current configuration from then on, and others are compared with it.
  job.candidate(1, kFast);
  EXPECT_EQ(job.outcome().status, ChangeStatus::applied);
}

TEST(LiveController, AJobThatIsNotTunedSaysNothingAtItsEnd) {
  TunedJob job(0);
  job.steps(60);
  job.controller().finish();
  EXPECT_EQ(job.lines, "");
}

TEST(LiveController, AJobThatRecordsNoProfilesSaysSo) {
  TunedJob job(0.1, 1, false);
  job.profile(1, 4);
  job.steps(60);
  EXPECT_TRUE(job.profiled.empty());
  EXPECT_THAT(job.lines, HasSubstr("profile request 1 is not taken up: this job records no"));
}

TEST(LiveController, ReportsHowIterationsSpentTheirTime) {
  TunedJob job;
  job.steps(25);
  EXPECT_FALSE(job.reported) << "nobody measured it";
  job.activity = JobActivity{.exposed_ns = 7, .lanes = {{TraceKind::compute, 0, 0.25}}};
  job.steps(25);
  ASSERT_TRUE(job.reported);
  EXPECT_EQ(job.reported->exposed_ns, 7);
  ASSERT_EQ(job.reported->lanes.size(), 1u);
  EXPECT_NEAR(job.reported->lanes[0].busy, 0.25, 1e-9);
}

TEST(LiveController, DropsWhatIsSlowerAndRemembersIt) {
  TunedJob job(0.5);
  job.candidate(1, kSlow);
  auto outcome = job.outcome();
  EXPECT_EQ(outcome.status, ChangeStatus::rolled_back);
  EXPECT_THAT(outcome.message, HasSubstr("slower by "));
  EXPECT_TRUE(outcome.slower);
  // Two in its block, and those that run until the switch takes effect.
  EXPECT_EQ(outcome.candidate_ns.size(), 4u);
  EXPECT_GT(job.controller().explored(), 0);
  job.steps(3);
  EXPECT_EQ(job.runs(), parts_of(kUsual));
  job.candidate(2, kSlow);
  EXPECT_EQ(job.outcome(0).message, "no outcome") << "take_report() was not asked";
  job.take();
  outcome = job.outcome(0);
  EXPECT_EQ(outcome.status, ChangeStatus::rejected);
  EXPECT_THAT(outcome.message, HasSubstr("slower"));
  job.push(3, kSlow);
  EXPECT_EQ(job.outcome().status, ChangeStatus::rolled_back) << "an operator may try again";
  job.push(3, kSlow);
  EXPECT_EQ(job.outcome().status, ChangeStatus::rejected);
}

TEST(LiveController, WhatWasSlowerMayBeTriedAgainWhenIterationsTakeAnotherTime) {
  TunedJob job(0.5);
  job.candidate(1, kSlow);
  EXPECT_EQ(job.outcome().status, ChangeStatus::rolled_back);
  job.usual_factor = 1.5;
  job.steps(30);
  job.candidate(2, kSlow);
  const auto outcome = job.outcome();
  EXPECT_EQ(outcome.status, ChangeStatus::rolled_back) << outcome.message << job.lines;
}

TEST(LiveController, ReportsTheUsualIterationsOfWindowsToo) {
  TunedJob job;
  job.steps(30);
  job.candidate(1, kEqual);
  EXPECT_EQ(job.outcome().status, ChangeStatus::rolled_back);
  EXPECT_EQ(job.plain, job.settled);
}

TEST(LiveController, ReportsNothingFromBeforeWhatItHasKept) {
  TunedJob job;
  job.steps(30);
  job.candidate(1, kFast);
  EXPECT_EQ(job.outcome().status, ChangeStatus::applied);
  EXPECT_LT(job.slowest_reported_ns, 9e7) << "or none";
}

TEST(LiveController, APushIsKeptUnlessItIsSlowerAndCostsNoBudget) {
  TunedJob job(0);
  job.push(5, kEqual);
  const auto outcome = job.outcome();
  EXPECT_EQ(outcome.status, ChangeStatus::applied) << outcome.message;
  EXPECT_EQ(outcome.version, 5);
  EXPECT_EQ(job.controller().version(), 5);
  job.push(6, kEqual);
  job.take();
  EXPECT_EQ(job.outcome(0).status, ChangeStatus::applied) << "it runs already: no window";
  EXPECT_EQ(job.controller().version(), 6);
  job.push(4, kFast);
  EXPECT_EQ(job.outcome().status, ChangeStatus::rejected) << "older";
  job.candidate(1, kFast);
  EXPECT_EQ(job.outcome().status, ChangeStatus::rejected) << "no time for candidates";
}

TEST(LiveController, ACandidateWaitsUntilItsTimeIsEarned) {
  TunedJob job(0.02);
  job.candidate(1, kSlow);
  job.steps(45);
  EXPECT_EQ(job.lines, "");
  EXPECT_EQ(job.outcome().status, ChangeStatus::rolled_back);
  EXPECT_GT(job.total, 50e8);
}

TEST(LiveController, TheNewestPushWins) {
  TunedJob job;
  job.steps(20);
  job.push(1, kEqual);
  job.steps(8);  // within its window
  EXPECT_EQ(job.runs(), parts_of(kEqual));
  job.push(2, kSlow);
  job.push(3, kFast);
  std::map<std::int64_t, ChangeStatus> status;
  for (int i = 0; i < 3; ++i) {
    const auto outcome = job.outcome();
    status[outcome.version.value()] = outcome.status;
  }
  EXPECT_EQ(status.at(1), ChangeStatus::rolled_back);
  EXPECT_EQ(status.at(2), ChangeStatus::rejected);
  EXPECT_EQ(status.at(3), ChangeStatus::applied);
  EXPECT_EQ(job.controller().version(), 3);
}

TEST(LiveController, GivesUpWhenNotEveryRankAccepts) {
  TunedJob job;
  job.steps(20);
  job.ballots = false;  // a rank stalls
  job.push(1, kFast);
  job.steps(5);
  EXPECT_TRUE(job.outcomes.empty());
  job.now_ns += 30'000'000'000;
  auto outcome = job.outcome(1);
  EXPECT_EQ(outcome.status, ChangeStatus::rejected);
  EXPECT_THAT(outcome.message, HasSubstr("within 30000 ms"));
  job.ballots = true;
  job.steps(50);
  EXPECT_EQ(job.runs(), parts_of(kUsual));
  job.refuses = true;
  job.push(2, kFast);
  outcome = job.outcome();
  EXPECT_EQ(outcome.status, ChangeStatus::rejected);
  EXPECT_THAT(outcome.message, HasSubstr("rank 0 refused it"));
}

TEST(LiveController, TheEndOfTheJobIsToldForWhatWasNotDecided) {
  TunedJob job;
  job.steps(20);
  job.push(1, kEqual);
  job.steps(8);
  job.candidate(2, kFast);
  job.controller().finish();
  job.take();
  ASSERT_EQ(job.outcomes.size(), 2u);
  EXPECT_EQ(job.outcomes[0].status, ChangeStatus::rejected) << "a rollback would withdraw it";
  EXPECT_EQ(job.outcomes[0].message, "the job ended first");
  EXPECT_FALSE(job.outcomes[0].candidate_ns.empty());
  EXPECT_EQ(job.outcomes[1].status, ChangeStatus::rejected);
}

/// Random messages at random steps: each is answered exactly once, the job ends with the
/// configuration it reports, and candidates cost at most the budget plus one window.
TEST(LiveController, AnswersEveryMessageOnceWithinItsBudget) {
  int applied = 0, rolled_back = 0, rejected = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const double explore = seed % 3 == 0 ? 0.02 : 0.08;
    const bool pushes = seed % 2 == 0;
    TunedJob job(explore, seed);
    const std::int64_t sizes[] = {kSlow, kUsual, kFast, kEqual, 8192, 65536};
    std::int64_t version = 0, trial = 0;
    for (int turn = 0; turn < 400; ++turn) {
      job.refuses = random() % 10 == 0;
      if (random() % 25 == 0) {
        const auto size = sizes[random() % 6];
        pushes&& random() % 2 ? job.push(++version, size) : job.candidate(++trial, size);
      }
      job.step();
      if (!pushes) {
        // The excess of one window: three slow iterations until the guard leaves the candidate,
        // and three until the switch back takes effect; and noise.
        ASSERT_LE(job.controller().explored() * job.total, explore * job.total + 8e8);
      }
    }
    job.controller().finish();
    job.take();
    std::map<std::pair<bool, std::int64_t>, int> answers;
    for (const auto& outcome : job.outcomes) {
      ASSERT_NE(outcome.version.has_value(), outcome.trial.has_value());
      ++answers[{outcome.version.has_value(), outcome.version ? *outcome.version : *outcome.trial}];
      applied += outcome.status == ChangeStatus::applied;
      rolled_back += outcome.status == ChangeStatus::rolled_back;
      rejected += outcome.status == ChangeStatus::rejected;
      EXPECT_EQ(outcome.candidate_ns.empty(), outcome.current_ns.empty());
    }
    EXPECT_EQ(std::ssize(answers), version + trial);
    for (const auto& [message, count] : answers) EXPECT_EQ(count, 1);
    for (int i = 0; i < 3; ++i) job.step();
    EXPECT_EQ(job.runs(), job.controller().config());
    EXPECT_GT(job.plain, 50u);
  }
  EXPECT_GT(applied, 50);
  EXPECT_GT(rolled_back, 50);
  EXPECT_GT(rejected, 50);
}

}  // namespace
}  // namespace hocket
