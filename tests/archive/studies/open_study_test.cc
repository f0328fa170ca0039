#include "archive/studies/open_study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "archive/studies/owner.h"
#include "archive/studies/study_result.h"
#include "store/open.h"
#include "tests/store/faulty_store.h"
#include "tuner/space/parameter_syntax.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

StudyDefinition small_definition() {
  return {.space = *Space::make({*parse_parameter("X=int:1..9")}),
          .objective = *parse_objective("auto"),
          .working_directory = "/"};
}

class OpenStudyTest : public ::testing::Test {
 protected:
  Result<OpenStudy> start(Store& store, const std::string& name = "") {
    return start_study(store, {.definition = small_definition(),
                               .command = {"job", "-x"},
                               .name = name,
                               .workload = {.name = "work"},
                               .topology = {}});
  }

  void set(const std::string& study, StudyState state, const std::string& owner) {
    const auto row = store_->study(study);
    ASSERT_TRUE(store_->update_study(row->id, {.state = state, .owner = owner}));
  }

  std::int64_t add_trial(std::int64_t study_id) {
    return store_->start_trial({.study_id = study_id, .params = {{"X", 5}}})->id;
  }

  std::string refusal(const StudyToResume& wanted) {
    const auto resumed = resume_study(*store_, wanted);
    return resumed ? "" : resumed.error().message;
  }

  StudyRow from_elsewhere(StudyOrigin origin, const std::string& name) {
    NewStudy study;
    study.name = name;
    study.command = {"evil"};
    study.definition = to_json(small_definition());
    study.owner = origin == StudyOrigin::http ? kWorkersOwner : kDaemonOwner;
    study.origin = origin;
    return *store_->create_study(study);
  }

  std::string gone_owner() { return "1@" + this_host().name + " another-boot/1"; }

  std::unique_ptr<Store> store_ = open_store_in_memory();
};

TEST_F(OpenStudyTest, AResumedStudyGetsAnotherNumberOfTrials) {
  const auto open = start(*store_, "s");
  ASSERT_TRUE(open) << open.error().message;
  for (const std::int64_t trials : {40, 3}) {
    set("s", StudyState::interrupted, "");
    const auto resumed = resume_study(*store_, {.trials = trials});
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(resumed->definition.trials, trials);
    EXPECT_EQ(store_->study("s")->definition.at("trials"), trials);
  }
  set("s", StudyState::interrupted, "");
  EXPECT_THAT(refusal({.trials = 0}), HasSubstr("trials: expected a number from 1"));
  EXPECT_EQ(store_->study("s")->state, StudyState::interrupted) << "nothing was written";
  const auto as_before = resume_study(*store_, {});
  ASSERT_TRUE(as_before);
  EXPECT_EQ(as_before->definition.trials, 3);
  ASSERT_TRUE(store_->start_trial({open->study.id, TrialPhase::confirm, {{"X", 5}}}));
  set("s", StudyState::interrupted, "");
  const auto confirming = resume_study(*store_, {.trials = 40});
  ASSERT_TRUE(confirming);
  EXPECT_EQ(confirming->definition.trials, 3) << "what is confirmed depends on what was searched";
}

TEST_F(OpenStudyTest, StartsOwnedWithAPlaceAndAWorkload) {
  const auto open = start(*store_);
  ASSERT_TRUE(open) << open.error().message;
  EXPECT_EQ(open->study.name, "work-1");
  EXPECT_EQ(owner_state(open->study.owner, this_host()), OwnerState::alive);
  EXPECT_TRUE(open->study.topology_id && open->study.workload_id);
  EXPECT_TRUE(open->history.empty());
}

TEST_F(OpenStudyTest, NeverRunsAStudyThatCameFromElsewhere) {
  const std::pair<StudyOrigin, const char*> cases[] = {{StudyOrigin::http, "over HTTP"},
                                                       {StudyOrigin::live, "live tuning"}};
  for (const auto& [origin, reason] : cases) {
    const auto planted = from_elsewhere(origin, std::string(to_string(origin)));
    for (const StudyState state : {StudyState::running, StudyState::interrupted}) {
      for (const bool take_over : {false, true}) {
        for (const std::string& owner : {planted.owner, gone_owner()}) {
          set(planted.name, state, owner);
          const auto before = *store_->study(planted.name);
          EXPECT_THAT(refusal({.name = planted.name, .take_over = take_over}), HasSubstr(reason));
          EXPECT_THAT(refusal({.take_over = take_over}), HasSubstr("no unfinished study"));
          EXPECT_EQ(*store_->study(planted.name), before);
        }
      }
    }
  }
  // They do not hide a study that can be resumed.
  const auto own = start(*store_, "own");
  set("own", StudyState::interrupted, gone_owner());
  from_elsewhere(StudyOrigin::http, "newer");
  EXPECT_EQ(resume_study(*store_, {})->study.name, "own");
}

TEST_F(OpenStudyTest, InASharedStoreTheLatestOfThisHostIsResumed) {
  const StudyToResume latest{.is_shared = true};
  from_elsewhere(StudyOrigin::http, "sent");
  EXPECT_THAT(refusal(latest), HasSubstr("there is no unfinished study to resume"));
  for (const char* name : {"old", "mine", "done", "theirs"}) ASSERT_TRUE(start(*store_, name));
  set("old", StudyState::interrupted, gone_owner());
  set("mine", StudyState::interrupted, gone_owner());
  set("done", StudyState::finished, gone_owner());
  set("theirs", StudyState::interrupted, "1@elsewhere boot/1");
  EXPECT_EQ(resume_study(*store_, latest)->study.name, "mine");

  set("mine", StudyState::interrupted, gone_owner());
  EXPECT_EQ(resume_study(*store_, {})->study.name, "theirs") << "a file is of one host";
}

TEST_F(OpenStudyTest, InASharedStoreStudiesOfOthersAreResumedByName) {
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) {
    ASSERT_TRUE(start(*store_, name));
    set(name, StudyState::interrupted, "1@node-" + std::string(name) + " boot/1");
  }
  set("g", StudyState::interrupted, "?");
  const StudyToResume latest{.is_shared = true};
  const auto error = resume_study(*store_, latest).error();
  EXPECT_EQ(error.code, ErrorCode::not_found);
  EXPECT_EQ(error.message,
            "no unfinished study in this store was run on this host, " + this_host().name +
                "; there are g, f (on node-f), e (on node-e), d (on node-d), c (on node-c) and 2 "
                "more; to go on with one of them, name it with --study");
  for (const char* name : {"b", "c", "d", "e", "f", "g"}) set(name, StudyState::finished, "");
  EXPECT_THAT(refusal(latest), HasSubstr("; there is a (on node-a); to go on"));
  EXPECT_EQ(store_->study("a")->owner, "1@node-a boot/1");
  EXPECT_EQ(resume_study(*store_, {.name = "a", .is_shared = true})->study.name, "a");
}

TEST_F(OpenStudyTest, AStudyOfWorkersIsResumedWithTheTrialsThatStillRun) {
  auto definition = small_definition();
  definition.workers = 2;
  const auto opened = start_study(*store_, {.definition = definition,
                                            .command = {"job"},
                                            .name = "s",
                                            .workload = {.name = "work"},
                                            .topology = {}});
  NewTrial offer{.study_id = opened->study.id, .params = {{"X", 5}}};
  offer.is_offered = true;
  ASSERT_TRUE(store_->start_trial(offer));
  set("s", StudyState::interrupted, "");
  EXPECT_EQ(resume_study(*store_, {.name = "s"})->definition.workers, 2);
  EXPECT_EQ(store_->trials(opened->study.id, TrialDetail::summary)->size(), 1U);

  set("s", StudyState::interrupted, "");
  const auto resumed = resume_study(*store_, {.name = "s", .workers = 5});
  EXPECT_EQ(resumed->definition.workers, 5);
  EXPECT_EQ(study_definition_from_json(store_->study("s")->definition)->workers, 5);

  set("s", StudyState::interrupted, "");
  EXPECT_EQ(resume_study(*store_, {.name = "s", .slurm = "--nodes 4"})->definition.slurm,
            "--nodes 4");
}

TEST_F(OpenStudyTest, AStudyOfOneProcessCanBeResumedWithWorkers) {
  const auto opened = start(*store_, "s");
  add_trial(opened->study.id);
  set("s", StudyState::interrupted, "");
  EXPECT_EQ(resume_study(*store_, {.name = "s", .slurm = "--nodes 4"})->definition.workers, 1);
  EXPECT_TRUE(store_->trials(opened->study.id, TrialDetail::summary)->empty())
      << "nobody runs what its process ran";
}

TEST_F(OpenStudyTest, ReadsTrialsInTheOrderInWhichTheyEndedAndWhatWasKnownOfThem) {
  const auto study = start(*store_, "s")->study.id;
  const auto finish = [&](std::int64_t trial, const std::string& worker) {
    ASSERT_TRUE(store_->finish_trial(trial, {}, worker));
  };
  const auto claim = [&](const std::string& worker) {
    NewTrial offer{.study_id = study, .params = {{"X", 5}}};
    offer.is_offered = true;
    const auto trial = store_->start_trial(offer)->id;
    EXPECT_EQ((*store_->claim_trial(study, {worker, "h", 1'000'000'000}))->id, trial);
    return trial;
  };
  const auto first = claim("a");
  finish(first, "a");
  const auto second = claim("a"), third = claim("b");
  finish(third, "b");
  const auto fourth = claim("b");
  finish(second, "a");
  finish(fourth, "b");
  const auto history = read_history(*store_, study).value();
  std::vector<std::int64_t> numbers, known;
  std::string workers;
  for (const Trial& trial : history) {
    numbers.push_back(trial.number);
    known.push_back(trial.began);
    workers += trial.worker;
  }
  EXPECT_THAT(numbers, ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(known, ElementsAre(0, 1, 1, 2));
  EXPECT_EQ(workers, "abab");
}

TEST_F(OpenStudyTest, ResumesWithEveryFinishedTrial) {
  const auto open = start(*store_);
  const auto id = open->study.id;
  ASSERT_TRUE(store_->finish_trial(add_trial(id), {.state = TrialState::complete,
                                                   .value = 3,
                                                   .spread = 1,
                                                   .samples = {2, 3, 4},
                                                   .metrics = {{"wall_ns", {9}}}}));
  ASSERT_TRUE(store_->finish_trial(add_trial(id), {.state = TrialState::failed, .message = "no"}));
  add_trial(id);
  set("work-1", StudyState::running, gone_owner());

  const auto resumed = resume_study(*store_, {});
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->study.command, open->study.command);
  ASSERT_EQ(resumed->history.size(), 2U);
  const auto& first = resumed->history[0];
  EXPECT_EQ(first.number, 0);
  EXPECT_EQ(first.params, (Params{{"X", std::int64_t{5}}}));
  EXPECT_EQ(first.outcome.samples, (std::vector<double>{2, 3, 4}));
  EXPECT_EQ(first.outcome.value, 3);
  EXPECT_EQ(first.outcome.metrics, (Measurements{{"wall_ns", {9}}}));
  EXPECT_EQ(resumed->history[1].outcome.state, TrialState::failed);
  EXPECT_EQ(resumed->history[1].outcome.message, "no");
  // The trial that ran when the owner died is gone; the owner is this process.
  EXPECT_EQ(store_->trials(id, TrialDetail::summary)->size(), 2U);
  EXPECT_EQ(owner_state(store_->study("work-1")->owner, this_host()), OwnerState::alive);
}

TEST_F(OpenStudyTest, AnAutomaticObjectiveStaysWhatItHadBecome) {
  for (const bool reports : {true, false}) {
    const auto id = start(*store_)->study.id;
    TrialOutcome result{.state = TrialState::complete, .value = 3};
    result.metrics = {{"objective", {3}}, {reports ? "iteration_ns" : "wall_ns", {3}}};
    ASSERT_TRUE(store_->finish_trial(add_trial(id), result));
    set(std::to_string(id), StudyState::interrupted, "");
    const auto resumed = resume_study(*store_, {});
    ASSERT_TRUE(resumed);
    EXPECT_EQ(resumed->definition.objective.kind,
              reports ? ObjectiveKind::report : ObjectiveKind::wall);
    EXPECT_EQ(has_report(resumed->history), reports);
    set(std::to_string(id), StudyState::finished, "");
  }
}

TEST_F(OpenStudyTest, ResumesWithEveryObjective) {
  auto several = small_definition();
  several.other_objectives = {*parse_objective("memory"), *parse_objective("file:x")};
  const auto open = start_study(*store_, {.definition = several,
                                          .command = {"job"},
                                          .name = "",
                                          .workload = {.name = "work"},
                                          .topology = {}});
  ASSERT_TRUE(open) << open.error().message;
  const auto id = open->study.id;
  const Measurements measured = {
      {"objective", {3}}, {metric_of_other(0), {7, 9, 8}}, {metric_of_other(1), {5}}};
  for (const auto state : {TrialState::complete, TrialState::failed}) {
    TrialOutcome result{.state = state};
    if (state == TrialState::complete) result.value = 3;
    result.metrics = measured;
    ASSERT_TRUE(store_->finish_trial(add_trial(id), result));
  }
  set("work-1", StudyState::interrupted, "");
  const auto resumed = resume_study(*store_, {});
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->definition.other_objectives, several.other_objectives);
  EXPECT_EQ(resumed->history[0].outcome.others, (std::vector<double>{8, 5}));
  EXPECT_TRUE(resumed->history[1].outcome.others.empty());
}

TEST_F(OpenStudyTest, TakesOverOnlyWhatNobodyRuns) {
  EXPECT_THAT(refusal({}), HasSubstr("no unfinished study"));
  ASSERT_TRUE(start(*store_, "s"));
  EXPECT_THAT(refusal({.name = "s", .take_over = true}), HasSubstr("is being run by process"));
  set("s", StudyState::running, "1@elsewhere b/1");
  EXPECT_THAT(refusal({.name = "s"}), HasSubstr("--take-over"));
  EXPECT_EQ(refusal({.name = "s", .take_over = true}), "");
  set("s", StudyState::interrupted, "1@elsewhere b/1");
  EXPECT_EQ(refusal({.name = "s"}), "");
  set("s", StudyState::running, gone_owner());
  EXPECT_THAT(refusal({.name = "s", .command = {"job"}}), HasSubstr("another command: job -x"));
  EXPECT_EQ(refusal({.name = "s", .command = {"job", "-x"}}), "");
  set("s", StudyState::finished, gone_owner());
  EXPECT_THAT(refusal({.name = "s"}), HasSubstr("is finished"));
  EXPECT_THAT(refusal({.name = "t"}), HasSubstr("no study"));
}

TEST_F(OpenStudyTest, AFinishedStudySaysWhyItEnded) {
  ASSERT_TRUE(start(*store_, "s"));
  const auto id = store_->study("s")->id;
  const StudyResult result{.default_params = {{{"X", std::int64_t{5}}}, 4.0},
                           .best = {{{"X", std::int64_t{5}}}, 4.0},
                           .reason = "the default is best",
                           .stopped = "little is left to gain",
                           .trials = {}};
  ASSERT_TRUE(store_->update_study(id, {.state = StudyState::finished, .result = to_json(result)}));
  for (const bool keep_going : {false, true}) {
    EXPECT_EQ(
        refusal({.name = "s", .keep_going = keep_going}),
        "study s is finished; its search stopped early: little is left to gain; not promoted: "
        "the default is best; `hocket best s` shows what came of it");
  }
}

TEST_F(OpenStudyTest, GoesOnAfterAFailedDefaultOnlyWhenTold) {
  auto definition = small_definition();
  definition.needs_default = true;
  const auto open = start_study(*store_, {.definition = definition,
                                          .command = {"job"},
                                          .name = "s",
                                          .workload = {.name = "work"},
                                          .topology = {}});
  ASSERT_TRUE(open);
  ASSERT_TRUE(store_->finish_trial(add_trial(open->study.id),
                                   {.state = TrialState::failed, .message = "no match"}));
  definition.stopped = "the default failed";
  const StudyResult result{.default_params = {{{"X", std::int64_t{5}}}, std::nullopt},
                           .best = {{{"X", std::int64_t{5}}}, std::nullopt},
                           .reason = "the default failed: no match",
                           .stopped = definition.stopped,
                           .trials = {}};
  ASSERT_TRUE(store_->update_study(open->study.id, {.state = StudyState::finished,
                                                    .definition = to_json(definition),
                                                    .result = to_json(result)}));
  EXPECT_EQ(refusal({.name = "s"}),
            "study s is finished: the default failed: no match; to search for a setting that "
            "works, add --keep-going");
  const auto resumed = resume_study(*store_, {.name = "s", .keep_going = true});
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->definition, small_definition());
  EXPECT_EQ(resumed->history.size(), 1u);
  EXPECT_EQ(study_definition_from_json(store_->study("s")->definition).value(), small_definition());
}

TEST_F(OpenStudyTest, PassesOnWhateverTheStoreRefuses) {
  for (int call = 1; call <= 3; ++call) {
    FaultyStore faulty(*store_, call);
    const auto open = start(faulty);
    ASSERT_FALSE(open) << call;
    EXPECT_EQ(open.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(open.error().message, FaultyStore::fault().message);
  }
  ASSERT_TRUE(start(*store_, "s"));
  for (int call = 1; call <= 4; ++call) {
    set("s", StudyState::interrupted, "");
    FaultyStore faulty(*store_, call);
    EXPECT_FALSE(resume_study(faulty, {.name = "s"})) << call;
  }
  set("s", StudyState::interrupted, "");
  EXPECT_EQ(refusal({.name = "s"}), "");
}

}  // namespace
}  // namespace hocket
