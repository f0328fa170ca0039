#include "archive/studies/open_study.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "archive/studies/command_files.h"
#include "archive/studies/owner.h"
#include "archive/studies/study_job.h"
#include "archive/studies/study_result.h"
#include "archive/studies/told_trial.h"
#include "core/base/text.h"

namespace hocket {
namespace {

/// Most studies that a message names.
constexpr std::size_t kNamedStudies = 5;

Error nothing_to_resume() {
  return {ErrorCode::not_found,
          "there is no unfinished study to resume; `hocket studies` lists what there is"};
}

/// Says which studies of other hosts there are, the newest first.
Error only_of_others(const std::vector<StudyRow>& others, const std::string& host) {
  std::string names;
  for (std::size_t i = 0; i < std::min(others.size(), kNamedStudies); ++i) {
    const std::string_view where = owner_host(others[i].owner);
    names += (i == 0 ? "" : ", ") + others[i].name;
    if (!where.empty()) names.append(" (on ").append(where).append(")");
  }
  if (others.size() > kNamedStudies) {
    names += " and " + std::to_string(others.size() - kNamedStudies) + " more";
  }
  return {ErrorCode::not_found, "no unfinished study in this store was run on this host, " + host +
                                    "; there " + (others.size() == 1 ? "is " : "are ") + names +
                                    "; to go on with one of them, name it with --study"};
}

/// Returns the latest unfinished study of `hocket tune` that was run on this host.
Result<StudyRow> latest_of_this_host(Store& store) {
  UnreadRows unread;
  auto studies = store.studies(&unread);
  HOCKET_TRY(studies);
  std::ranges::reverse(*studies);
  std::erase_if(*studies, [](const StudyRow& study) {
    return study.state == StudyState::finished || study.origin != StudyOrigin::tune;
  });
  const std::string host = this_host().name;
  for (StudyRow& study : *studies) {
    if (owner_host(study.owner) == host) return std::move(study);
  }
  return failure(studies->empty() ? nothing_to_resume() : only_of_others(*studies, host));
}

Result<StudyRow> find_study(Store& store, const StudyToResume& wanted) {
  if (!wanted.name.empty()) return store.study(wanted.name);
  if (wanted.is_shared) return latest_of_this_host(store);
  auto latest = store.latest_unfinished_study();
  HOCKET_TRY(latest);
  if (*latest) return std::move(**latest);
  return failure(nothing_to_resume());
}

/// The command of such a study was sent to the daemon; running it would give whoever sent it the
/// rights of this user.
Result<void> check_origin(const StudyRow& study) {
  if (study.origin == StudyOrigin::tune) return {};
  const std::string runner = study.origin == StudyOrigin::http
                                 ? "came to the daemon over HTTP and is run by its workers"
                                 : "is the daemon's own, for live tuning";
  return failure(ErrorCode::invalid_argument,
                 "study " + study.name + " " + runner +
                     "; `hocket tune` runs only studies that it started itself: start a new one");
}

/// Returns why a finished study ended, as its result says; empty if it has none.
std::string end_reason(const StudyRow& study) {
  const auto result = study_result_from_json(study.result);
  if (!result) return {};
  // A failed default is the whole reason.
  if (!result->best.value) return ": " + result->reason;
  const std::string early =
      result->stopped.empty() ? "" : "; its search stopped early: " + result->stopped;
  return early + (result->promoted ? "; promoted: " : "; not promoted: ") + result->reason;
}

/// Says whether the search of a finished study ended because its default failed.
bool ended_at_default(const StudyRow& study, const StudyDefinition& definition) {
  const auto result = study_result_from_json(study.result);
  return definition.needs_default && !definition.stopped.empty() && result && !result->best.value;
}

Result<void> check_free(const StudyRow& study, const StudyDefinition& definition,
                        const StudyToResume& wanted) {
  if (study.state == StudyState::finished) {
    const bool at_default = ended_at_default(study, definition);
    if (at_default && wanted.keep_going) return {};
    return failure(ErrorCode::invalid_argument,
                   "study " + study.name + " is finished" + end_reason(study) +
                       (at_default ? "; to search for a setting that works, add --keep-going"
                                   : "; `hocket best " + study.name + "` shows what came of it"));
  }
  if (study.state == StudyState::interrupted) return {};
  const OwnerState owner = owner_state(study.owner, this_host());
  if (owner == OwnerState::alive) {
    return failure(ErrorCode::invalid_argument,
                   "study " + study.name + " is being run by process " + study.owner +
                       "; wait for it, or name another study with --study");
  }
  if (owner == OwnerState::unknown && !wanted.take_over) {
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

Result<void> check_content(const StudyRow& study, const StudyDefinition& definition) {
  const FileFingerprint* const changed = changed_file(definition.files);
  if (!changed) return {};
  return failure(changed_error(study.name, *changed,
                               "start a new study, or add --accept-changes to go on knowingly"));
}

/// Gives the definition of a resumed study what is wanted of it; returns whether it has changed.
Result<bool> change_definition(const StudyRow& study, const StudyToResume& wanted,
                               bool has_begun_to_confirm, StudyDefinition& definition) {
  const StudyDefinition before = definition;
  if (wanted.keep_going && definition.needs_default) {
    definition.needs_default = false;
    if (study.state == StudyState::finished) definition.stopped.clear();
  }
  // The search decides what is confirmed, so it stays as it is once that has begun.
  if (wanted.trials && !has_begun_to_confirm) definition.trials = *wanted.trials;
  if (wanted.accept_changes) definition.files = files_of_study(definition, study.command);
  if (wanted.workers || wanted.slurm) {
    if (wanted.workers) definition.workers = wanted.workers;
    if (wanted.slurm) definition.slurm = *wanted.slurm;
    if (!definition.slurm.empty()) definition.workers = definition.workers.value_or(1);
    HOCKET_TRY(check_files(definition));
  }
  HOCKET_TRY(validate(definition));
  return definition != before;
}

}  // namespace

Result<OpenStudy> start_study(Store& store, const StudyToStart& wanted) {
  const auto topology_id = store.upsert_topology(wanted.topology);
  if (!topology_id) return failure(as_bad_input(topology_id.error()));
  const auto workload_id = store.upsert_workload(wanted.workload);
  if (!workload_id) return failure(as_bad_input(workload_id.error()));
  auto study = store.create_study({.name = wanted.name,
                                   .command = wanted.command,
                                   .definition = to_json(wanted.definition),
                                   .owner = owner_text(),
                                   .topology_id = *topology_id,
                                   .workload_id = *workload_id});
  if (!study) return failure(as_bad_input(study.error()));
  return OpenStudy{std::move(*study), wanted.definition, {}};
}

Result<OpenStudy> resume_study(Store& store, const StudyToResume& wanted) {
  auto study = find_study(store, wanted);
  HOCKET_TRY(study);
  HOCKET_TRY(check_origin(*study));
  auto definition = study_definition_from_json(study->definition);
  if (!definition) return failure(definition.error().in("study " + study->name));
  HOCKET_TRY(check_free(*study, *definition, wanted));
  HOCKET_TRY(check_command(*study, wanted.command));
  if (!wanted.accept_changes) HOCKET_TRY(check_content(*study, *definition));

  const std::string owner = owner_text();
  const bool had_workers = definition->workers.has_value();
  StudyUpdate update{.state = StudyState::running, .owner = owner, .expected_owner = study->owner};
  const auto trials = store.trials(study->id, TrialDetail::summary);
  if (!trials) return failure(as_bad_input(trials.error()));
  const bool has_begun_to_confirm =
      std::ranges::count(*trials, TrialPhase::confirm, &TrialRow::phase) > 0;
  const auto has_changed = change_definition(*study, wanted, has_begun_to_confirm, *definition);
  HOCKET_TRY(has_changed);
  if (*has_changed) update.definition = to_json(*definition);
  const auto taken = store.update_study(study->id, update);
  if (!taken) return failure(as_bad_input(taken.error()));
  study->owner = owner;
  study->state = StudyState::running;
  if (!had_workers) {
    const auto removed = store.abandon_running_trials(study->id);
    if (!removed) return failure(as_bad_input(removed.error()));
  }

  auto history = read_history(store, study->id);
  if (!history) return failure(as_bad_input(history.error().in("study " + study->name)));
  definition->objective = resolved_objective(definition->objective, *history);
  return OpenStudy{std::move(*study), std::move(*definition), std::move(*history)};
}

CommandOptions command_options(const StudyRow& study, const StudyDefinition& definition) {
  return {.command = study.command,
          .knobs = definition.knobs,
          .knob_defaults = definition.space.defaults(),
          .objective = definition.objective,
          .other_objectives = definition.other_objectives,
          .limits = definition.limits,
          .skip = static_cast<std::size_t>(definition.skip),
          .finds_warm_up = definition.finds_warm_up,
          .working_directory = definition.working_directory,
          .files = definition.files,
          .time_limit_ns = definition.time_limit_ns,
          .stop_command = definition.stop_command,
          .stop_limit_ns = definition.stop_limit_ns};
}

Result<std::vector<Trial>> read_history(Store& store, std::int64_t study_id) {
  auto rows = store.trials(study_id, TrialDetail::with_measurements);
  HOCKET_TRY(rows);
  std::erase_if(*rows, [](const TrialRow& row) { return row.state == TrialState::running; });
  std::ranges::stable_sort(*rows, {}, &TrialRow::finished_at_ns);
  std::vector<Trial> history;
  for (const auto& row : *rows) {
    auto trial = trial_of(row);
    HOCKET_TRY(trial);
    const auto ended_before = [&](const TrialRow& other) {
      return other.finished_at_ns <= row.started_at_ns;
    };
    // Equal times would let a trial know of itself or of a later one.
    trial->began = std::min(std::ranges::count_if(*rows, ended_before), std::ssize(history));
    trial->ended = std::ssize(history) + 1;
    history.push_back(std::move(*trial));
  }
  return history;
}

Objective resolved_objective(Objective objective, const std::vector<Trial>& history) {
  const auto first = std::find_if(history.begin(), history.end(), is_complete);
  if (first == history.end()) return objective;
  if (objective.kind == ObjectiveKind::regex && objective.unit.empty()) {
    for (const auto& [name, values] : first->outcome.metrics) {
      if (name.starts_with(kUnitMetricPrefix))
        objective.unit = name.substr(kUnitMetricPrefix.size());
    }
  }
  if (objective.kind != ObjectiveKind::automatic) return objective;
  objective.kind = has_report({*first}) ? ObjectiveKind::report : ObjectiveKind::wall;
  return objective;
}

bool has_report(const std::vector<Trial>& trials) {
  return std::any_of(trials.begin(), trials.end(), [](const auto& trial) {
    return trial.outcome.metrics.contains("iteration_ns");
  });
}

}  // namespace hocket
