// Tests topologies, workloads, studies, trials and promotions in the store.

#include "store/store.h"
#include <nlohmann/json.hpp>

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>
#include <thread>

#include "store/open.h"
#include "tests/store/fixtures.h"
#include "tests/store/store_fixture.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using StoreTest = StoreFixture;

std::vector<std::string> names_of(const auto& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.push_back(row.name);
  return names;
}

TEST_F(StoreTest, KeepsOneTopologyAFingerprint) {
  const auto two = must(store_->upsert_topology(sample_topology(2)));
  const auto four = must(store_->upsert_topology(sample_topology(4)));
  EXPECT_NE(two, four);
  EXPECT_EQ(must(store_->upsert_topology(sample_topology(2))), two);

  const auto rows = must(store_->topologies());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].id, two);
  EXPECT_EQ(rows[0].fingerprint, fingerprint(sample_topology(2)));
  EXPECT_EQ(rows[0].name, readable_name(sample_topology(2)));
  EXPECT_EQ(must(topology_from_json(rows[0].document)), sample_topology(2));
}

TEST_F(StoreTest, SelectsWorkloadsByNameAndFingerprintPrefix) {
  const Workload small = sample_workload("gpt2", 1), large = sample_workload("gpt2", 2),
                 other = sample_workload("resnet", 1);
  for (const auto& workload : {small, large, other, small}) must(store_->upsert_workload(workload));

  EXPECT_THAT(names_of(must(store_->workloads(""))), ElementsAre("gpt2", "gpt2", "resnet"));
  EXPECT_EQ(must(store_->workloads("gpt2")).size(), 2u);
  EXPECT_THAT(must(store_->workloads("gpt")), IsEmpty()) << "a name matches as a whole";
  const auto found = must(store_->workloads(fingerprint(large).substr(0, 12)));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(must(workload_from_json(found[0].document)), large);
}

TEST_F(StoreTest, CreatesAStudyAsAsked) {
  NewStudy wanted = sample_study("sweep-a");
  wanted.topology_id = must(store_->upsert_topology(sample_topology()));
  wanted.workload_id = must(store_->upsert_workload(sample_workload()));
  now_ns_ = 77;
  const StudyRow row = must(store_->create_study(wanted));
  EXPECT_EQ(row.name, "sweep-a");
  EXPECT_EQ(row.command, wanted.command);
  EXPECT_EQ(row.definition, wanted.definition);
  EXPECT_EQ(row.state, StudyState::running);
  EXPECT_EQ(row.owner, "host:1");
  EXPECT_EQ(row.topology_id, wanted.topology_id);
  EXPECT_EQ(row.workload_id, wanted.workload_id);
  EXPECT_EQ(row.created_at_ns, 77);
  EXPECT_EQ(row.updated_at_ns, 77);
  EXPECT_TRUE(row.result.is_null());
  EXPECT_THAT(must(store_->studies()), ElementsAre(row));
}

TEST_F(StoreTest, GeneratesReadableNames) {
  const auto name = [&](const std::vector<std::string>& command,
                        std::optional<std::int64_t> workload_id = {}) {
    NewStudy study;
    study.command = command;
    study.workload_id = workload_id;
    return must(store_->create_study(study)).name;
  };
  EXPECT_EQ(name({"/opt/x/train.py", "a"}), "train.py-1");
  EXPECT_EQ(name({"train"}, must(store_->upsert_workload(sample_workload("gpt2 6x256")))),
            "gpt2-6x256-2");
  EXPECT_EQ(name({}), "study-3");
  EXPECT_EQ(name({"/bin/"}), "study-4");
  EXPECT_EQ(name({"--\x01\n"}), "study-5");
  EXPECT_EQ(name({std::string(500, 'x')}), std::string(60, 'x') + "-6");
  must(store_->create_study(sample_study("train-8")));
  EXPECT_EQ(name({"train"}), "train-9") << "train-8 is taken";
  EXPECT_EQ(name({"train"}), "train-10");
}

TEST_F(StoreTest, RefusesBadAndTakenStudyNames) {
  for (const std::string name :
       {"-a", "12", "a b", "a/b", "\xc3\xa9", "a\n", ".", "..", "...", "\x1b[1m", "../a"}) {
    const auto made = store_->create_study(sample_study(name));
    EXPECT_EQ(code_of(made), ErrorCode::invalid_argument) << name;
    EXPECT_THAT(message_of(made), HasSubstr("1 to 100 letters"));
  }
  EXPECT_FALSE(store_->create_study(sample_study(std::string(101, 'a'))));
  EXPECT_THAT(must(store_->studies()), IsEmpty());

  for (const std::string name : {"a", "_1", "1.5", "A-b_c.d", "7x"}) {
    must(store_->create_study(sample_study(name)));
    const auto again = store_->create_study(sample_study(name));
    EXPECT_EQ(code_of(again), ErrorCode::invalid_argument);
    EXPECT_THAT(message_of(again), HasSubstr("\"" + name + "\" exists already"));
  }
  EXPECT_EQ(must(store_->studies()).size(), 5u);
}

TEST_F(StoreTest, FindsAStudyByNameAndById) {
  const auto a = must(store_->create_study(sample_study("a")));
  const auto b = must(store_->create_study(sample_study("b")));
  EXPECT_EQ(must(store_->study("a")), a);
  EXPECT_EQ(must(store_->study(std::to_string(b.id))), b);
  for (const std::string name : {"c", "", "99", "-1", "1x", "99999999999999999999", "' OR 1 --"}) {
    EXPECT_EQ(code_of(store_->study(name)), ErrorCode::not_found) << name;
  }
  EXPECT_THAT(message_of(store_->study("c")), HasSubstr("`hocket studies`"));
}

TEST_F(StoreTest, UnknownReferencesAreNotFound) {
  const std::int64_t topology = must(store_->upsert_topology(sample_topology()));
  const std::int64_t workload = must(store_->upsert_workload(sample_workload()));
  const std::int64_t study = new_study().id;
  NewStudy bad = sample_study("bad");
  bad.topology_id = 99;
  EXPECT_EQ(code_of(store_->create_study(bad)), ErrorCode::not_found);
  bad.topology_id.reset();
  bad.workload_id = 99;
  EXPECT_EQ(code_of(store_->create_study(bad)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store_->update_study(study, {.topology_id = 99})), ErrorCode::not_found);
  EXPECT_EQ(code_of(store_->update_study(study, {.workload_id = 99})), ErrorCode::not_found);
  EXPECT_EQ(code_of(store_->update_study(99, {})), ErrorCode::not_found);
  EXPECT_EQ(code_of(store_->start_trial({99, {}, nlohmann::json::object()})), ErrorCode::not_found);
  EXPECT_EQ(code_of(store_->finish_trial(99, sample_result(1))), ErrorCode::not_found);
  EXPECT_EQ(code_of(store_->abandon_running_trials(99)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store_->trials(99, TrialDetail::summary)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store_->promote({99, workload, study})), ErrorCode::not_found);
  EXPECT_EQ(code_of(store_->promote({topology, 99, study})), ErrorCode::not_found);
  EXPECT_EQ(code_of(store_->promote({topology, workload, 99})), ErrorCode::not_found);
  EXPECT_EQ(must(store_->studies()).size(), 1u);
  EXPECT_THAT(must(store_->promotions({})), IsEmpty());
}

TEST_F(StoreTest, AnUpdateChangesWhatItNames) {
  StudyRow expected = new_study();
  const StudyRow other = must(store_->create_study(sample_study("other")));
  const auto update = [&](const StudyUpdate& change) {
    expected.updated_at_ns = ++now_ns_;
    must(store_->update_study(expected.id, change));
    EXPECT_EQ(must(store_->study(expected.name)), expected);
  };
  expected.state = StudyState::interrupted;
  update({.state = StudyState::interrupted});
  expected.owner = "host:2";
  update({.owner = "host:2"});
  expected.definition = {{"seed", 8}};
  update({.definition = expected.definition});
  expected.result = {{"best", 1.5}};
  update({.result = expected.result});
  expected.topology_id = must(store_->upsert_topology(sample_topology()));
  update({.topology_id = expected.topology_id});
  expected.workload_id = must(store_->upsert_workload(sample_workload()));
  update({.workload_id = expected.workload_id});
  update({});
  EXPECT_EQ(must(store_->study("other")), other);
}

TEST_F(StoreTest, OnlyTheExpectedOwnerCanBeReplaced) {
  const auto study = new_study();
  must(store_->update_study(study.id, {.owner = "b", .expected_owner = "host:1"}));
  const auto late = store_->update_study(study.id, {.owner = "c", .expected_owner = "host:1"});
  EXPECT_EQ(code_of(late), ErrorCode::unavailable);
  EXPECT_THAT(message_of(late), HasSubstr("taken over by \"b\""));
  EXPECT_EQ(must(store_->study(study.name)).owner, "b");
}

TEST_F(StoreTest, FindsTheLatestUnfinishedStudy) {
  EXPECT_EQ(must(store_->latest_unfinished_study()), std::nullopt);
  const auto a = must(store_->create_study(sample_study("a")));
  const auto b = must(store_->create_study(sample_study("b")));
  const auto c = must(store_->create_study(sample_study("c")));
  must(store_->update_study(c.id, {.state = StudyState::finished}));
  EXPECT_EQ(must(store_->latest_unfinished_study())->name, "b");
  must(store_->update_study(b.id, {.state = StudyState::interrupted}));
  EXPECT_EQ(must(store_->latest_unfinished_study())->name, "b");
  must(store_->update_study(b.id, {.state = StudyState::finished}));
  EXPECT_EQ(must(store_->latest_unfinished_study())->name, "a");
  must(store_->update_study(a.id, {.state = StudyState::finished}));
  EXPECT_EQ(must(store_->latest_unfinished_study()), std::nullopt);
}

TEST_F(StoreTest, TheLatestUnfinishedStudyIsNotOneFromElsewhere) {
  const auto own = must(store_->create_study(sample_study("own")));
  for (const StudyOrigin origin : {StudyOrigin::http, StudyOrigin::live}) {
    NewStudy other = sample_study(std::string(to_string(origin)));
    other.origin = origin;
    EXPECT_EQ(must(store_->create_study(other)).origin, origin);
    EXPECT_EQ(must(store_->latest_unfinished_study()), own);
  }
  must(store_->update_study(own.id, {.state = StudyState::finished}));
  EXPECT_EQ(must(store_->latest_unfinished_study()), std::nullopt);
}

TEST_F(StoreTest, NumbersTrialsWithinTheirStudy) {
  const auto a = new_study(), b = new_study();
  now_ns_ = 5;
  const auto first = must(store_->start_trial({a.id, TrialPhase::search, {{"x", 1}}}));
  EXPECT_EQ(first.number, 1);
  EXPECT_EQ(first.study_id, a.id);
  EXPECT_EQ(first.phase, TrialPhase::search);
  EXPECT_EQ(first.state, TrialState::running);
  EXPECT_EQ(first.params, nlohmann::json({{"x", 1}}));
  EXPECT_EQ(first.started_at_ns, 5);
  EXPECT_EQ(first.finished_at_ns, std::nullopt);
  EXPECT_EQ(new_trial(b.id).number, 1);
  const auto second = must(store_->start_trial({a.id, TrialPhase::confirm, {{"x", 2.5}}}));
  EXPECT_EQ(second.number, 2);
  EXPECT_THAT(must(store_->trials(a.id, TrialDetail::summary)), ElementsAre(first, second));
  EXPECT_EQ(must(store_->study(a.name)).updated_at_ns, 5);
}

TEST_F(StoreTest, KeepsEveryMeasurementExactly) {
  const auto study = new_study();
  TrialRow expected = new_trial(study.id);
  TrialOutcome result = sample_result(0.1);
  result.metrics["b"] = {0.1, 0.1, 1e308, 5e-324, -3, 9007199254740993.0, 1.0 / 3};
  result.metrics[""] = {1};
  result.message = std::string("any\0bytes \xff\n", 13);
  now_ns_ = 99;
  must(store_->finish_trial(expected.id, result));
  expected.state = TrialState::complete;
  expected.value = result.value;
  expected.spread = result.spread;
  expected.message = result.message;
  expected.finished_at_ns = 99;
  expected.measurements = result.metrics;
  EXPECT_EQ(trial(expected), expected);
  EXPECT_EQ(must(store_->study(study.name)).updated_at_ns, 99);
  EXPECT_THAT(must(store_->trials(study.id, TrialDetail::summary))[0].measurements, IsEmpty());
}

TEST_F(StoreTest, DropsMetricsWithoutValues) {
  const auto row = new_trial(new_study().id);
  TrialOutcome result{.metrics = {{"empty", {}}, {"full", {1}}}, .message = "exit status 1"};
  must(store_->finish_trial(row.id, result));
  EXPECT_EQ(trial(row).measurements, (Measurements{{"full", {1}}}));
  EXPECT_EQ(trial(row).value, std::nullopt);
  EXPECT_TRUE(store_->finish_trial(row.id, result)) << "the same is still the same";
}

TEST_F(StoreTest, EndingATrialTwiceAlikeIsHarmlessAndOtherwiseRefused) {
  const auto row = new_trial(new_study().id);
  const TrialOutcome told = sample_result(10);
  must(store_->finish_trial(row.id, told));
  const TrialRow stored = trial(row);
  now_ns_ += 1000;
  EXPECT_TRUE(store_->finish_trial(row.id, told));
  EXPECT_EQ(trial(row), stored);

  std::vector<TrialOutcome> others(7, told);
  others[0].state = TrialState::failed;
  others[1].value = 11;
  others[2].spread.reset();
  others[3].message = "x";
  others[4].metrics["wall_ns"].push_back(1);
  others[5].metrics.erase("exposed_ns");
  others[6].metrics["new"] = {1};
  for (const auto& other : others) {
    const auto again = store_->finish_trial(row.id, other);
    EXPECT_EQ(code_of(again), ErrorCode::invalid_argument);
    EXPECT_THAT(message_of(again), HasSubstr("trial 1 has already ended as complete"));
    EXPECT_EQ(trial(row), stored);
  }
}

TEST_F(StoreTest, KeepsTheOutputOfTheNewestTrials) {
  const auto study = new_study();
  const auto silent = new_trial(study.id), first = new_trial(study.id);
  must(store_->finish_trial(silent.id, sample_result(1)));
  TrialOutcome result = sample_result(1);
  result.output = {std::string("any\0bytes \xff\n", 13), "warning\n"};
  must(store_->finish_trial(first.id, result));
  EXPECT_EQ(must(store_->trial_output(first.id)), result.output);
  EXPECT_EQ(must(store_->trial_output(silent.id)), std::nullopt);
  EXPECT_EQ(must(store_->trial_output(99)), std::nullopt);
  EXPECT_TRUE(store_->finish_trial(first.id, sample_result(1))) << "the output is not compared";

  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < kMostTrialOutputs; ++i) {
    ids.push_back(new_trial(study.id).id);
    result.output.stdout_text = std::to_string(i);
    must(store_->finish_trial(ids.back(), result));
  }
  EXPECT_EQ(must(store_->trial_output(first.id)), std::nullopt);
  EXPECT_EQ(must(store_->trial_output(ids.front()))->stdout_text, "0");
  EXPECT_EQ(must(store_->trial_output(ids.back()))->stdout_text,
            std::to_string(kMostTrialOutputs - 1));
}

TEST_F(StoreTest, RefusesResultsThatAreNone) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  const auto row = new_trial(new_study().id);
  std::vector<TrialOutcome> bad(7, sample_result(1));
  bad[0].state = TrialState::running;
  bad[1].value.reset();
  bad[2].value = nan;
  bad[3].value = -infinity;
  bad[4].spread = nan;
  bad[5].metrics["m"] = {1, nan};
  bad[6].metrics["m"] = {infinity};
  for (const auto& result : bad) {
    EXPECT_EQ(code_of(store_->finish_trial(row.id, result)), ErrorCode::invalid_argument);
  }
  EXPECT_THAT(message_of(store_->finish_trial(row.id, bad[5])),
              HasSubstr("measurement 1 of \"m\""));
  EXPECT_EQ(trial(row), row);
}

TEST_F(StoreTest, AbandoningRemovesTheRunningTrialsOfOneStudy) {
  const auto a = new_study(), b = new_study();
  const auto done = new_trial(a.id), gone = new_trial(a.id), other = new_trial(b.id);
  must(store_->finish_trial(done.id, sample_result(1)));
  EXPECT_EQ(must(store_->abandon_running_trials(a.id)), 1);
  EXPECT_EQ(must(store_->abandon_running_trials(a.id)), 0);
  EXPECT_EQ(must(store_->trials(a.id, TrialDetail::summary)).size(), 1u);
  EXPECT_EQ(must(store_->trials(b.id, TrialDetail::summary)).size(), 1u);

  const auto next = new_trial(a.id);
  EXPECT_EQ(next.number, gone.number);
  EXPECT_GT(next.id, other.id) << "a late result must not reach another trial";
  EXPECT_EQ(code_of(store_->finish_trial(gone.id, sample_result(1))), ErrorCode::not_found);
}

TEST_F(StoreTest, TheIdOfARemovedNewestTrialIsNotUsedAgain) {
  const auto study = new_study();
  const auto gone = new_trial(study.id);
  must(store_->abandon_running_trials(study.id));
  EXPECT_NE(new_trial(study.id).id, gone.id);
}

TEST_F(StoreTest, RefusesJsonThatCannotBeKept) {
  nlohmann::json deep = nlohmann::json::object();
  for (int i = 0; i < 70; ++i) deep = {{"x", deep}};
  const auto study = new_study();
  const auto topology = must(store_->upsert_topology(sample_topology()));
  const auto workload = must(store_->upsert_workload(sample_workload()));
  for (const nlohmann::json& bad : std::vector<nlohmann::json>{nullptr,
                                                               nlohmann::json::array(),
                                                               7,
                                                               {{"x", std::nan("")}},
                                                               {{"x", "\xff"}},
                                                               {{"\xff", 1}},
                                                               {{"x", nlohmann::json::binary({1})}},
                                                               deep}) {
    NewStudy other = sample_study("other");
    other.definition = bad;
    EXPECT_EQ(code_of(store_->create_study(other)), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(store_->update_study(study.id, {.result = bad})),
              ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(store_->update_study(study.id, {.definition = bad})),
              ErrorCode::invalid_argument);
    const auto started = store_->start_trial({study.id, {}, bad});
    EXPECT_EQ(code_of(started), ErrorCode::invalid_argument);
    message_of(started);
    EXPECT_EQ(code_of(store_->promote({topology, workload, study.id, bad})),
              ErrorCode::invalid_argument);
  }
  NewStudy other = sample_study("other");
  other.command = {"train", "\xff"};
  EXPECT_EQ(code_of(store_->create_study(other)), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(store_->upsert_workload(sample_workload("\xff"))), ErrorCode::invalid_argument);
  EXPECT_EQ(must(store_->studies()), std::vector{study});
  EXPECT_THAT(must(store_->trials(study.id, TrialDetail::summary)), IsEmpty());
}

TEST_F(StoreTest, TheLatestPromotionIsCurrentAndEarlierOnesStay) {
  const auto topology = must(store_->upsert_topology(sample_topology(2)));
  const auto elsewhere = must(store_->upsert_topology(sample_topology(4)));
  const auto workload = must(store_->upsert_workload(sample_workload()));
  const auto study = new_study().id, later = new_study().id;
  const std::string here = fingerprint(sample_topology(2)), key = fingerprint(sample_workload());
  EXPECT_EQ(must(store_->current_promotion(here, key)), std::nullopt);

  now_ns_ = 500;
  const auto a = must(
      store_->promote({topology, workload, study, {{"streams", 1}}, MeasuredGain{9, 10, 0.1}}));
  const auto b = must(
      store_->promote({elsewhere, workload, study, {{"streams", 2}}, MeasuredGain{8, 10, 0.2}}));
  now_ns_ = 400;  // the wall clock was set back
  const auto c = must(
      store_->promote({topology, workload, later, {{"streams", 3}}, MeasuredGain{7, 10, 0.3}}));
  EXPECT_EQ(a.promoted_at_ns, 500);
  EXPECT_EQ(a.config, nlohmann::json({{"streams", 1}}));
  EXPECT_EQ(a.measured, (MeasuredGain{9, 10, 0.1}));

  EXPECT_EQ(must(store_->current_promotion(here, key)), c);
  EXPECT_EQ(must(store_->current_promotion(fingerprint(sample_topology(4)), key)), b);
  EXPECT_EQ(must(store_->current_promotion(here, "")), std::nullopt);
  EXPECT_EQ(must(store_->current_promotion(key, here)), std::nullopt);
  EXPECT_THAT(must(store_->promotions({})), ElementsAre(a, b, c));
  EXPECT_THAT(must(store_->promotions({.topology_id = topology})), ElementsAre(a, c));
  EXPECT_THAT(must(store_->promotions({.study_id = study})), ElementsAre(a, b));
  EXPECT_THAT(must(store_->promotions({.topology_id = topology, .study_id = study})),
              ElementsAre(a));
  EXPECT_THAT(must(store_->promotions({.workload_id = 99})), IsEmpty());

  const double nan = std::nan("");
  for (const MeasuredGain& bad : {MeasuredGain{nan, 1, 1}, {1, nan, 1}, {1, 1, nan}}) {
    EXPECT_THAT(message_of(store_->promote({topology, workload, study, {{"x", 1}}, bad})),
                HasSubstr("must be a finite number"));
  }
}

/// Some threads start and finish trials in `store` at once.
void share_among_threads(Store& store) {
  constexpr int kThreads = 4, kTrials = 10;
  const auto study = must(store.create_study(sample_study()));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kTrials; ++i) {
        const auto trial = store.start_trial({study.id, {}, nlohmann::json::object()});
        ASSERT_TRUE(trial);
        EXPECT_TRUE(store.finish_trial(trial->id, sample_result(i)));
        EXPECT_TRUE(store.trials(study.id, TrialDetail::with_measurements));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  const auto trials = must(store.trials(study.id, TrialDetail::summary));
  ASSERT_EQ(trials.size(), static_cast<std::size_t>(kThreads * kTrials));
  for (std::size_t i = 0; i < trials.size(); ++i) {
    EXPECT_EQ(trials[i].number, static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(trials[i].state, TrialState::complete);
  }
}

TEST_F(StoreTest, ThreadsShareAStore) {
  share_among_threads(*store_);
  share_among_threads(*open_store_in_memory());
}

TEST_F(StoreTest, TextIsUtf8WithoutNul) {
  const std::string nul("a\0b", 3);
  const auto study = new_study();
  NewStudy owned = sample_study("owned");
  owned.owner = nul;
  EXPECT_THAT(message_of(store_->create_study(owned)), HasSubstr("holds a byte of zero"));
  for (const std::string& bad : {nul, std::string("\xff")}) {
    EXPECT_EQ(code_of(store_->update_study(study.id, {.owner = bad})), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(store_->start_trial({study.id, {}, {{"x", 1}}, bad})),
              ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(store_->upsert_workload(sample_workload(bad))), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(store_->record_audit({bad, "a", "s"})), ErrorCode::invalid_argument);
    // A name that cannot be stored is not found.
    EXPECT_EQ(code_of(store_->study(bad)), ErrorCode::not_found);
    EXPECT_EQ(code_of(store_->profile(bad)), ErrorCode::not_found);
    EXPECT_EQ(must(store_->current_promotion(bad, "x")), std::nullopt);
    EXPECT_EQ(must(store_->staged_promotion("x", bad)), std::nullopt);
    EXPECT_EQ(must(store_->key_state(bad, bad)), KeyState());
    EXPECT_THAT(must(store_->promotions({.key = ConfigKey{bad, bad}})), IsEmpty());
    EXPECT_THAT(must(store_->audit({.subject = bad})), IsEmpty());
    EXPECT_EQ(code_of(store_->remove_study(study.id, bad, "ada")), ErrorCode::unavailable);
  }
  // JSON escapes it.
  const auto trial = must(store_->start_trial({study.id, {}, {{"x", nul}}}));
  EXPECT_EQ(must(store_->trials(study.id, TrialDetail::summary)).front().params,
            nlohmann::json({{"x", nul}}));
  EXPECT_EQ(trial.params, nlohmann::json({{"x", nul}}));
}

TEST_F(StoreTest, AKeyIsClaimedOnceAtATime) {
  const auto topology = must(store_->upsert_topology(sample_topology()));
  const auto workload = must(store_->upsert_workload(sample_workload()));
  const auto other = must(store_->upsert_workload(sample_workload("other")));
  auto claim = must(store_->claim_key(topology, workload));
  ASSERT_TRUE(claim);
  EXPECT_TRUE(claim->is_held());
  EXPECT_EQ(must(store_->claim_key(topology, workload)), nullptr);
  const auto another = must(store_->claim_key(topology, other));
  EXPECT_TRUE(another);
  claim.reset();
  EXPECT_TRUE(must(store_->claim_key(topology, workload)));
  EXPECT_TRUE(another->is_held());
  EXPECT_EQ(code_of(store_->claim_key(topology, 99)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store_->claim_key(99, workload)), ErrorCode::not_found);
}

TEST_F(StoreTest, ALeaseWithoutEndIsThatOfTheLastTime) {
  const auto study = new_study();
  constexpr auto kEver = std::numeric_limits<std::int64_t>::max();
  const auto row = must(store_->start_trial({study.id, {}, {{"x", 1}}, "w", kEver}));
  EXPECT_EQ(row.lease_until_ns, kEver);
  EXPECT_EQ(must(store_->expire_leases(study.id)), 0);
}

TEST(StudyStates, HaveTheWordsOfTheJsonOutput) {
  EXPECT_EQ(to_string(StudyState::running), "running");
  EXPECT_EQ(to_string(StudyState::finished), "finished");
  EXPECT_EQ(to_string(StudyState::interrupted), "interrupted");
}

}  // namespace
}  // namespace hocket
