#include "daemon/live/tuning_state_machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/rounds.h"

namespace hocket::tuning {
namespace {

using Kind = Action::Kind;

ScheduleConfig config_of(std::int64_t parts) {
  ScheduleConfig config;
  config.partition_bytes = parts << 10;
  return config;
}

Explorer explorer_with(double value_ns) {
  return {.job = "a", .config = config_of(1), .value_ns = value_ns};
}

Trying trying_with(ChangeOutcome outcome) {
  outcome.trial = 7;
  return {explorer_with(100), {1, "live"}, {.trial = 7, .config = config_of(2)}, outcome};
}

TEST(TuningState, HasANameForEachState) {
  State state;
  EXPECT_EQ(to_string(state), "idle");
  state.at = Waiting{};
  EXPECT_EQ(to_string(state), "waiting");
  state.at = Measuring{};
  EXPECT_EQ(to_string(state), "measuring");
  state.at = Ready{};
  EXPECT_EQ(to_string(state), "ready");
  state.at = Asking{};
  EXPECT_EQ(to_string(state), "asking");
  state.at = Trying{};
  EXPECT_EQ(to_string(state), "trying");
  state.at = Settled{};
  EXPECT_EQ(to_string(state), "settled");
}

TEST(TuningState, AnAnswerBeforeTheJobWasChosenIsThatOfTheResumedCandidate) {
  const JobReport report{.job = "a", .outcomes = {{.trial = 7}}};
  for (const std::int64_t resumed : {7, 8}) {
    State state = after({}, JobReported{config_of(1), report});
    state = after(std::move(state), ExplorerChanged{NextExplorer{"a", config_of(1)}});
    state = after(std::move(state), StudyOpened{{1, "live"}, 100, Candidate{.trial = resumed}});
    ASSERT_EQ(to_string(state), "trying");
    EXPECT_EQ(std::get<Trying>(state.at).outcome.has_value(), resumed == 7);
  }
}

TEST(TuningState, AJobThatEndsHasNotRefusedItsCandidate) {
  State state{.at = trying_with({})};
  std::get<Trying>(state.at).outcome.reset();
  const JobReport report{
      .job = "a", .outcomes = {{.trial = 7, .status = ChangeStatus::rejected}}, .ended = true};
  state = after(std::move(state), JobReported{config_of(1), report});
  EXPECT_FALSE(std::get<Trying>(state.at).outcome);
}

TEST(TuningState, FiveRejectionsInARowLeaveTheJobAlone) {
  State state{.at = Ready{explorer_with(100), {1, "live"}}};
  const auto refuse = [&](const Conclusion& conclusion) {
    state = after(std::move(state), SearchAsked{});
    state = after(std::move(state), CandidateOffered{});
    state = after(std::move(state), CandidateEnded{conclusion});
  };
  for (int i = 1; i < kMostRejections; ++i) refuse({});
  refuse({.samples_ns = {1}});
  for (int i = 1; i < kMostRejections; ++i) refuse({});
  EXPECT_TRUE(state.left_alone.empty()) << "one was tried in between";
  refuse({});
  EXPECT_EQ(state.left_alone, std::set<std::string>{"a"});
}

TEST(TuningState, ADriftForgetsTheTimesBeforeIt) {
  State state{.at = Ready{explorer_with(100), {1, "live"}}};
  JobReport report{.job = "a"};
  for (std::size_t block = 0; block < 40 && !state.drift; ++block) {
    report.iteration_ns.assign(kDriftBlock, block < 20 ? 1'000'000 : 2'000'000);
    state = after(std::move(state), JobReported{config_of(1), report});
  }
  ASSERT_TRUE(state.drift);
  EXPECT_EQ(state.drift->job, "a");
  EXPECT_LT(state.drift->before_ns, state.drift->now_ns);
  ASSERT_EQ(to_string(state), "measuring");
  EXPECT_TRUE(state.explorer()->latest_ns.empty());
  EXPECT_EQ(state.explorer()->value_ns, 0);
}

TEST(TuningState, AWeakSearchOfAnEarlierJobIsOpenedAgainOnce) {
  const Sight sight{.may_explore = true, .has_explorer = true};
  State state{.at = Waiting{explorer_with(0)}};
  state = after(std::move(state), NothingToSearch{{.weak_in_a_row = 1}});
  ASSERT_FALSE(due(state, {.has_explorer = true})) << "it may not explore";
  ASSERT_EQ(due(state, sight).value().kind, Kind::reopen_search);
  EXPECT_NE(due(state, sight)->reason, "");
  state = after(std::move(state), SearchReopened{});
  ASSERT_EQ(due(state, sight).value().kind, Kind::lift_quarantine);
  state = after(std::move(state), QuarantineLifted{});
  ASSERT_EQ(due(state, sight).value().kind, Kind::begin_study);
  state = after(std::move(state), StudyOpened{{2, "live"}, 100});
  state = after(std::move(state), StudyEnded{true, {.weak_in_a_row = 1}});
  EXPECT_EQ(to_string(state), "settled");
  EXPECT_FALSE(due(state, sight)) << "it has just searched itself";
}

TEST(TuningState, ASearchIsOpenedAgainWhenIterationsContradictIt) {
  const Sight sight{.may_explore = true, .has_explorer = true};
  for (const std::int64_t now_ns : {1'010'000, 3'000'000}) {
    State state{.at = Waiting{explorer_with(0)}};
    state = after(std::move(state), NothingToSearch{{.recorded_ns = 1e6}});
    JobReport report{.job = "a"};
    report.iteration_ns.assign(kDriftWindow - 1, now_ns);
    state = after(std::move(state), JobReported{config_of(1), report});
    EXPECT_FALSE(due(state, sight)) << "too few iterations to know";
    report.iteration_ns.assign(1, now_ns);
    state = after(std::move(state), JobReported{config_of(1), report});
    EXPECT_EQ(due(state, sight).has_value(), now_ns > 2'000'000);
  }
}

TEST(TuningState, TheRecordedTimeIsThatOfTheConfigurationThatTheJobBeganWith) {
  State state{.at = Waiting{explorer_with(0)}};
  state = after(std::move(state), NothingToSearch{{.recorded_ns = 1e6}});
  state = after(std::move(state), ConfigSeen{config_of(2)});
  JobReport report{.job = "a"};
  report.iteration_ns.assign(kDriftWindow, 3'000'000);
  state = after(std::move(state), JobReported{config_of(2), report});
  EXPECT_FALSE(due(state, {.may_explore = true, .has_explorer = true}));
}

TEST(TuningState, AConclusionIsRelativeToTheCurrentConfiguration) {
  ChangeOutcome back{.status = ChangeStatus::rolled_back, .current_ns = {50}, .candidate_ns = {60}};
  for (const bool is_slower : {true, false}) {
    back.slower = is_slower;
    const auto conclusion = conclusion_of(trying_with(back), nullptr);
    EXPECT_EQ(conclusion.samples_ns, std::vector<double>{120});
    EXPECT_EQ(conclusion.is_slower, is_slower) << "only the window knows the noise";
    EXPECT_FALSE(conclusion.is_kept);
  }
}

TEST(TuningState, AJobThatRefusesTheConfigurationItHasHasKeptIt) {
  const ChangeOutcome refused{.status = ChangeStatus::rejected};
  const auto has = config_of(2), other = config_of(1);
  EXPECT_TRUE(conclusion_of(trying_with(refused), &has).is_kept);
  EXPECT_FALSE(conclusion_of(trying_with(refused), &other).is_kept);
  EXPECT_FALSE(conclusion_of(trying_with(refused), nullptr).is_kept);
  EXPECT_FALSE(conclusion_of(trying_with(refused), &has).is_measured());
}

struct Job {
  ScheduleConfig config;
  bool can_explore = true, is_connected = true;
};

/// Drives a state with random events, as jobs, operators and a failing store do, carries out what
/// is due, and checks the invariants of the header.
class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {}

  void step() {
    switch (draw(10)) {
      case 0:
        return arrive();
      case 1:
        return leave();
      case 2:
        may_explore_ = !may_explore_;
        return;
      case 3:
        if (!jobs_.empty()) any_job().second.is_connected = chance(0.5);
        return;
      case 4:  // a version was pushed
        if (!jobs_.empty() && chance(0.3)) any_job().second.config = config_of(draw(4));
        return;
      case 5:
        if (state_.study() && chance(0.1)) remove_study();
        return;
      case 6:
        if (chance(0.1)) now_ns_ += 2 * kAnswerLimitNs;
        return;
      case 7:
        is_slow_ ^= chance(0.1);
        return;
      default:
        report();
    }
  }

  /// Carries out what is due, until nothing is or the store fails.
  void advance() {
    constexpr int kMostActions = 40;  // of one call; each search is asked and answered a few times
    for (int i = 0; i < kMostActions; ++i) {
      const Sight sight = look();
      const auto action = due(state_, sight);
      check_state();
      if (!action) return;
      check_due(*action, sight);
      if (chance(0.2)) {
        const auto again = due(state_, sight);
        ASSERT_TRUE(again && again->kind == action->kind) << "invariant 1";
        return;
      }
      const bool was_offer = action->kind == Kind::offer;
      carry_out(*action, sight);
      if (was_offer) return;
    }
    FAIL() << "invariant 1: actions go on without an event, in state " << to_string(state_);
  }

  const std::set<std::string>& seen() const { return seen_; }

 private:
  std::int64_t draw(std::int64_t count) {
    return std::uniform_int_distribution<std::int64_t>(0, count - 1)(random_);
  }
  bool chance(double share) { return std::bernoulli_distribution(share)(random_); }
  std::pair<const std::string, Job>& any_job() {
    return *std::next(jobs_.begin(), draw(std::ssize(jobs_)));
  }
  void apply(const Event& event) {
    state_ = after(std::move(state_), event);
    seen_.insert(std::string(to_string(state_)));
  }

  void arrive() {
    if (jobs_.size() < 4) {
      jobs_[std::string(1, static_cast<char>('a' + draw(6)))] = {config_of(draw(4)), chance(0.8)};
    }
  }
  void leave() {
    if (!jobs_.empty() && chance(0.3)) jobs_.erase(any_job().first);
  }

  void remove_study() {
    apply(StudyRemoved{});
    open_study_.reset();
    candidate_.reset();
    is_asked_ = false;
  }

  void report() {
    if (jobs_.empty()) return;
    const auto& [id, job] = any_job();
    JobReport report{.job = id, .ended = chance(0.1)};
    if (const auto* candidate = state_.candidate(); candidate && chance(0.7)) {
      ChangeOutcome outcome{.trial = chance(0.9) ? candidate->trial : 1};
      outcome.status = std::array{ChangeStatus::applied, ChangeStatus::rolled_back,
                                  ChangeStatus::rejected}[static_cast<std::size_t>(draw(3))];
      if (outcome.status != ChangeStatus::rejected) {
        outcome.current_ns = {100, 101, 102};
        outcome.candidate_ns = {90 + draw(20)};
      }
      report.outcomes.push_back(std::move(outcome));
    }
    for (std::int64_t i = draw(200); i > 0; --i) {
      report.iteration_ns.push_back((is_slow_ ? 1500 : 1000) + draw(10));
    }
    apply(JobReported{job.config, report});
    if (state_.drift && state_.drift->job == id) drift_is_new_ = true;
  }

  Sight look() {
    const auto* const explorer = state_.explorer();
    const auto job = explorer ? jobs_.find(explorer->job) : jobs_.end();
    Sight sight{.now_ns = now_ns_, .may_explore = may_explore_};
    sight.has_explorer = job != jobs_.end() && job->second.can_explore;
    if (sight.has_explorer) apply(ConfigSeen{job->second.config});
    if (needs_other(state_, sight)) {
      JobsForgotten gone;
      for (const auto& id : state_.left_alone) {
        if (!jobs_.contains(id)) gone.jobs.push_back(id);
      }
      apply(gone);
      for (const auto& [id, other] : jobs_) {
        const bool is_current = state_.explorer() && state_.explorer()->job == id;
        if (is_current || !other.can_explore || !other.is_connected) continue;
        if (!state_.left_alone.contains(id)) sight.other = NextExplorer{id, other.config};
      }
    }
    if (is_asked_ && chance(0.7)) {
      const auto kind = draw(12);
      sight.answer = SearchAnswer{kind == 0   ? SearchAnswer::Kind::error
                                  : kind == 1 ? SearchAnswer::Kind::end
                                              : SearchAnswer::Kind::candidate};
    }
    return sight;
  }

  void check_state() {
    EXPECT_EQ(state_.study() != nullptr, open_study_.has_value()) << "invariant 2";
    EXPECT_EQ(state_.candidate() != nullptr, candidate_.has_value()) << "invariant 3";
    EXPECT_EQ(std::holds_alternative<Asking>(state_.at), is_asked_) << "invariant 5";
    if (const auto* at = std::get_if<Ready>(&state_.at)) {
      EXPECT_GT(at->explorer.value_ns, 0);
    }
    if (const auto* at = std::get_if<Measuring>(&state_.at)) {
      EXPECT_EQ(at->explorer.value_ns, 0);
    }
  }

  void check_due(const Action& action, const Sight& sight) {
    const Kind kind = action.kind;
    const bool explores = kind == Kind::begin_study || kind == Kind::resume_study ||
                          kind == Kind::tell_baseline || kind == Kind::ask || kind == Kind::offer;
    if (explores) {
      EXPECT_TRUE(may_explore_) << "invariant 4";
      ASSERT_TRUE(state_.explorer());
      EXPECT_FALSE(state_.left_alone.contains(state_.explorer()->job)) << "invariant 7";
      EXPECT_FALSE(state_.drift || must_lift_) << "invariant 6";
      EXPECT_NE(state_.learned, Learned::outdated) << "invariant 6";
    }
    if (is_asked_) {
      const bool uses_session =
          kind == Kind::conclude || kind == Kind::tell_baseline || kind == Kind::ask;
      EXPECT_FALSE(uses_session) << "invariant 5";
    }
    if (kind == Kind::offer) {
      EXPECT_TRUE(sight.answer && !candidate_) << "invariants 3 and 4";
      EXPECT_EQ(jobs_.at(state_.explorer()->job).config, asked_for_) << "invariant 4";
      EXPECT_GT(state_.explorer()->value_ns, 0) << "invariant 4";
    }
    if (kind == Kind::begin_study || kind == Kind::resume_study) {
      EXPECT_FALSE(open_study_) << "invariant 2";
      EXPECT_EQ(kind == Kind::begin_study, must_be_new_) << "invariant 6";
    }
    if (kind == Kind::change_explorer) {
      EXPECT_FALSE(open_study_) << "invariant 2";
    }
    if (kind == Kind::reopen_search) {
      EXPECT_TRUE(may_explore_) << "invariant 4";
      EXPECT_TRUE(std::get<Settled>(state_.at).may_reopen) << "invariant 8";
    }
    if (kind == Kind::record_drift) {
      EXPECT_TRUE(drift_is_new_) << "invariant 6";
    }
    if (kind == Kind::lift_quarantine) {
      EXPECT_FALSE(open_study_) << "invariant 6";
    }
    if (kind == Kind::end_study && action.study_state == StudyState::finished) {
      EXPECT_FALSE(candidate_) << "invariant 3: the job has not decided";
    }
  }

  void open_study() {
    StudyOpened opened{{++studies_, "live"}, chance(0.3) ? 1000.0 : 0.0};
    if (!must_be_new_ && chance(0.2)) {
      opened.candidate =
          Candidate{.trial = ++trials_, .config = config_of(draw(4)), .since_ns = now_ns_};
      candidate_ = trials_;
    }
    open_study_ = studies_;
    must_be_new_ = false;
    apply(opened);
  }

  void conclude() {
    const auto& trying = std::get<Trying>(state_.at);
    const auto job = jobs_.find(trying.explorer.job);
    const auto conclusion =
        conclusion_of(trying, job == jobs_.end() ? nullptr : &job->second.config);
    if (conclusion.is_kept && job != jobs_.end()) job->second.config = trying.candidate.config;
    candidate_.reset();
    apply(CandidateEnded{conclusion, conclusion.is_measured() ? 990.0 : 0});
  }

  void end_study(bool is_settled) {
    open_study_.reset();
    candidate_.reset();
    is_asked_ = false;
    apply(StudyEnded{is_settled});
  }

  void carry_out(const Action& action, const Sight& sight) {
    switch (action.kind) {
      case Kind::conclude:
        return conclude();
      case Kind::leave_alone:
        return apply(LeftAlone{});
      case Kind::end_study:
        return end_study(false);
      case Kind::end_search:
        return end_study(true);
      case Kind::change_explorer:
        return apply(ExplorerChanged{sight.other});
      case Kind::record_drift:
        drift_is_new_ = false;
        must_lift_ = true;
        return apply(DriftRecorded{});
      case Kind::reopen_search:
        must_lift_ = true;
        return apply(SearchReopened{});
      case Kind::lift_quarantine:
        must_lift_ = false;
        must_be_new_ = true;
        return apply(QuarantineLifted{});
      case Kind::resume_study:
        return chance(0.1) ? apply(NothingToSearch{{.weak_in_a_row = static_cast<int>(draw(3))}})
                           : open_study();
      case Kind::begin_study:
        return open_study();
      case Kind::tell_baseline:
        return apply(BaselineTold{1000});
      case Kind::ask:
        is_asked_ = true;
        asked_for_ = state_.explorer()->config;
        return apply(SearchAsked{});
      case Kind::return_answer:
      case Kind::fail_search:
        is_asked_ = false;
        return apply(AnswerDropped{});
      case Kind::offer:
        is_asked_ = false;
        candidate_ = ++trials_;
        return apply(CandidateOffered{
            {.trial = trials_, .config = config_of(draw(4)), .since_ns = now_ns_}});
    }
  }

  std::mt19937_64 random_;
  State state_;
  std::set<std::string> seen_;  // names of the states that were reached
  std::map<std::string, Job> jobs_;
  bool may_explore_ = true, is_slow_ = false;
  std::int64_t now_ns_ = 0;
  // The actions that were carried out:
  std::optional<std::int64_t> open_study_, candidate_;
  bool is_asked_ = false, drift_is_new_ = false, must_lift_ = false, must_be_new_ = false;
  ScheduleConfig asked_for_;
  std::int64_t studies_ = 0, trials_ = 0;
};

TEST(TuningState, KeepsItsInvariantsUnderRandomEvents) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= rounds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed);
    for (int i = 0; i < 300 && !testing::Test::HasFailure(); ++i) {
      world.step();
      world.advance();
    }
    seen.insert(world.seen().begin(), world.seen().end());
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_EQ(seen.size(), std::variant_size_v<decltype(State::at)>) << "every state is reached";
}

}  // namespace
}  // namespace hocket::tuning
