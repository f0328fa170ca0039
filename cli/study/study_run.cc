#include "cli/study/study_run.h"

#include <cstdio>
#include <map>
#include <set>

#include "archive/studies/donor_source.h"
#include "archive/studies/owner.h"
#include "archive/studies/study_job.h"
#include "archive/studies/study_record.h"
#include "archive/workers/waiting.h"
#include "archive/workers/worker_crew.h"
#include "cli/output/reported_study.h"
#include "cli/process/interrupt.h"
#include "cli/study/local_workers.h"
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
  auto& [donor, difference] = **found;
  char distance[32];
  std::snprintf(distance, sizeof distance, "%.1f", donor.distance.value_or(0));
  progress.note("starts from study " + donor.study + " at distance " + distance + " (" +
                difference + ")");
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
        observer_(record, progress),
        cancel_(cancel),
        study_(study_options(open.definition)) {
    if (!open.definition.transfer || open.definition.donor) return;
    study_.find_donor = [this](const Trial& first) {
      return find_donor(progress_, record_, store_, open_, first);
    };
  }

  Result<StudyResult> run_alone() {
    CommandOptions options = command_options(open_.study, open_.definition);
    options.worker = worker_label(this_host().name, "0");
    auto runner = CommandRunner::make(std::move(options), clock_, cancel_);
    HOCKET_TRY(runner);
    return run_study(study_, open_.history, *runner, observer_, cancel_);
  }

  Result<StudyResult> run_by_workers() {
    progress_.note("workers join with: hocket work " + open_.study.name + options_.store_argument);
    return options_.slurm ? run_in_slurm(*options_.slurm) : run_in_threads();
  }

 private:
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
    LocalWorkers local(store_, open_.study, *open_.definition.workers, clock_, bell);
    WakingObserver observer(observer_, local);
    const auto on_look = [&](const std::vector<WorkerRow>& workers) {
      warn_of_neighbours(workers);
      return local.check();
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
      return follow(fleet);
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

  Store& store_;
  const OpenStudy& open_;
  const StudyRunOptions& options_;
  StudyRecord& record_;
  StudyProgress& progress_;
  ReportedStudy observer_;
  const CancelToken& cancel_;
  const SteadyClock clock_;
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
  return failure(resumable(result.error(), open, kept, options));
}

}  // namespace hocket
