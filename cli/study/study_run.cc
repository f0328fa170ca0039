#include "cli/study/study_run.h"

#include <cstdio>
#include <map>
#include <set>

#include "archive/studies/command_files.h"
#include "archive/studies/donor_source.h"
#include "archive/studies/interim_study.h"
#include "archive/studies/owner.h"
#include "archive/studies/study_job.h"
#include "archive/studies/study_record.h"
#include "archive/workers/waiting.h"
#include "archive/workers/worker_crew.h"
#include "cli/output/interim_text.h"
#include "cli/output/reported_study.h"
#include "cli/process/interrupt.h"
#include "cli/study/local_workers.h"
#include "cli/study/study_time.h"
#include "tuner/slurm/fleet.h"
#include "tuner/slurm/slurm_commands.h"
#include "tuner/trial/command_runner.h"

namespace hocket {
namespace {

/// The earlier study to start from; one that turns out not to fit is none.
Result<std::optional<Donor>> find_donor(StudyProgress& progress, const StudyRecord& record,
                                        Store& store, const OpenStudy& open, const Trial& first) {
  auto found = record.patiently([&] { return take_donor(store, open.study.id, first); });
  if (!found) {
    if (found.error().code != ErrorCode::invalid_argument)
      return failure(as_bad_input(found.error()));
    progress.note("starts from no earlier study: " + found.error().message);
    return std::nullopt;
  }
  if (!*found) return std::nullopt;
  auto& [donor, difference, caveat] = **found;
  char distance[32];
  std::snprintf(distance, sizeof distance, "%.1f", donor.distance.value_or(0));
  progress.note("starts from study " + donor.study + " at distance " + distance + " (" +
                difference + ")" +
                (caveat.empty() ? "" : "; " + caveat + ", so only its best settings are tried"));
  return std::move(donor);
}

/// `error` with how to go on, for a study that can be resumed.
Error resumable(Error error, const OpenStudy& open, std::size_t kept,
                const StudyRunOptions& options) {
  error.message += "; " + std::to_string(kept) + (kept == 1 ? " trial is" : " trials are") +
                   " kept, go on with: hocket tune --resume --study " + open.study.name +
                   options.store_argument;
  return error;
}

/// Lets the workers of this process look for a trial as soon as it is offered.
class WakingObserver final : public StudyObserver {
 public:
  WakingObserver(StudyObserver& observer, LocalWorkers& workers)
      : observer_(observer), workers_(workers) {}

  Result<void> trial_started(std::int64_t number, TrialPhase phase, const Params& params) override {
    workers_.wake();
    return observer_.trial_started(number, phase, params);
  }
  Result<void> trial_finished(const Trial& trial) override {
    return observer_.trial_finished(trial);
  }
  Result<void> search_stopped(const std::string& reason) override {
    return observer_.search_stopped(reason);
  }

 private:
  StudyObserver& observer_;
  LocalWorkers& workers_;
};

/// Keeps the time of a study, and looks after its files when the first trial has ended.
class AttentiveObserver final : public StudyObserver {
 public:
  AttentiveObserver(ReportedStudy& observer, StudyProgress& progress, Store& store,
                    const OpenStudy& open, StudyTime* time)
      : observer_(observer), progress_(progress), store_(store), open_(open), time_(time) {}

  Result<void> trial_started(std::int64_t number, TrialPhase phase, const Params& params) override {
    if (time_) time_->began(number);
    return observer_.trial_started(number, phase, params);
  }
  Result<void> trial_finished(const Trial& trial) override {
    const std::string outlook = time_ ? time_->ended(trial) : std::string();
    HOCKET_TRY(observer_.trial_finished(trial));
    if (!outlook.empty()) progress_.note(outlook);
    if (trial.number > 0 || open_.definition.files.empty()) return {};
    const auto written = forget_written_files(store_, open_.study.id);
    // If the store refuses, a resumed study asks about the file.
    if (!written) return {};
    for (const std::string& path : *written) {
      progress_.note("note: " + path +
                     " was written while the default ran; later changes of it are not noticed");
    }
    return {};
  }
  Result<void> search_stopped(const std::string& reason) override {
    return observer_.search_stopped(reason);
  }

 private:
  ReportedStudy& observer_;
  StudyProgress& progress_;
  Store& store_;
  const OpenStudy& open_;
  StudyTime* const time_;
};

void say_waiting(StudyProgress& progress, const std::string& why) {
  progress.note("waits for the store: " + why);
}

/// Waits for the store as long as it takes, and after an interrupt for two more tries. Says so at
/// once and then every minute.
WhileAway patience_with_store(StudyProgress& progress, const CancelToken& cancel,
                              const Clock& clock, bool is_on_server) {
  WhileAway away;
  away.say = [&progress, &clock, next_ns = std::int64_t{0}](const std::string& why,
                                                            bool is_first) mutable {
    const std::int64_t now_ns = clock.now_ns();
    if (!is_first && now_ns < next_ns) return;
    next_ns = now_ns + kSaidEveryNs;
    say_waiting(progress, why);
  };
  away.goes_on = [&cancel, left = 2]() mutable { return !cancel.cancelled() || left-- > 0; };
  if (is_on_server) away.pause = [&cancel] { wait_unless_cancelled(cancel)(kLongestWaitNs); };
  return away;
}

class StudyRun {
 public:
  StudyRun(Store& store, const OpenStudy& open, const StudyRunOptions& options, StudyRecord& record,
           StudyProgress& progress, const CancelToken& cancel)
      : store_(store),
        open_(open),
        options_(options),
        record_(record),
        progress_(progress),
        reported_(record, progress),
        observer_(reported_, progress, store, open, limit_time()),
        cancel_(cancel),
        study_(study_options(open.definition)) {
    if (time_)
      study_.why_no_time = [this](TrialPhase phase) { return time_->why_none_fits(phase); };
    if (!open.definition.transfer || open.definition.donor) return;
    study_.find_donor = [this](const Trial& first) {
      return find_donor(progress_, record_, store_, open_, first);
    };
  }

  Result<StudyResult> run_alone() {
    CommandOptions options = command_options(open_.study, open_.definition);
    options.worker = worker_label(this_host().name, "0");
    options.time_left_ns = time_left(time());
    auto command = CommandRunner::make(std::move(options), clock_, cancel_);
    HOCKET_TRY(command);
    if (!time_) return run_study(study_, open_.history, *command, observer_, cancel_);
    TimedRunner runner(std::make_unique<CommandRunner>(std::move(*command)), *time_);
    return run_study(study_, open_.history, runner, observer_, cancel_);
  }

  /// Tells how long the trials took that an earlier process ran.
  void recall(const std::vector<TrialRow>& trials) {
    for (const TrialRow& trial : trials) {
      if (time_ && trial.finished_at_ns)
        time_->recall(*trial.finished_at_ns - trial.started_at_ns, trial.phase, trial.state);
    }
  }

  /// Returns whether the time is limited, which may be why the study is undecided.
  bool has_limit() const { return time_.has_value(); }

  Result<StudyResult> run_by_workers() {
    progress_.note("workers join with: hocket work " + open_.study.name + options_.store_argument);
    return options_.slurm ? run_in_slurm(*options_.slurm) : run_in_threads();
  }

 private:
  StudyTime* limit_time() {
    if (!options_.max_time_ns) return nullptr;
    return &time_.emplace(
        TimeBudget(*options_.max_time_ns, clock_.now_ns(), confirmation_runs(open_.definition)),
        clock_);
  }
  StudyTime* time() { return time_ ? &*time_ : nullptr; }
  SayWaiting say() {
    return [this](const std::string& why) { say_waiting(progress_, why); };
  }

  /// Says once of each host that several workers share it.
  void warn_of_neighbours(const std::vector<WorkerRow>& workers) {
    std::map<std::string, int> workers_of;
    for (const WorkerRow& worker : workers) ++workers_of[worker.host];
    for (const auto& [host, count] : workers_of) {
      if (count < 2 || !warned_of_.insert(host).second) continue;
      progress_.note(
          "note: host " + host +
          " has several workers; trials that share processors, devices or a network disturb one "
          "another (docs/guides/cluster.md says how each worker can have devices of its own)");
    }
  }

  Result<StudyResult> run_in_threads() {
    Bell bell;
    LocalWorkers local(store_, open_.study, *open_.definition.workers, clock_, bell, time());
    WakingObserver observer(observer_, local);
    const auto on_look = [&](const std::vector<WorkerRow>& workers) {
      warn_of_neighbours(workers);
      return local.check().and_then([&] { return check_time(); });
    };
    WorkerCrew crew(store_, open_.study, clock_, cancel_, bell.wait_unless_cancelled(cancel_),
                    on_look, say());
    return run_study(study_, open_.history, crew, observer, cancel_);
  }

  Result<StudyResult> run_in_slurm(const SlurmSubmission& submission) {
    SlurmCommands slurm(clock_);
    SlurmFleet fleet(slurm, submission, clock_);
    const auto on_look = [&](const std::vector<WorkerRow>& workers) {
      warn_of_neighbours(workers);
      return check_time().and_then([&] { return follow(fleet); });
    };
    WorkerCrew crew(store_, open_.study, clock_, cancel_, wait_unless_cancelled(cancel_), on_look,
                    say());
    auto result = run_study(study_, open_.history, crew, observer_, cancel_);
    const auto cancelled = fleet.finish();
    if (!cancelled) progress_.note("note: " + cancelled.error().message);
    return result;
  }

  /// Looks after the workers in Slurm, and gives what those had that are gone to others.
  Result<void> follow(SlurmFleet& fleet) {
    if (const std::int64_t finished = record_.finished_trials(); finished > progress_seen_) {
      progress_seen_ = finished;
      fleet.note_progress();
    }
    const auto notes = fleet.tick();
    // If the store refuses it, their trials go to others when their leases end.
    for (const GoneWorker& worker : fleet.take_gone())
      static_cast<void>(store_.leave_worker(open_.study.id, worker.name, worker.was_lost));
    HOCKET_TRY(notes);
    for (const std::string& note : *notes) progress_.note(note);
    return {};
  }

  Result<void> check_time() const { return time_ ? time_->check() : Result<void>(); }

  Store& store_;
  const OpenStudy& open_;
  const StudyRunOptions& options_;
  StudyRecord& record_;
  StudyProgress& progress_;
  const SteadyClock clock_;
  std::optional<StudyTime> time_;
  ReportedStudy reported_;
  AttentiveObserver observer_;
  const CancelToken& cancel_;
  StudyOptions study_;
  std::set<std::string> warned_of_;
  std::int64_t progress_seen_ = 0;
};

}  // namespace

Result<StudyResult> run_open_study(Store& store, const OpenStudy& open,
                                   const StudyRunOptions& options, VerbContext& context) {
  const auto topology = topology_of(store, open.study);
  HOCKET_TRY(topology);
  CancelToken cancel;
  const InterruptGuard guard(cancel);
  StudyProgress progress(context.err, context.err_columns, open.definition);
  for (const auto& trial : open.history) progress.recall(trial);
  const bool has_workers = open.definition.workers.has_value();
  StudyRecord record(store, open.study, *topology, has_report(open.history), has_workers);
  const SteadyClock clock;
  record.wait_for_store(patience_with_store(progress, cancel, clock, options.is_on_server));
  StudyRun run(store, open, options, record, progress, cancel);
  if (options.max_time_ns) {
    const auto earlier = store.trials(open.study.id, TrialDetail::summary);
    HOCKET_TRY(earlier);
    run.recall(*earlier);
  }
  const auto result = has_workers ? run.run_by_workers() : run.run_alone();
  if (result) {
    HOCKET_TRY(record.finish(*result));
    return result;
  }
  const auto kept = open.history.size() + static_cast<std::size_t>(record.finished_trials());
  const bool nothing_to_resume = kept == 0 && result.error().code != ErrorCode::interrupted;
  // If the store refuses this as well, the study is later found without an owner, which is
  // equivalent.
  const auto stopped = record.stop(nothing_to_resume);
  if (nothing_to_resume && stopped) return failure(result.error());
  const bool is_out_of_time = run.has_limit() && result.error().code == ErrorCode::timed_out;
  const bool was_interrupted = result.error().code == ErrorCode::interrupted;
  if (kept > 0 && stopped && (is_out_of_time || was_interrupted)) {
    const auto study = store.study(std::to_string(open.study.id));
    HOCKET_TRY(study);
    auto interim = interim_study(store, *study);
    if (interim && is_out_of_time) {
      interim->result.stopped = result.error().message;
      return std::move(interim->result);
    }
    if (interim && has_recommendation(*interim))
      progress.note(interim_text(*interim, options.store_argument));
  }
  return failure(resumable(result.error(), open, kept, options));
}

}  // namespace hocket
