#include "archive/workers/worker.h"

#include <algorithm>
#include <utility>

#include "archive/studies/command_files.h"
#include "archive/studies/open_study.h"
#include "archive/workers/lease_keeper.h"
#include "archive/workers/patience.h"
#include "tuner/trial/command_runner.h"

namespace hocket {
namespace {

std::string seconds_text(std::int64_t ns) {
  return std::to_string(ns / 1'000'000'000) + " s";
}

/// Returns why no trial of the study is to be had any more; empty if that is not so.
std::string end_of(const StudyRow& study) {
  if (study.state == StudyState::finished) return "study " + study.name + " is finished";
  if (study.state == StudyState::interrupted)
    return "study " + study.name + " was interrupted; `hocket tune --resume --study " + study.name +
           "` goes on with it";
  return {};
}

/// Returns why there is too little time for another trial; empty if that is not so.
std::string time_is_up(std::optional<std::int64_t> left_ns, std::int64_t longest_ns) {
  if (!left_ns || longest_ns <= *left_ns) return {};
  return "the time left here, " + seconds_text(*left_ns) +
         ", is less than the longest trial so far took, " + seconds_text(longest_ns);
}

class Worker {
 public:
  Worker(TrialSource& source, const WorkerOptions& options, const MakeRunner& make_runner,
         WorkerObserver& observer, const Clock& clock, const CancelToken& cancel,
         const InterruptibleWait& wait)
      : source_(source),
        options_(options),
        make_runner_(make_runner),
        observer_(observer),
        clock_(clock),
        cancel_(cancel),
        wait_(wait),
        patience_(
            clock, wait, [&cancel] { return !cancel.cancelled(); },
            [&observer](const std::string& why) { observer.waits(why); }, kStorePatienceNs) {}

  Result<WorkerEnd> run();

 private:
  NewClaim lease() const { return {options_.name, options_.host, options_.lease_ns}; }
  Result<StudyRow> find_study();
  /// Refuses to be one of several workers whose trials write one file.
  Result<void> check_joining(const StudyRow& study) const;
  Result<ClaimAnswer> claim(std::optional<std::int64_t> time_left_ns);
  /// Returns an answer with the next trial; nothing when the worker leaves, for `reason_`.
  Result<std::optional<ClaimAnswer>> next_trial();
  Result<void> run_trial(ClaimAnswer claimed);
  Result<TrialOutcome> outcome_of_run(const ClaimAnswer& claimed);
  /// Returns false when another worker has the trial by now.
  Result<bool> keep(Trial trial, bool has_report);

  TrialSource& source_;
  const WorkerOptions& options_;
  const MakeRunner& make_runner_;
  WorkerObserver& observer_;
  const Clock& clock_;
  const CancelToken& cancel_;
  const InterruptibleWait& wait_;
  const Patience patience_;
  std::int64_t study_id_ = 0;
  std::int64_t trials_ = 0;
  std::string reason_;
  std::unique_ptr<TrialRunner> runner_;
  bool is_resolved_ = false;  ///< the runner knows what its objective means
};

Result<StudyRow> Worker::find_study() {
  auto study = source_.find(options_.study);
  HOCKET_TRY(study);
  if (const std::string end = end_of(*study); !end.empty())
    return failure(ErrorCode::invalid_argument, end);
  if (options_.joins) HOCKET_TRY(check_joining(*study));
  return study;
}

Result<void> Worker::check_joining(const StudyRow& study) const {
  auto definition = study_definition_from_json(study.definition);
  if (!definition) return failure(definition.error().in("study " + study.name));
  // The tasks of Slurm are the study's own workers, and `hocket tune` has checked for them.
  if (options_.is_slurm_task && !definition->slurm.empty()) return {};
  definition->workers = definition->workers.value_or(1) + 1;
  const auto checked = check_files(*definition);
  if (!checked) return failure(checked.error().in("study " + study.name + " has a worker already"));
  return {};
}

Result<ClaimAnswer> Worker::claim(std::optional<std::int64_t> time_left_ns) {
  bool is_repeated = false;
  return patience_([&]() -> Result<ClaimAnswer> {
    // The answer that was lost may have had a trial, which would be lost with this worker if it
    // were still there.
    if (std::exchange(is_repeated, true)) {
      HOCKET_TRY(source_.leave(study_id_, options_.name));
    }
    return source_.claim(study_id_, {lease(), time_left_ns});
  });
}

Result<std::optional<ClaimAnswer>> Worker::next_trial() {
  const std::int64_t begin_ns = clock_.now_ns();
  while (!cancel_.cancelled()) {
    const auto left_ns = options_.time_left_ns ? options_.time_left_ns() : std::nullopt;
    auto answer = claim(left_ns);
    if (!answer && answer.error().code == ErrorCode::not_found) {
      reason_ = "the study was removed";
      return std::nullopt;
    }
    HOCKET_TRY(answer);
    if (answer->trial) return std::move(*answer);
    reason_ = end_of(answer->study);
    if (reason_.empty()) reason_ = time_is_up(left_ns, answer->longest_trial_ns);
    if (!reason_.empty()) return std::nullopt;
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

Result<TrialOutcome> Worker::outcome_of_run(const ClaimAnswer& claimed) {
  if (!runner_ || !is_resolved_) {
    auto runner = make_runner_(claimed.study, *claimed.definition);
    HOCKET_TRY(runner);
    runner_ = std::move(*runner);
    is_resolved_ = claimed.definition->objective.kind != ObjectiveKind::automatic;
  }
  auto outcome =
      runner_->run(claimed.trial->params, claimed.incumbent, shown_number(*claimed.trial));
  HOCKET_TRY(outcome);
  return finite_or_failed(std::move(*outcome));
}

Result<bool> Worker::keep(Trial trial, bool has_report) {
  if (has_report) trial.outcome.report.reset();
  const Patience as_long_as_it_takes(
      clock_, wait_, [this, left = 2]() mutable { return !cancel_.cancelled() || left-- > 0; },
      [this](const std::string& why) { observer_.waits(why); }, std::nullopt);
  const auto kept = as_long_as_it_takes([&] { return source_.finish(study_id_, trial); });
  if (kept) return true;
  if (kept.error().code == ErrorCode::not_found) return false;
  return failure(kept.error());
}

Result<void> Worker::run_trial(ClaimAnswer claimed) {
  Trial& trial = *claimed.trial;
  trial.worker = options_.name;
  observer_.trial_started(trial);
  const LeaseKeeper keeper(source_, study_id_, lease());
  auto outcome = outcome_of_run(claimed);
  HOCKET_TRY(outcome);
  trial.outcome = std::move(*outcome);
  const auto kept = keep(trial, claimed.has_report);
  HOCKET_TRY(kept);
  if (*kept) ++trials_;
  observer_.trial_ended(trial, *kept);
  return {};
}

Result<WorkerEnd> Worker::run() {
  const auto study = find_study();
  HOCKET_TRY(study);
  study_id_ = study->id;
  const auto work = [&]() -> Result<void> {
    for (;;) {
      auto claimed = next_trial();
      HOCKET_TRY(claimed);
      if (!*claimed) return {};
      HOCKET_TRY(run_trial(*std::move(*claimed)));
    }
  };
  const auto ended = work();
  // Its trial is given back at once; if the store refuses that, when the lease ends. It is no
  // loss: nothing says that the trial was to blame.
  static_cast<void>(source_.leave(study_id_, options_.name));
  const bool was_stopped = !ended && ended.error().code == ErrorCode::interrupted;
  if (was_stopped) reason_ = "asked to stop";
  if (!ended && !was_stopped) return failure(ended.error());
  return WorkerEnd{trials_, std::move(reason_)};
}

}  // namespace

MakeRunner command_runners(const Clock& clock, const CancelToken& cancel,
                           std::map<std::string, std::string> environment, std::string label,
                           std::function<std::int64_t()> time_left_ns) {
  return [&clock, &cancel, environment = std::move(environment), label = std::move(label),
          time_left_ns = std::move(time_left_ns)](
             const StudyRow& study,
             const StudyDefinition& definition) -> Result<std::unique_ptr<TrialRunner>> {
    if (const FileFingerprint* file = changed_file(definition.files)) {
      return failure(changed_error(study.name, *file,
                                   "give this host the same file, or resume the study with "
                                   "--accept-changes where it was changed"));
    }
    CommandOptions options = command_options(study, definition);
    options.environment = environment;
    options.time_left_ns = time_left_ns;
    options.worker = label;
    auto runner = CommandRunner::make(std::move(options), clock, cancel);
    HOCKET_TRY(runner);
    return std::make_unique<CommandRunner>(std::move(*runner));
  };
}

Result<WorkerEnd> run_worker(TrialSource& source, const WorkerOptions& options,
                             const MakeRunner& make_runner, WorkerObserver& observer,
                             const Clock& clock, const CancelToken& cancel,
                             const InterruptibleWait& wait) {
  return Worker(source, options, make_runner, observer, clock, cancel, wait).run();
}

}  // namespace hocket
