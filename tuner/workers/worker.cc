#include "tuner/workers/worker.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tuner/archive/open_study.h"
#include "tuner/archive/study_record.h"
#include "tuner/archive/told_trial.h"
#include "tuner/trial/command_runner.h"
#include "tuner/workers/lease_keeper.h"
#include "tuner/workers/patience.h"

namespace hocket {
namespace {

std::string seconds_text(std::int64_t ns) {
  return std::to_string(ns / 1'000'000'000) + " s";
}

/// Returns why no trial of the study is to be had any more; empty if that is not so.
std::string end_of(const StudyRow& study) {
  if (study.state == StudyState::finished) return "study " + study.name + " is finished";
  if (study.state == StudyState::interrupted)
    return "study " + study.name + " was interrupted; hocket tune --resume goes on with it";
  return {};
}

/// Returns the samples of the best trial of the search; empty while none has completed.
std::vector<double> incumbent_of(const std::vector<FinishedTrial>& history, Direction direction) {
  const FinishedTrial* best = nullptr;
  for (const FinishedTrial& trial : history) {
    if (trial.phase != TrialPhase::search || trial.outcome.state != TrialState::complete) continue;
    const auto value = [&](const FinishedTrial& t) { return cost(t.outcome.value, direction); };
    if (!best || value(trial) < value(*best)) best = &trial;
  }
  return best ? best->outcome.samples : std::vector<double>();
}

class Worker {
 public:
  Worker(Store& store, const WorkerOptions& options, const MakeRunner& make_runner,
         WorkerObserver& observer, const Clock& clock, const CancelToken& cancel, const Wait& wait)
      : store_(store),
        options_(options),
        make_runner_(make_runner),
        observer_(observer),
        clock_(clock),
        cancel_(cancel),
        wait_(wait),
        patience_(clock, wait, [&cancel] { return !cancel.cancelled(); }) {}

  Result<WorkerEnd> run();

 private:
  NewClaim claim() const { return {options_.name, options_.host, options_.lease_ns}; }
  Result<StudyRow> find_study() const;
  /// Returns the next trial; nothing when the worker leaves, for `reason_`.
  Result<std::optional<TrialRow>> next_trial();
  /// Returns why there is too little time for another trial; empty if that is not so.
  Result<std::string> time_is_up() const;
  Result<void> run_trial(const TrialRow& trial);
  Result<TrialOutcome> outcome_of_run(const TrialRow& trial,
                                      const std::vector<FinishedTrial>& history);
  /// Returns false when another worker has the trial by now.
  Result<bool> keep(const TrialRow& trial, const TrialOutcome& outcome, bool has_report);

  Store& store_;
  const WorkerOptions& options_;
  const MakeRunner& make_runner_;
  WorkerObserver& observer_;
  const Clock& clock_;
  const CancelToken& cancel_;
  const Wait& wait_;
  const Patience patience_;
  std::int64_t study_id_ = 0;
  std::int64_t trials_ = 0;
  std::string reason_;
  std::unique_ptr<TrialRunner> runner_;
  bool is_resolved_ = false;  ///< the runner knows what its objective means
};

Result<StudyRow> Worker::find_study() const {
  auto study = store_.study(options_.study);
  HOCKET_TRY(study);
  if (study->origin != StudyOrigin::tune) {
    return failure(ErrorCode::invalid_argument,
                   "study " + study->name +
                       " came to a daemon, so its command is not run by "
                       "`hocket work`; its workers ask the daemon");
  }
  const auto definition = study_definition_from_json(study->definition);
  if (!definition) return failure(definition.error().in("study " + study->name));
  if (!definition->workers) {
    return failure(ErrorCode::invalid_argument,
                   "study " + study->name +
                       " is run by one process alone; one for several workers is started, or "
                       "resumed, by `hocket tune --workers N`");
  }
  if (const std::string end = end_of(*study); !end.empty())
    return failure(ErrorCode::invalid_argument, end);
  return study;
}

Result<std::string> Worker::time_is_up() const {
  const auto left_ns = options_.time_left_ns ? options_.time_left_ns() : std::nullopt;
  if (!left_ns) return std::string();
  const auto rows = store_.trials(study_id_, TrialDetail::summary);
  HOCKET_TRY(rows);
  std::int64_t longest_ns = 0;
  for (const TrialRow& row : *rows) {
    if (row.finished_at_ns && row.losses == 0)
      longest_ns = std::max(longest_ns, *row.finished_at_ns - row.started_at_ns);
  }
  if (longest_ns <= *left_ns) return std::string();
  return "the time left here, " + seconds_text(*left_ns) +
         ", is less than the longest trial so far took, " + seconds_text(longest_ns);
}

Result<std::optional<TrialRow>> Worker::next_trial() {
  const auto removed_or = [&](const Error& error) -> Result<std::optional<TrialRow>> {
    if (error.code != ErrorCode::not_found) return failure(error);
    reason_ = "the study was removed";
    return std::nullopt;
  };
  const std::int64_t begin_ns = clock_.now_ns();
  const std::string id = std::to_string(study_id_);
  while (!cancel_.cancelled()) {
    const auto study = patience_([&] { return store_.study(id); });
    if (!study) return removed_or(study.error());
    reason_ = end_of(*study);
    if (!reason_.empty()) return std::nullopt;
    auto up = patience_([&] { return time_is_up(); });
    HOCKET_TRY(up);
    if (!up->empty()) {
      reason_ = std::move(*up);
      return std::nullopt;
    }
    // A claim whose answer is lost is given back by the next.
    auto trial = patience_([&] { return store_.claim_trial(study_id_, claim()); });
    if (!trial) return removed_or(trial.error());
    if (*trial) return trial;
    const std::int64_t quiet_ns = clock_.now_ns() - begin_ns;
    if (options_.idle_limit_ns && quiet_ns >= *options_.idle_limit_ns) {
      reason_ = "no trial came for " + seconds_text(quiet_ns);
      return std::nullopt;
    }
    // Each look renews the lease.
    wait_(std::min(next_wait_ns(quiet_ns), options_.lease_ns / 3));
  }
  reason_ = "asked to stop";
  return std::nullopt;
}

Result<TrialOutcome> Worker::outcome_of_run(const TrialRow& trial,
                                            const std::vector<FinishedTrial>& history) {
  const auto study = store_.study(std::to_string(study_id_));
  HOCKET_TRY(study);
  auto definition = study_definition_from_json(study->definition);
  if (!definition) return failure(definition.error().in("study " + study->name));
  definition->objective = resolved_objective(definition->objective, history);
  if (!runner_ || !is_resolved_) {
    auto runner = make_runner_(*study, *definition);
    HOCKET_TRY(runner);
    runner_ = std::move(*runner);
    is_resolved_ = definition->objective.kind != ObjectiveKind::automatic;
  }
  const auto params = params_from_json(trial.params);
  HOCKET_TRY(params);
  // As in a study of one process (tuner/study/study.h).
  const bool may_end_early = definition->end_trials_early && definition->other_objectives.empty() &&
                             trial.phase == TrialPhase::search;
  const auto incumbent = may_end_early ? incumbent_of(history, definition->objective.direction)
                                       : std::vector<double>();
  auto outcome = runner_->run(*params, incumbent);
  HOCKET_TRY(outcome);
  return finite_or_failed(std::move(*outcome));
}

Result<bool> Worker::keep(const TrialRow& trial, const TrialOutcome& outcome, bool has_report) {
  const std::string id = std::to_string(study_id_);
  if (outcome.report && !has_report) {
    // Before the trial ends: its owner goes on with what the study is of then.
    const auto described = patience_([&]() -> Result<void> {
      auto study = store_.study(id);
      HOCKET_TRY(study);
      return describe_study(store_, *study, *outcome.report);
    });
    HOCKET_TRY(described);
  }
  TrialResult result = stored_result(outcome);
  result.worker = options_.name;
  const auto kept = patience_([&] { return store_.finish_trial(trial.id, result); });
  if (kept) return true;
  if (kept.error().code == ErrorCode::not_found) return false;
  return failure(kept.error());
}

Result<void> Worker::run_trial(const TrialRow& trial) {
  observer_.trial_started(trial);
  const LeaseKeeper lease(store_, study_id_, claim());
  const auto history = patience_([&] { return read_history(store_, study_id_); });
  HOCKET_TRY(history);
  const auto outcome = outcome_of_run(trial, *history);
  HOCKET_TRY(outcome);
  const auto kept = keep(trial, *outcome, has_report(*history));
  HOCKET_TRY(kept);
  if (*kept) ++trials_;
  observer_.trial_ended(trial, *outcome, *kept);
  return {};
}

Result<WorkerEnd> Worker::run() {
  const auto study = find_study();
  HOCKET_TRY(study);
  study_id_ = study->id;
  const auto work = [&]() -> Result<void> {
    for (;;) {
      const auto trial = next_trial();
      HOCKET_TRY(trial);
      if (!*trial) return {};
      HOCKET_TRY(run_trial(**trial));
    }
  };
  const auto ended = work();
  // What it has is given back at once; if the store refuses that, when the lease ends. It is no
  // loss: nothing says that the trial was to blame.
  static_cast<void>(store_.leave_worker(study_id_, options_.name, false));
  const bool was_stopped = !ended && ended.error().code == ErrorCode::interrupted;
  if (was_stopped) reason_ = "asked to stop";
  if (!ended && !was_stopped) return failure(ended.error());
  return WorkerEnd{trials_, std::move(reason_)};
}

}  // namespace

MakeRunner command_runners(const Clock& clock, const CancelToken& cancel,
                           std::map<std::string, std::string> environment) {
  return [&clock, &cancel, environment = std::move(environment)](
             const StudyRow& study,
             const StudyDefinition& definition) -> Result<std::unique_ptr<TrialRunner>> {
    CommandOptions options = command_options(study, definition);
    options.environment = environment;
    auto runner = CommandRunner::make(std::move(options), clock, cancel);
    HOCKET_TRY(runner);
    return std::make_unique<CommandRunner>(std::move(*runner));
  };
}

Result<WorkerEnd> run_worker(Store& store, const WorkerOptions& options,
                             const MakeRunner& make_runner, WorkerObserver& observer,
                             const Clock& clock, const CancelToken& cancel, const Wait& wait) {
  return Worker(store, options, make_runner, observer, clock, cancel, wait).run();
}

}  // namespace hocket
