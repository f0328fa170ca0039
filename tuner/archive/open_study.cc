#include "tuner/archive/open_study.h"

#include <algorithm>
#include <utility>

#include "tuner/archive/owner.h"
#include "tuner/archive/study_job.h"
#include "tuner/shell_text.h"

namespace hocket {
namespace {

Result<StudyRow> find_study(Store& store, const std::string& name) {
  if (!name.empty()) return store.study(name);
  auto latest = store.latest_unfinished_study();
  if (!latest) return failure(latest.error());
  if (*latest) return std::move(**latest);
  return failure(ErrorCode::not_found,
                 "there is no unfinished study to resume; `hocket studies` lists what there is");
}

Result<void> check_free(const StudyRow& study, bool take_over) {
  if (study.state == StudyState::finished) {
    return failure(ErrorCode::invalid_argument, "study " + study.name +
                                                    " is finished; `hocket best " + study.name +
                                                    "` shows what came of it");
  }
  if (study.state == StudyState::interrupted) return {};
  const OwnerState owner = owner_state(study.owner, this_host());
  if (owner == OwnerState::alive) {
    return failure(ErrorCode::invalid_argument,
                   "study " + study.name + " is being run by process " + study.owner +
                       "; wait for it, or name another study with --study");
  }
  if (owner == OwnerState::unknown && !take_over) {
    return failure(ErrorCode::invalid_argument,
                   "study " + study.name + " is run by " + study.owner +
                       ", and whether that is alive cannot be told from here; resume it there, or "
                       "add --take-over once you know that it has ended");
  }
  return {};
}

Result<void> check_command(const StudyRow& study, const std::vector<std::string>& command) {
  if (command.empty() || command == study.command) return {};
  return failure(ErrorCode::invalid_argument,
                 "study " + study.name + " tunes another command: " + shell_text(study.command) +
                     "; leave the command out to resume it");
}

}  // namespace

Result<Sweep> start_sweep(Store& store, const NewSweep& sweep) {
  const auto topology_id = store.upsert_topology(sweep.topology);
  if (!topology_id) return failure(as_bad_input(topology_id.error()));
  const auto workload_id = store.upsert_workload({.name = sweep.workload, .tensors = {}});
  if (!workload_id) return failure(as_bad_input(workload_id.error()));
  auto study = store.create_study({.name = sweep.name,
                                   .command = sweep.command,
                                   .definition = to_json(sweep.definition),
                                   .owner = owner_text(),
                                   .topology_id = *topology_id,
                                   .workload_id = *workload_id});
  if (!study) return failure(as_bad_input(study.error()));
  return Sweep{std::move(*study), sweep.definition, {}};
}

Result<Sweep> resume_sweep(Store& store, const ResumedSweep& sweep) {
  auto study = find_study(store, sweep.name);
  if (!study) return failure(study.error());
  if (auto ok = check_free(*study, sweep.take_over); !ok) return failure(ok.error());
  if (auto ok = check_command(*study, sweep.command); !ok) return failure(ok.error());
  auto definition = study_definition_from_json(study->definition);
  if (!definition) return failure(definition.error().in("study " + study->name));

  const std::string owner = owner_text();
  const auto taken = store.update_study(
      study->id, {.state = StudyState::running, .owner = owner, .expected_owner = study->owner});
  if (!taken) return failure(as_bad_input(taken.error()));
  study->owner = owner;
  study->state = StudyState::running;
  const auto removed = store.abandon_running_trials(study->id);
  if (!removed) return failure(as_bad_input(removed.error()));

  auto history = read_history(store, study->id);
  if (!history) return failure(as_bad_input(history.error().in("study " + study->name)));
  definition->objective = resolved_objective(definition->objective, *history);
  return Sweep{std::move(*study), std::move(*definition), std::move(*history)};
}

Result<FinishedTrial> finished_trial(const TrialRow& row) {
  auto params = params_from_json(row.params);
  if (!params) return failure(params.error().in("trial " + std::to_string(row.number)));
  FinishedTrial trial{row.number - 1, row.phase, std::move(*params), {}};
  trial.outcome.state = row.state;
  trial.outcome.value = row.value.value_or(0);
  trial.outcome.spread = row.spread.value_or(0);
  trial.outcome.message = row.message;
  trial.outcome.metrics = row.measurements;
  if (auto samples = trial.outcome.metrics.extract(kSamplesMetric); !samples.empty()) {
    trial.outcome.samples = std::move(samples.mapped());
  }
  if (row.state == TrialState::complete) trial.outcome.others = others_in(trial.outcome.metrics);
  return trial;
}

Result<std::vector<FinishedTrial>> read_history(Store& store, std::int64_t study_id) {
  const auto rows = store.trials(study_id, TrialDetail::with_measurements);
  if (!rows) return failure(rows.error());
  std::vector<FinishedTrial> history;
  for (const auto& row : *rows) {
    if (row.state == TrialState::running) continue;
    auto trial = finished_trial(row);
    if (!trial) return failure(trial.error());
    history.push_back(std::move(*trial));
  }
  return history;
}

StudyOptions study_options(const StudyDefinition& definition) {
  return {.space = definition.space,
          .method = definition.method,
          .seed = static_cast<std::uint64_t>(definition.seed),
          .trials = static_cast<int>(definition.trials),
          .confirm_pairs = static_cast<int>(definition.confirm_pairs),
          .stop_early = definition.stop_early,
          .end_trials_early = definition.end_trials_early,
          .objectives = 1 + definition.other_objectives.size(),
          .simulate = definition.objective.kind != ObjectiveKind::memory,
          .step = definition.step,
          .donor = definition.donor};
}

Objective resolved_objective(Objective objective, const std::vector<FinishedTrial>& history) {
  if (objective.kind != ObjectiveKind::automatic) return objective;
  const auto is_complete = [](const auto& t) { return t.outcome.state == TrialState::complete; };
  const auto first = std::find_if(history.begin(), history.end(), is_complete);
  if (first == history.end()) return objective;
  objective.kind = has_report({*first}) ? ObjectiveKind::report : ObjectiveKind::wall;
  return objective;
}

bool has_report(const std::vector<FinishedTrial>& trials) {
  return std::any_of(trials.begin(), trials.end(), [](const auto& trial) {
    return trial.outcome.metrics.contains("iteration_ns");
  });
}

}  // namespace hocket
