#include "archive/workers/store_trial_source.h"

#include <algorithm>
#include <string>
#include <utility>

#include "archive/studies/open_study.h"
#include "archive/studies/study_record.h"
#include "archive/studies/told_trial.h"
#include "tuner/study/few_measurements.h"
#include "tuner/trial/warm_up.h"

namespace hocket {
namespace {

Result<StudyDefinition> definition_of(const StudyRow& study) {
  auto definition = study_definition_from_json(study.definition);
  if (!definition) return failure(definition.error().in("study " + study.name));
  return definition;
}

/// Returns the run of the best trial of the search, from its beginning; empty while none has
/// completed.
std::vector<double> incumbent_of(const std::vector<Trial>& history, Direction direction) {
  const Trial* best = nullptr;
  for (const Trial& trial : history) {
    if (trial.phase != TrialPhase::search || !is_complete(trial)) continue;
    const auto value = [&](const Trial& t) { return cost(*t.outcome.value, direction); };
    if (!best || value(trial) < value(*best)) best = &trial;
  }
  return best ? whole_run(best->outcome) : std::vector<double>();
}

}  // namespace

Result<void> check_shared(const StudyRow& study) {
  if (study.origin != StudyOrigin::tune) {
    return failure(ErrorCode::invalid_argument,
                   "study " + study.name +
                       " came to a daemon, so its command is not run by `hocket work`; its workers "
                       "ask the daemon, by POST /v1/studies/" +
                       study.name + "/ask and /tell");
  }
  const auto definition = definition_of(study);
  HOCKET_TRY(definition);
  if (definition->workers) return {};
  return failure(ErrorCode::invalid_argument,
                 "study " + study.name +
                     " is run by one process alone; one for several workers is started, or "
                     "resumed, by `hocket tune --workers N`: `hocket tune --resume --study " +
                     study.name + " --workers 2`");
}

Result<StudyRow> StoreTrialSource::find(std::string_view name_or_id) {
  auto study = store_.study(name_or_id);
  HOCKET_TRY(study);
  HOCKET_TRY(check_shared(*study));
  return study;
}

Result<std::int64_t> StoreTrialSource::longest_trial_ns(std::int64_t study_id) const {
  const auto rows = store_.trials(study_id, TrialDetail::summary);
  HOCKET_TRY(rows);
  std::int64_t longest_ns = 0;
  for (const TrialRow& row : *rows) {
    if (row.finished_at_ns && row.losses == 0)
      longest_ns = std::max(longest_ns, *row.finished_at_ns - row.started_at_ns);
  }
  return longest_ns;
}

Result<void> StoreTrialSource::add_claimed(const TrialRow& row, ClaimAnswer& answer) const {
  auto trial = trial_of(row);
  HOCKET_TRY(trial);
  auto definition = definition_of(answer.study);
  HOCKET_TRY(definition);
  const auto history = read_history(store_, answer.study.id);
  HOCKET_TRY(history);
  definition->objective = resolved_objective(definition->objective, *history);
  // As in a study of one process (tuner/study/study.h).
  if (definition->end_trials_early && definition->other_objectives.empty() &&
      trial->phase == TrialPhase::search) {
    answer.incumbent = incumbent_of(*history, definition->objective.direction);
  }
  answer.trial = std::move(*trial);
  answer.definition = std::move(*definition);
  answer.has_report = has_report(*history);
  return {};
}

Result<ClaimAnswer> StoreTrialSource::claim(std::int64_t study_id, const WorkerClaim& claim) {
  auto study = store_.study(std::to_string(study_id));
  HOCKET_TRY(study);
  ClaimAnswer answer{.study = std::move(*study)};
  if (answer.study.state != StudyState::running) return answer;
  if (claim.time_left_ns) {
    const auto longest_ns = longest_trial_ns(study_id);
    HOCKET_TRY(longest_ns);
    answer.longest_trial_ns = *longest_ns;
    if (*longest_ns > *claim.time_left_ns) return answer;
  }
  const auto row = store_.claim_trial(study_id, claim.lease);
  HOCKET_TRY(row);
  if (*row) HOCKET_TRY(add_claimed(**row, answer));
  return answer;
}

Result<void> StoreTrialSource::renew(std::int64_t study_id, const NewClaim& claim) {
  return store_.renew_worker(study_id, claim);
}

Result<void> StoreTrialSource::leave(std::int64_t study_id, std::string_view worker) {
  return store_.leave_worker(study_id, worker, /*is_lost=*/false);
}

Result<void> StoreTrialSource::finish(std::int64_t study_id, const Trial& trial) {
  if (trial.outcome.report) {
    auto study = store_.study(std::to_string(study_id));
    HOCKET_TRY(study);
    HOCKET_TRY(describe_study(store_, *study, *trial.outcome.report));
  }
  const auto why = too_few(study_id, trial);
  HOCKET_TRY(why);
  if (!*why) return store_.finish_trial(trial.id, trial.outcome, trial.worker);
  TrialOutcome failed = trial.outcome;
  set_failed(failed, **why);
  return store_.finish_trial(trial.id, failed, trial.worker);
}

Result<std::optional<std::string>> StoreTrialSource::too_few(std::int64_t study_id,
                                                             const Trial& trial) const {
  const auto study = store_.study(std::to_string(study_id));
  HOCKET_TRY(study);
  const auto definition = definition_of(*study);
  HOCKET_TRY(definition);
  const auto history = read_history(store_, study_id);
  HOCKET_TRY(history);
  if (definition->allows_fewer || history->empty()) return std::nullopt;
  return few_measurements(history->front().outcome, trial.outcome, definition->objective.direction);
}

}  // namespace hocket
