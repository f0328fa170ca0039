#include "archive/workers/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <utility>

#include "archive/studies/study_job.h"
#include "archive/workers/lease_keeper.h"
#include "tests/archive/workers/opened_source.h"
#include "tests/archive/workers/shared_study.h"
#include "tests/set_clock.h"
#include "tests/store/faulty_store.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Params at(std::int64_t a, std::int64_t b) {
  return {{"a", a}, {"b", b}};
}

/// Calls a function for each trial, with the incumbent.
class CalledRunner final : public TrialRunner {
 public:
  using Job = std::function<Result<TrialOutcome>(const Params&, std::span<const double>)>;
  explicit CalledRunner(Job job) : job_(std::move(job)) {}
  Result<TrialOutcome> run(const Params& params, std::span<const double> incumbent,
                           std::int64_t) override {
    return job_(params, incumbent);
  }

 private:
  Job job_;
};

class Lines final : public WorkerObserver {
 public:
  void trial_started(const Trial& trial) override {
    lines.push_back("starts " + std::to_string(shown_number(trial)));
  }
  void trial_ended(const Trial& trial, bool is_kept) override {
    lines.push_back(std::string(to_string(trial.outcome.state)) + " " +
                    std::to_string(shown_number(trial)) + (is_kept ? "" : ", not kept"));
  }
  void waits(const std::string&) override { ++waited; }
  std::vector<std::string> lines;
  int waited = 0;
};

class WorkerFixture {
 protected:
  Result<WorkerEnd> work(TrialSource& source, const std::function<void()>& while_waiting = {}) {
    const MakeRunner make_runner =
        [&](const StudyRow& study,
            const StudyDefinition& definition) -> Result<std::unique_ptr<TrialRunner>> {
      EXPECT_EQ(study.command, study_.open.study.command);
      objectives_.push_back(definition.objective.kind);
      return std::make_unique<CalledRunner>(job_);
    };
    return run_worker(source, options_, make_runner, lines_, clock_, cancel_, [&](std::int64_t ns) {
      clock_.now += ns;
      *study_.now_ns += ns;
      if (while_waiting) return while_waiting();
      study_.end();
    });
  }

  SharedStudy study_;
  WorkerOptions options_{.study = "shared", .name = "w", .host = "h"};
  CalledRunner::Job job_ = [](const Params& params, std::span<const double>) {
    return Result<TrialOutcome>(complete_trial({true_study_value(params)}));
  };
  std::vector<ObjectiveKind> objectives_;
  Lines lines_;
  SetClock clock_;
  CancelToken cancel_;
};

/// Tests of workers that run on every source of trials.
class WorkerTest : public WorkerFixture, public ::testing::TestWithParam<SourceKind> {
 protected:
  Result<WorkerEnd> work(const std::function<void()>& while_waiting = {}) {
    OpenedSource source(GetParam(), *study_.store);
    return WorkerFixture::work(*source, while_waiting);
  }
  std::string refusal() {
    const auto end = work();
    return end ? "accepted" : end.error().message;
  }
};

INSTANTIATE_TEST_SUITE_P(From, WorkerTest, ::testing::Values(SourceKind::store, SourceKind::daemon),
                         [](const auto& tested) { return to_string(tested.param); });

TEST_P(WorkerTest, RunsWhatIsOfferedUntilTheStudyEnds) {
  study_.offer(at(1, 9));
  study_.offer(at(2, 3));
  int waits = 0;
  const auto end = work([&] {
    if (++waits == 1) study_.offer(at(4, 4));
    if (waits == 2) study_.end();
  });
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->trials, 3);
  EXPECT_EQ(end->reason, "study shared is finished");
  EXPECT_THAT(lines_.lines, ElementsAre("starts 1", "complete 1", "starts 2", "complete 2",
                                        "starts 3", "complete 3"));
  for (const TrialRow& row : study_.trials()) {
    EXPECT_EQ(row.state, TrialState::complete);
    EXPECT_EQ(row.worker, "w");
    EXPECT_EQ(row.value, true_study_value(params_from_json(row.params).value()));
  }
  EXPECT_TRUE(study_.store->workers(study_.id())->empty()) << "it has left";
}

TEST_P(WorkerTest, LeavesWhenTheStudyIsInterruptedOrRemovedOrNothingComes) {
  EXPECT_THAT(work([&] { study_.end(StudyState::interrupted); })->reason,
              HasSubstr("hocket tune --resume"));

  study_.end(StudyState::running);
  options_.idle_limit_ns = 20 * kSecondNs;
  const std::int64_t begin_ns = clock_.now;
  EXPECT_THAT(work([] {})->reason, HasSubstr("no trial came for 2"));
  EXPECT_GE(clock_.now - begin_ns, 20 * kSecondNs);
  EXPECT_LT(clock_.now - begin_ns, 23 * kSecondNs);

  options_.idle_limit_ns.reset();
  const auto removed = work([&] {
    const StudyRow row = study_.row();
    ASSERT_TRUE(study_.store->remove_study(row.id, row.owner, "test"));
  });
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(removed->reason, "the study was removed");
}

TEST_P(WorkerTest, IsNotOneOfSeveralWhoseTrialsWriteOneFile) {
  StudyDefinition definition = study_.definition;
  definition.workers = 1;
  const auto start = [&](const char* name, const char* file, const char* slurm) {
    definition.objective = *parse_objective(file);
    definition.slurm = slurm;
    ASSERT_TRUE(start_study(*study_.store, {.definition = definition,
                                            .command = {"job"},
                                            .name = name,
                                            .workload = {.name = "work"},
                                            .topology = {}}));
    options_.study = name;
  };
  // Nothing is offered, so a worker that is accepted leaves.
  const auto joined = [&] {
    options_.idle_limit_ns = kSecondNs;
    const auto end = WorkerTest::work([] {});
    return end ? end->reason : end.error().message;
  };
  options_.joins = true;
  start("one", "file:result.txt", "");
  EXPECT_THAT(joined(), HasSubstr("study one has a worker already: --workers: trials at the same "
                                  "time would write one file, result.txt"));
  options_.joins = false;
  EXPECT_THAT(joined(), HasSubstr("no trial came")) << "the study's own worker";
  options_.joins = true;
  start("own", "file:result-{TRIAL}.txt", "");
  EXPECT_THAT(joined(), HasSubstr("no trial came"));
  start("slurm", "file:result.txt", "--time 10");
  EXPECT_THAT(joined(), HasSubstr("would write one file"));
  options_.is_slurm_task = true;
  EXPECT_THAT(joined(), HasSubstr("no trial came")) << "the task that is the only worker";
}

TEST_P(WorkerTest, IsAliveForTheOwnerHoweverLongItWaits) {
  int waits = 0;
  const auto end = work([&] {
    EXPECT_EQ(study_.store->workers(study_.id())->size(), 1u);
    if (++waits == 300) study_.end();
  });
  ASSERT_TRUE(end);
  EXPECT_EQ(waits, 300);
}

TEST_P(WorkerTest, LeavesWhenTheTimeLeftIsTooShortForTheLongestTrial) {
  study_.offer(at(1, 9));
  study_.offer(at(2, 3));
  std::int64_t left_ns = 100 * kSecondNs;
  options_.time_left_ns = [&] { return std::optional(left_ns); };
  job_ = [&](const Params&, std::span<const double>) {
    *study_.now_ns += 60 * kSecondNs;
    left_ns -= 60 * kSecondNs;
    return Result<TrialOutcome>(complete_trial({5}));
  };
  const auto end = work();
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->trials, 1);
  EXPECT_THAT(end->reason, HasSubstr("the time left here, 40 s, is less than"));
  EXPECT_TRUE(study_.trials()[1].is_offered) << "another worker can have it";
}

TEST_P(WorkerTest, GivesBackItsTrialWhenItIsStopped) {
  study_.offer(at(1, 9));
  job_ = [&](const Params&, std::span<const double>) -> Result<TrialOutcome> {
    cancel_.cancel();
    return failure(ErrorCode::interrupted, "interrupted");
  };
  const auto end = work();
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->reason, "asked to stop");
  const TrialRow trial = study_.trials()[0];
  EXPECT_TRUE(trial.is_offered);
  EXPECT_EQ(trial.losses, 0) << "its worker was not lost";
}

TEST_P(WorkerTest, GivesBackItsTrialWhenTheCommandCannotBeStarted) {
  study_.offer(at(1, 9));
  job_ = [&](const Params&, std::span<const double>) -> Result<TrialOutcome> {
    return failure(ErrorCode::invalid_argument, "job: no such command");
  };
  const auto end = work();
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message, "job: no such command");
  EXPECT_TRUE(study_.trials()[0].is_offered);
  EXPECT_TRUE(study_.store->workers(study_.id())->empty());
}

TEST_P(WorkerTest, DoesNotKeepWhatAnotherWorkerHasByNow) {
  study_.offer(at(1, 9));
  job_ = [&](const Params&, std::span<const double>) {
    // As if this process had been stopped for an hour.
    *study_.now_ns += 3600 * kSecondNs;
    EXPECT_EQ(study_.store->offer_lost_trials(study_.id()).value(), 1);
    EXPECT_TRUE(study_.store->claim_trial(study_.id(), {"other", "h", kSecondNs}).value());
    return Result<TrialOutcome>(complete_trial({5}));
  };
  const auto end = work();
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->trials, 0);
  EXPECT_THAT(lines_.lines, ElementsAre("starts 1", "complete 1, not kept"));
  EXPECT_EQ(study_.trials()[0].state, TrialState::running);
  EXPECT_EQ(study_.trials()[0].worker, "other");
}

TEST_P(WorkerTest, EndsTrialsByTheBestOfTheStudyIfTheStudyAllowsIt) {
  for (const bool is_allowed : {false, true}) {
    study_ = SharedStudy();
    study_.definition.end_trials_early = is_allowed;
    ASSERT_TRUE(
        study_.store->update_study(study_.id(), {.definition = to_json(study_.definition)}));
    std::vector<std::vector<double>> incumbents;
    job_ = [&](const Params& params, std::span<const double> incumbent) {
      incumbents.emplace_back(incumbent.begin(), incumbent.end());
      return Result<TrialOutcome>(complete_trial({true_study_value(params)}));
    };
    study_.offer(at(1, 9));
    study_.offer(at(16, 1));
    study_.offer(at(4, 4));
    study_.offer(at(1, 9), TrialPhase::confirm);
    ASSERT_TRUE(work());
    const std::vector<double> none, first{true_study_value(at(1, 9))},
        best{true_study_value(at(16, 1))};
    EXPECT_THAT(incumbents, is_allowed ? ElementsAre(none, first, best, none)
                                       : ElementsAre(none, none, none, none));
  }
}

TEST_P(WorkerTest, SaysWhatTheStudyIsOfBeforeItsTrialEndsAndWhatItsObjectiveMeans) {
  study_.definition.objective = *parse_objective("auto");
  ASSERT_TRUE(study_.store->update_study(study_.id(), {.definition = to_json(study_.definition)}));
  study_.offer(at(1, 9));
  study_.offer(at(16, 1));
  job_ = [&](const Params& params, std::span<const double>) {
    TrialOutcome outcome = complete_trial({true_study_value(params)});
    outcome.metrics["iteration_ns"] = {5};
    outcome.report = RunReport();
    outcome.report->topology.world_size = 4;
    outcome.report->workload = {"reported" + std::to_string(lines_.lines.size()), {{"w", 4}}};
    return Result<TrialOutcome>(std::move(outcome));
  };
  ASSERT_TRUE(work());
  EXPECT_EQ(topology_of(*study_.store, study_.row())->world_size, 4);
  EXPECT_EQ(workload_of(*study_.store, study_.row())->name, "reported1") << "the first report";
  EXPECT_THAT(objectives_, ElementsAre(ObjectiveKind::automatic, ObjectiveKind::report));
}

TEST_P(WorkerTest, RefusesStudiesThatAreNotForWorkersOrHaveEnded) {
  options_.study = "none";
  EXPECT_EQ(work().error().code, ErrorCode::not_found);

  NewStudy from_http;
  from_http.name = "http";
  from_http.definition = to_json(study_.definition);
  from_http.command = {"evil"};
  from_http.owner = kWorkersOwner;
  from_http.origin = StudyOrigin::http;
  ASSERT_TRUE(study_.store->create_study(from_http));
  options_.study = "http";
  EXPECT_THAT(refusal(), HasSubstr("its workers ask the daemon"));

  options_.study = "shared";
  study_.end();
  EXPECT_EQ(refusal(), "study shared is finished");

  study_.end(StudyState::running);
  study_.definition.workers.reset();
  ASSERT_TRUE(study_.store->update_study(study_.id(), {.definition = to_json(study_.definition)}));
  EXPECT_THAT(refusal(), HasSubstr("hocket tune --workers N"));
  EXPECT_TRUE(lines_.lines.empty());
}

TEST_P(WorkerTest, AnAnswerThatIsLostCostsNoTrial) {
  study_.offer(at(1, 9));
  OpenedSource source(GetParam(), *study_.store);
  LosingSource losing(*source);
  losing.claims_to_lose = 4;
  losing.ends_to_lose = 2;
  int waits = 0;
  const auto end = WorkerFixture::work(losing, [&] {
    if (++waits > 6) study_.end();
  });
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(losing.claims_to_lose + losing.ends_to_lose, 0);
  EXPECT_EQ(end->trials, 1);
  EXPECT_THAT(lines_.lines, ElementsAre("starts 1", "complete 1"));
  EXPECT_EQ(study_.trials()[0].state, TrialState::complete);
  EXPECT_EQ(study_.trials()[0].losses, 0);
}

class WorkerOutage : public WorkerFixture, public ::testing::Test {};

TEST_F(WorkerOutage, KeepsWhatItMeasuredThroughOneOfTheStore) {
  study_.offer(at(1, 9));
  FaultyStore faulty(*study_.store, 1 << 30);
  job_ = [&](const Params&, std::span<const double>) {
    faulty.set_locked(true);
    return Result<TrialOutcome>(complete_trial({5}));
  };
  StoreTrialSource source(faulty);
  int waits = 0;
  const auto end = work(source, [&] {
    if (++waits == 10) faulty.set_locked(false);
    if (waits == 20) study_.end();
  });
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->trials, 1);
  EXPECT_EQ(study_.trials()[0].value, 5);
}

TEST_F(WorkerOutage, OfAnyOneCallCostsNothing) {
  job_ = [&](const Params&, std::span<const double>) {
    TrialOutcome outcome = complete_trial({5});
    outcome.report = RunReport();
    outcome.report->workload = {"reported", {{"w", 4}}};
    return Result<TrialOutcome>(std::move(outcome));
  };
  for (int call = 2; call < 16; ++call) {  // the first finds the study
    SCOPED_TRACE(call);
    study_ = SharedStudy();
    study_.offer(at(1, 9));
    FaultyStore faulty(*study_.store, call);
    StoreTrialSource source(faulty);
    int waits = 0;
    const auto end = work(source, [&] {
      if (++waits > 3) study_.end();
    });
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(end->trials, 1);
    EXPECT_EQ(study_.trials()[0].value, 5);
    EXPECT_EQ(study_.trials()[0].losses, 0);
    EXPECT_EQ(workload_of(*study_.store, study_.row())->name, "reported");
  }
}

TEST_F(WorkerOutage, KeepsWhatItMeasuredThroughOneOfTheDaemon) {
  study_.offer(at(1, 9));
  std::optional<RunningDaemon> daemon(std::in_place, *study_.store);
  HttpTrialSource source(access_to(*daemon));
  const std::uint16_t port = daemon->port();
  job_ = [&](const Params&, std::span<const double>) {
    daemon.reset();
    return Result<TrialOutcome>(complete_trial({5}));
  };
  int waits = 0;
  const auto end = work(source, [&] {
    if (++waits == 10) daemon.emplace(*study_.store, port);
    if (waits == 20) study_.end();
  });
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->trials, 1);
  EXPECT_EQ(study_.trials()[0].value, 5);
}

TEST_F(WorkerOutage, OfTenMinutesEndsTheWorkerWithWhatItIs) {
  std::optional<RunningDaemon> daemon(std::in_place, *study_.store);
  HttpTrialSource source(access_to(*daemon));
  const std::int64_t begin_ns = clock_.now;
  const auto end = work(source, [&] { daemon.reset(); });
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::unavailable);
  EXPECT_THAT(end.error().message, HasSubstr("daemon http://127.0.0.1:"));
  EXPECT_GE(clock_.now - begin_ns, kStorePatienceNs);
}

TEST_F(WorkerOutage, HoweverLongLosesNoMeasuredTrial) {
  std::optional<RunningDaemon> daemon(std::in_place, *study_.store);
  const std::uint16_t port = daemon->port();
  HttpTrialSource source(access_to(*daemon));
  study_.offer(at(1, 9));
  job_ = [&](const Params&, std::span<const double>) {
    daemon.reset();
    return Result<TrialOutcome>(complete_trial({5}));
  };
  const std::int64_t begin_ns = clock_.now;
  bool is_back = false;
  const auto end = work(source, [&] {
    if (!is_back && clock_.now - begin_ns > 6 * kStorePatienceNs) {
      daemon.emplace(*study_.store, port);
      is_back = true;
    } else if (is_back && study_.trials()[0].state == TrialState::complete) {
      study_.end();
    }
  });
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(study_.trials()[0].value, 5);
  EXPECT_GE(lines_.waited, 58);
}

TEST(LeaseKeeper, RenewsWhileItLives) {
  SharedStudy study;
  const auto trial = study.offer(at(1, 9));
  const NewClaim claim{"w", "h", 30'000'000};
  ASSERT_TRUE(study.store->claim_trial(study.id(), claim).value());
  const auto until_ns = [&] {
    const auto workers = study.store->workers(study.id()).value();
    return workers.empty() ? 0 : workers.front().lease_until_ns;
  };
  std::int64_t last_ns = until_ns();
  StoreTrialSource source(*study.store);
  const LeaseKeeper keeper(source, study.id(), claim);
  for (int renewals = 0; renewals < 3; ++renewals) {
    // As much time as the lease has, by the store's clock.
    *study.now_ns += claim.lease_ns / 2;
    while (until_ns() <= last_ns) std::this_thread::yield();
    last_ns = until_ns();
  }
  EXPECT_EQ(study.store->offer_lost_trials(study.id()).value(), 0);
}

TEST(CommandRunners, RunNoScriptThatDiffersFromTheStudys) {
  const TemporaryFolder folder;
  const std::string path = folder.write("train.sh", "echo 1");
  StudyRow study;
  study.name = "s";
  study.command = {"sh", path};
  StudyDefinition definition{
      .space = Space::make({{"a", IntegerRange{1, 9}, std::int64_t{1}}}).value(),
      .objective = {ObjectiveKind::wall, ""},
      .working_directory = folder.path()};
  definition.files = {{path, content_fingerprint(path).value(), true}};
  const SteadyClock clock;
  const CancelToken cancel;
  const auto make = command_runners(clock, cancel);
  EXPECT_TRUE(make(study, definition));
  folder.write("train.sh", "echo 2");
  const auto refused = make(study, definition);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr(path + " has changed since study s began"));
}

}  // namespace
}  // namespace hocket
