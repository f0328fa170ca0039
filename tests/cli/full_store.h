#pragma once

// A store with rows in every table, as jobs, studies and operators leave them, whose free texts
// have a given end. One thread.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "archive/studies/open_study.h"
#include "archive/studies/study_result.h"
#include "store/sqlite/connection.h"
#include "tests/archive/profiles/profiled_job.h"
#include "tests/store/fixtures.h"
#include "tuner/space/parameter_syntax.h"

namespace hocket {

/// The tables are filled in two rounds, of "one" and "two".
class FullStore {
 public:
  explicit FullStore(std::string end = {}) : end_(std::move(end)) {
    for (const std::string round : {"one", "two"}) add_round(round);
    const auto gone = must(job_.store->create_study(sample_study("gone")));
    must(job_.store->remove_study(gone.id, gone.owner, "remover" + end_));
    job_.store.reset();
  }

  const std::string& path() const { return job_.path; }
  const TemporaryFolder& folder() const { return job_.folder; }

  /// Runs SQL on the file.
  static void change(const std::string& path, const std::string& sql) {
    auto db = must(sqlite::Connection::open(path, sqlite::Connection::Mode::create, 5000));
    must(db.execute_script(sql.c_str()));
  }

  static Topology topology(const std::string& round, const std::string& end) {
    Topology topology = sample_topology(round == "one" ? 2 : 4);
    topology.cpu_model = "CPU " + round + end;
    topology.library_versions = {{"gloo" + end, "1" + end}};
    return topology;
  }
  static Workload workload(const std::string& round, const std::string& end) {
    return {.name = "work-" + round + end,
            .tensors = {{"tensor" + end, 1024}},
            .program = "/data/" + round + end,
            .parameters = {{"CHOICE", "choice"}}};
  }

 private:
  void add_round(const std::string& round) {
    Store& store = *job_.store;
    const auto topology_id = must(store.upsert_topology(topology(round, end_)));
    const auto workload_id = must(store.upsert_workload(workload(round, end_)));
    const Parameter choice{
        .name = "CHOICE", .domain = Choices{{"a" + end_, "b" + end_}}, .default_value = "a" + end_};
    const StudyDefinition definition{.space = must(Space::make({choice})),
                                     .objective = must(parse_objective("wall")),
                                     .trials = 4,
                                     .working_directory = "/"};
    const auto study = must(store.create_study({.name = "study-" + round,
                                                .command = {"train" + end_, "--x=" + round + end_},
                                                .definition = to_json(definition),
                                                .owner = "1@" + round + end_,
                                                .topology_id = topology_id,
                                                .workload_id = workload_id}));
    for (const double value : {3e9, 2e9}) {
      const std::string chosen = (value > 2e9 ? "a" : "b") + end_;
      const auto trial = must(store.start_trial({.study_id = study.id,
                                                 .params = {{"CHOICE", chosen}},
                                                 .worker = "worker-" + round + end_}));
      TrialOutcome outcome = sample_result(value);
      outcome.message = "message" + end_;
      outcome.metrics["metric" + end_] = {1, 2};
      outcome.output = {"printed" + end_ + "\n", "complained" + end_ + "\n"};
      must(store.finish_trial(trial.id, outcome));
    }
    const auto failed =
        must(store.start_trial({.study_id = study.id, .params = {{"CHOICE", "b" + end_}}}));
    TrialOutcome failure;
    failure.state = TrialState::failed;
    failure.message = "failed" + end_;
    must(store.finish_trial(failed.id, failure));
    (void)must(store.start_trial(
        {.study_id = study.id, .params = {{"CHOICE", "a" + end_}}, .is_offered = true}));
    (void)must(store.claim_trial(
        study.id, {.worker = "w-" + round, .host = "host" + end_, .lease_ns = 1'000'000'000'000}));
    StudyResult result;
    result.default_params = {.params = {{"CHOICE", "a" + end_}}, .value = 3e9};
    result.best = {.params = {{"CHOICE", "b" + end_}}, .value = 2e9};
    result.promoted = true;
    result.gain = 0.3;
    result.reason = "faster" + end_;
    result.stopped = "enough" + end_;
    must(store.update_study(study.id, {.state = StudyState::finished, .result = to_json(result)}));
    for (const auto origin : {PromotionOrigin::study, PromotionOrigin::push}) {
      (void)must(store.promote({.topology_id = topology_id,
                                .workload_id = workload_id,
                                .study_id = study.id,
                                .config = {{"CHOICE", "b" + end_}},
                                .measured = MeasuredGain{2, 3, 0.3},
                                .origin = origin,
                                .actor = "actor-" + round + end_,
                                .note = "note" + end_}));
    }
    must(store.set_key_state(topology_id, workload_id, {.pinned = true}, "pinner" + end_));
    must(store.quarantine({.topology_id = topology_id,
                           .workload_id = workload_id,
                           .config = {{"CHOICE", "x" + end_}},
                           .reason = "slow" + end_,
                           .actor = "daemon" + end_}));
    must(store.record_audit({.actor = "auditor-" + round + end_,
                             .action = "act" + end_,
                             .subject = "subject" + end_,
                             .detail = {{"why" + end_, "because" + end_}}}));
    (void)must(store.request_profile({.job = "job" + end_, .iterations = 3, .actor = "me" + end_}));
    auto traces = ProfiledJob::traces();
    for (SimulatedTrace& each : traces) {
      each.trace.host = "host-" + round + end_;
      for (std::string& name : each.trace.names) name += end_;
    }
    ProfileToSave save{.folder = must(create_profile_folder(store, job_.path, "job-" + round)),
                       .ranks = {}};
    save.topology_id = topology_id;
    save.workload_id = workload_id;
    save.config = {{"order", "fifo"}};
    for (const SimulatedTrace& each : traces) save.ranks.push_back({each.trace});
    const auto profile = must(save_profile(store, job_.path, std::move(save)));
    must(store.keep_profile(profile.id, true));
  }

  const std::string end_;
  ProfiledJob job_;
};

}  // namespace hocket
