#include "archive/studies/donor_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

#include "archive/studies/plain_job.h"
#include "store/open.h"
#include "tests/store/faulty_store.h"
#include "tuner/search/transfer.h"
#include "tuner/space/parameter_syntax.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

StudyDefinition definition(const std::string& parameter = "X=int:1..9",
                           const std::string& objective = "auto") {
  return {.space = *Space::make({*parse_parameter(parameter)}),
          .objective = *parse_objective(objective),
          .working_directory = "/",
          .transfer = ""};
}

TunedJob job(int ranks, const std::string& workload = "gpt2") {
  TunedJob job;
  job.topology.world_size = ranks;
  job.workload = {workload, {{"w", 1 << 20}}};
  return job;
}

/// A trial with a job's report, or with the clock's time only.
struct Measured {
  std::int64_t x = 0;
  double value = 0;
  bool reported = true;
};

class DonorSource : public ::testing::Test {
 protected:
  StudyRow add(const std::string& name, const TunedJob& job, const StudyDefinition& definition,
               const std::vector<Measured>& trials, StudyState state = StudyState::finished,
               const std::vector<std::string>& command = {"job"}) {
    auto row = store_->create_study({.name = name,
                                     .command = command,
                                     .definition = to_json(definition),
                                     .owner = "",
                                     .topology_id = *store_->upsert_topology(job.topology),
                                     .workload_id = *store_->upsert_workload(job.workload)});
    for (const Measured& trial : trials) {
      const auto started = store_->start_trial({.study_id = row->id, .params = {{"X", trial.x}}});
      EXPECT_TRUE(store_->finish_trial(
          started->id,
          {.state = TrialState::complete,
           .value = trial.value,
           .metrics = {{trial.reported ? "iteration_ns" : "wall_ns", {trial.value}}}}));
    }
    EXPECT_TRUE(store_->update_study(row->id, {.state = state}));
    return *store_->study(name);
  }

  /// Returns the name of the nearest study, "" if there is none.
  std::string nearest(const StudyDefinition& own, const TunedJob& job) {
    const auto found = nearest_donor(*store_, own, job);
    EXPECT_TRUE(found);
    return found && *found ? (*found)->donor.study : "";
  }

  std::string refusal(const std::string& name, const StudyDefinition& own) {
    const auto found = named_donor(*store_, name, own, job(2));
    return found ? "" : found.error().message;
  }

  std::unique_ptr<Store> store_ = open_store_in_memory();
  const std::vector<Measured> trials_{{3, 30}, {5, 10}, {7, 20}};
};

TEST_F(DonorSource, TheNearestIsTakenAndTheLastOfEquals) {
  const auto own = definition("X=int:1..9", "report");
  EXPECT_EQ(nearest(own, job(2)), "");
  add("far", job(64), definition(), trials_);
  EXPECT_EQ(nearest(own, job(2)), "far");
  add("near", job(4), definition(), trials_);
  EXPECT_EQ(nearest(own, job(2)), "near");
  add("as-near", job(1), definition(), trials_);
  EXPECT_EQ(nearest(own, job(2)), "as-near");
  add("same", job(2), definition(), trials_);
  EXPECT_EQ(nearest(own, job(2)), "same");
  EXPECT_EQ(nearest(own, job(64)), "far");

  const auto found = nearest_donor(*store_, own, job(3))->value();
  EXPECT_EQ(found.donor.study, "near");
  EXPECT_NEAR(*found.donor.distance, std::log2(4.0 / 3), 1e-9);
  EXPECT_EQ(found.difference, "4 ranks instead of 3");
  const auto at = [](std::int64_t x) { return Params{{"X", x}}; };
  EXPECT_EQ(found.donor.evaluations,
            (std::vector<Evaluation>{{at(5), 10, 0}, {at(7), 20, 0}, {at(3), 30, 0}}));
}

TEST_F(DonorSource, AScriptStartsFromItsOwnStudiesAlone) {
  const auto own = definition("X=int:1..9", "report");
  const auto job_of = [&](const std::string& script) {
    const std::vector<std::string> command = {"python3", script};
    return TunedJob{job(2).topology, plain_workload(command, "/", own.space)};
  };
  add("other", job_of("other.py"), definition(), trials_);
  EXPECT_EQ(nearest(own, job_of("train.py")), "");
  add("own", job_of("train.py"), definition(), trials_);
  EXPECT_EQ(nearest(own, job_of("train.py")), "own");
  EXPECT_EQ(nearest(own, job_of("other.py")), "other");
  // An earlier version stored every script as its interpreter; the command says which it was.
  add("early", {job(2).topology, {.name = "python3"}}, definition(), trials_, StudyState::finished,
      {"nice", "python3", "third.py"});
  EXPECT_EQ(nearest(own, job_of("third.py")), "");
  add("early-too", {job(2).topology, {.name = "python3"}}, definition(), trials_,
      StudyState::finished, {"python3", "third.py"});
  EXPECT_EQ(nearest(own, job_of("third.py")), "early-too");
}

TEST_F(DonorSource, WhatDoesNotFitIsPassedOver) {
  const auto own = definition("X=int:1..6", "report");
  add("running", job(2), definition(), trials_, StudyState::running);
  add("interrupted", job(2), definition(), trials_, StudyState::interrupted);
  add("no-trials", job(2), definition(), {});
  add("other-parameter", job(2), definition("Y=int:1..9"), trials_);
  add("other-objective", job(2), definition("X=int:1..9", "regex:t=(.)"), trials_);
  add("by-the-clock", job(2), definition(), {{3, 30, false}});
  add("outside", job(2), definition(), {{8, 30}, {9, 10}});
  add("too-far", job(2048), definition(), trials_);
  add("unknown", {job(2).topology, {"gpt2", {}}}, definition(), trials_);
  EXPECT_EQ(nearest(own, job(2)), "");
  // An unreadable definition is skipped.
  const auto broken = add("broken", job(2), definition(), trials_);
  ASSERT_TRUE(store_->update_study(broken.id, {.definition = nlohmann::json{{"format", "other"}}}));
  EXPECT_EQ(nearest(own, job(2)), "");
  add("fits", job(16), definition(), trials_);
  EXPECT_EQ(nearest(own, job(2)), "fits");
  EXPECT_EQ(nearest(definition("X=int:1..6", "wall"), job(2)), "by-the-clock");
}

TEST_F(DonorSource, ANamedStudyIsTakenHoweverFarOrRefusedWithTheReason) {
  add("far", job(2048), definition(), trials_);
  const auto found = named_donor(*store_, "far", definition(), job(2));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_DOUBLE_EQ(*found->donor.distance, 10);
  add("running", job(2), definition(), trials_, StudyState::running);
  add("regex", job(2), definition("X=int:1..9", "regex:t=(.)"), trials_);
  EXPECT_THAT(refusal("none", definition()), HasSubstr("no study"));
  EXPECT_THAT(refusal("running", definition()), HasSubstr("has not finished"));
  EXPECT_THAT(refusal("far", definition("Y=int:1..9")),
              HasSubstr("its parameters are X, this study's are Y"));
  EXPECT_THAT(refusal("far", definition("X=int:50..90")), HasSubstr("lies within"));
  EXPECT_THAT(refusal("far", definition("X=int:1..9", "wall")),
              HasSubstr("its objective was report, this study's is wall"));
  EXPECT_THAT(refusal("regex", definition()), HasSubstr("its objective was regex:t=(.)"));
}

TEST_F(DonorSource, AStudyGoesOnAsAnotherFromAllThatWasMeasured) {
  auto own = definition();
  own.goes_on = true;
  const std::vector<Measured> many{{1, 50}, {3, 30}, {5, 10}, {7, 20}, {9, 40}};
  add("stopped", job(2), definition(), many, StudyState::interrupted);
  const auto same = named_donor(*store_, "stopped", own, job(2), {"job"});
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ(same->caveat, "");
  EXPECT_EQ(same->donor.evaluations.size(), 5u);
  const auto other = named_donor(*store_, "stopped", own, job(2), {"job", "--big"});
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->caveat, "its command is another one: job");
  ASSERT_EQ(other->donor.evaluations.size(), kReplayedSettings) << "seeds, and no mean";
  EXPECT_EQ(other->donor.evaluations[0].params, (Params{{"X", std::int64_t{5}}}));
  EXPECT_THAT(refusal("stopped", definition()), HasSubstr("--from"));
  EXPECT_LT(kReplayedSettings, kLeastTransferValues);
}

TEST_F(DonorSource, OfAChangedScriptOnlyTheBestSettingsAreTried) {
  const std::vector<Measured> many{{1, 50}, {3, 30}, {5, 10}, {7, 20}, {9, 40}};
  auto before = definition("X=int:1..9", "report"), now = before;
  before.files = {{"/train.py", "f1", true}, {"/a.cfg", "f", false}};
  now.files = {{"/train.py", "f2", true}, {"/b.cfg", "g", false}};
  add("before", job(2), before, many);
  const auto near = nearest_donor(*store_, now, job(2));
  ASSERT_TRUE(near && *near);
  EXPECT_EQ((*near)->caveat, "/train.py has changed since");
  EXPECT_EQ((*near)->donor.evaluations.size(), kReplayedSettings);
  now.goes_on = true;
  EXPECT_EQ(named_donor(*store_, "before", now, job(2), {"job"})->caveat,
            "/train.py has changed since");
  now.files = before.files;
  EXPECT_EQ(named_donor(*store_, "before", now, job(2), {"job"})->caveat, "");
}

TEST_F(DonorSource, WhatIsTakenIsKeptInTheDefinition) {
  add("earlier", job(4), definition(), trials_);
  const auto own = add("own", job(2), definition(), {{1, 50}}, StudyState::running);
  Trial first{.params = {{"X", std::int64_t{1}}}, .outcome = {}};
  first.outcome.state = TrialState::complete;
  first.outcome.metrics = {{"iteration_ns", {50}}};
  const auto taken = take_donor(*store_, own.id, first);
  ASSERT_TRUE(taken && *taken);
  EXPECT_EQ((*taken)->donor.study, "earlier");
  auto kept = study_definition_from_json(store_->study("own")->definition);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(kept->donor, (*taken)->donor);
  kept->donor.reset();
  EXPECT_EQ(*kept, definition());
}

TEST_F(DonorSource, NothingIsTakenUnasked) {
  add("earlier", job(2), definition(), trials_);
  Trial failed{.params = {{"X", std::int64_t{1}}}, .outcome = {}};
  failed.outcome.state = TrialState::failed;
  Trial first = failed;
  first.outcome.state = TrialState::complete;
  first.outcome.metrics = {{"iteration_ns", {50}}};
  auto unwanted = definition();
  unwanted.transfer.reset();
  const auto own = add("own", job(2), unwanted, {}, StudyState::running);
  const auto none = take_donor(*store_, own.id, first);
  EXPECT_TRUE(none && !*none);
  // A first trial that failed does not determine the meaning of "auto".
  const auto other = add("other", job(2), definition(), {}, StudyState::running);
  const auto open = take_donor(*store_, other.id, failed);
  EXPECT_TRUE(open && !*open);
  EXPECT_EQ(store_->study("other")->definition, to_json(definition()));
}

TEST_F(DonorSource, PassesOnWhateverTheStoreRefuses) {
  add("earlier", job(2), definition(), trials_);
  const auto own = add("own", job(2), definition(), {}, StudyState::running);
  Trial first{.params = {{"X", std::int64_t{1}}}, .outcome = {}};
  first.outcome.state = TrialState::complete;
  first.outcome.metrics = {{"iteration_ns", {50}}};
  for (int call = 1; call <= 8; ++call) {
    SCOPED_TRACE(call);
    FaultyStore faulty(*store_, call);
    const auto taken = take_donor(faulty, own.id, first);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error(), FaultyStore::fault());
    EXPECT_EQ(store_->study("own")->definition, to_json(definition()));
  }
  FaultyStore late(*store_, 9);
  EXPECT_TRUE(take_donor(late, own.id, first));
}

}  // namespace
}  // namespace hocket
