#pragma once

// Runs each trial as one execution of a command. One thread at a time.
//
// A trial passes its parameters in three ways: "{NAME}" in an argument is replaced (a {NAME} that
// is not a parameter stays), NAME=VALUE is set in the environment, and if some parameters are knobs
// of the scheduler, HOCKET_CONFIG holds the resulting ScheduleConfig. HOCKET_REPORT and
// HOCKET_ITERATIONS name files in a private folder: a hocket job writes its report to the first and
// appends its iterations to the second as they are measured.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/files/scratch_folder.h"
#include "tuner/trial/cancel.h"
#include "tuner/trial/limit.h"
#include "tuner/trial/objective.h"
#include "tuner/trial/process.h"
#include "tuner/trial/trial_runner.h"

namespace hocket {

/// Arguments and environment of a command for given parameters.
struct CommandCall {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;  ///< in addition to the inherited environment
};

/// Returns the call of `command` with `params`, as described above, without the files of a trial.
/// invalid_argument for knob values that the scheduler refuses.
Result<CommandCall> call_with(const std::vector<std::string>& command, const Params& params);

struct CommandOptions {
  std::vector<std::string> command;
  Objective objective;
  std::vector<Objective> other_objectives = {};  ///< must not be automatic
  std::vector<MetricLimit> limits = {};
  std::size_t skip = 0;           ///< leading matches of a regex objective to drop as warm-up
  std::string working_directory;  ///< empty: that of this process
  std::optional<std::int64_t> time_limit_ns;
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
  /// (tuner/trial/running_samples.h) are slower than the incumbent's; that trial is complete, with
  /// those samples. A trial that exceeds a limit has failed; for a trial that was ended early only
  /// the greatest values of memory and wall time apply, because those metrics can only grow. A
  /// trial without a value for a further objective has failed.
  Result<TrialOutcome> run(const Params& params, std::span<const double> incumbent) override;

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
  Result<ProcessOptions> process_options(const Params& params) const;
  std::filesystem::path scratch_file(const char* name) const;
  std::filesystem::path file_of(const Objective& objective) const;
  Result<void> remove_stale_files() const;
  /// Returns the outcome of a command that was not ended early, before limits are applied.
  TrialOutcome judge(const Params& params, const ProcessResult& result);
  bool needs_report() const;
  TrialEvidence evidence_for(const Objective& objective, const ProcessResult& result,
                             const TrialOutcome& outcome) const;
  /// Evaluates all objectives into `outcome`; resolves an automatic first objective.
  void measure(const ProcessResult& result, TrialOutcome& outcome);
  Result<void> measure_others(const ProcessResult& result, TrialOutcome& outcome) const;
  /// Turns a complete `outcome` that exceeds a limit into a failed one.
  void apply_limits(const ProcessResult& result, TrialOutcome& outcome) const;

  CommandOptions options_;
  const Clock* clock_;
  const CancelToken* cancel_;
  ScratchFolder folder_;
};

}  // namespace hocket
