#pragma once

// Runs each trial as one execution of a command. One thread at a time.
//
// A trial passes its parameters in three ways: "{NAME}" in an argument is replaced
// (tuner/trial/placeholder.h), NAME=VALUE is set in the environment, and if some parameters are
// knobs of the scheduler, HOCKET_CONFIG holds the resulting ScheduleConfig. A value that is left
// out (tuner/space/job_value.h) is in neither (tuner/trial/command_call.h). HOCKET_TRIAL is the
// number of the trial; the path of an objective's file is filled in like an argument. HOCKET_REPORT
// and HOCKET_ITERATIONS name files in a private folder: a hocket job writes its report to the first
// and appends its iterations to the second as they are measured.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/files/scratch_folder.h"
#include "tuner/trial/cancel.h"
#include "tuner/trial/command_call.h"
#include "tuner/trial/file_fingerprint.h"
#include "tuner/trial/limit.h"
#include "tuner/trial/objective.h"
#include "tuner/trial/outliving_job.h"
#include "tuner/trial/process.h"
#include "tuner/trial/trial_runner.h"

namespace hocket {

struct CommandOptions {
  std::vector<std::string> command;
  /// Knobs of other tools among the parameters, and the values that the command has without hocket
  /// (tuner/trial/call/knob_call.h).
  KnobPlaces knobs = {};
  Params knob_defaults = {};
  Objective objective;
  std::vector<Objective> other_objectives = {};  ///< must not be automatic
  std::vector<MetricLimit> limits = {};
  std::size_t skip = 0;  ///< leading matches of a regex objective to drop as warm-up
  /// Drops what the samples of a regex or file objective show of a warm-up (tuner/trial/warm_up.h).
  bool finds_warm_up = false;
  std::string working_directory;  ///< empty: that of this process
  /// A trial is refused once the content of a program among them is another one.
  std::vector<FileFingerprint> files = {};
  std::optional<std::int64_t> time_limit_ns = {};
  /// Limits a trial further, to what this says when it begins. May be empty.
  std::function<std::int64_t()> time_left_ns = {};
  /// Run by `sh -c` at the end of each trial, however that ended, with the trial's environment; it
  /// may take `stop_limit_ns`. Ends a job that outlives the command (tuner/trial/outliving_job.h).
  /// Empty: there is none.
  std::string stop_command = {};
  std::int64_t stop_limit_ns = 30'000'000'000;
  /// In place of {WORKER}; empty: the number in HOCKET_WORKER, else 0.
  std::string worker = {};
  /// Added to the environment of every trial; parameters come before.
  std::map<std::string, std::string> environment = {};
};

class CommandRunner final : public TrialRunner {
 public:
  /// Makes the private folder (core/files/scratch_folder.h). `clock` and `cancel` must outlive
  /// this.
  static Result<CommandRunner> make(CommandOptions options, const Clock& clock,
                                    const CancelToken& cancel);

  /// Runs one trial.
  ///
  /// A command that ends with a status other than 0 has failed, unless it delivered a full report
  /// first: that trial is complete, with a warning. When the time limit expires, the whole process
  /// tree is ended. The tree is also ended when the samples visible so far
  /// (tuner/trial/running_samples.h) are slower than the incumbent's at the same places
  /// (tuner/trial/early_end.h); that trial is complete, with those samples behind its warm-up. A
  /// trial that exceeds a limit has failed; for a trial that was ended early only the greatest
  /// values of memory and wall time apply, because those metrics can only grow, and what must never
  /// be printed. A trial without a value for a further objective has failed. At the end of every
  /// trial the stop command runs; its failure is in the outcome's message.
  Result<TrialOutcome> run(const Params& params, std::span<const double> incumbent,
                           std::int64_t number = 1) override;

  /// Returns the objective, with `auto` resolved once a trial has shown whether the job writes
  /// reports.
  const Objective& objective() const { return options_.objective; }

 private:
  CommandRunner(CommandOptions options, const Clock& clock, const CancelToken& cancel,
                ScratchFolder folder);

  /// Returns whether this process is asked to stop, now or in a moment, as the command was: a batch
  /// system that ends a job sends SIGTERM to all its processes, one after the other. How the
  /// command ended then says nothing about its parameters.
  bool is_about_to_end(const ProcessResult& result) const;
  Result<ProcessOptions> process_options(const Params& params, std::int64_t number) const;
  /// Returns what placeholders stand for beside the parameters.
  PlaceholderValues names_of(std::int64_t number) const;
  /// Returns the objective with the path of its file filled in for the running trial.
  Objective filled(Objective objective) const;
  std::filesystem::path scratch_file(const char* name) const;
  std::filesystem::path file_of(const Objective& objective) const;
  Result<void> remove_stale_files() const;
  /// Runs the stop command, also after a request to stop; returns what went wrong, else nothing.
  std::string stop_job(const Params& params, const ProcessOptions& trial,
                       std::int64_t number) const;
  /// Adds to a failed outcome that a job of an earlier trial may be the cause.
  void name_earlier_job(const ProcessResult& result, TrialOutcome& outcome) const;
  /// Returns the outcome of a command that was not ended early, before limits are applied.
  TrialOutcome judge(const Params& params, const ProcessResult& result);
  bool needs_report() const;
  /// Returns how many of the first samples of an objective do not count.
  std::size_t warm_up_in(const Objective& objective, std::span<const double> samples) const;
  TrialEvidence evidence_for(const Objective& objective, const ProcessResult& result,
                             const TrialOutcome& outcome) const;
  /// Evaluates all objectives into `outcome`; resolves an automatic first objective.
  void measure(const ProcessResult& result, TrialOutcome& outcome);
  Result<void> measure_others(const ProcessResult& result, TrialOutcome& outcome);
  /// Turns a complete `outcome` that exceeds a limit into a failed one.
  void apply_limits(const ProcessResult& result, TrialOutcome& outcome) const;

  CommandOptions options_;
  const Clock* clock_;
  const CancelToken* cancel_;
  ScratchFolder folder_;
  std::int64_t limit_ns_ = 0;      ///< time limit of the running trial
  PlaceholderValues values_ = {};  ///< of placeholders, in the running trial
  /// Units of the objectives' numbers, the first objective's in front, as far as a trial has shown
  /// them: programs choose a unit for each value.
  std::vector<std::optional<NumberUnit>> units_;
  EarlierTrials earlier_ = {};
};

}  // namespace hocket
