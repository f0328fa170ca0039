#pragma once

// Trials that are runs of a command. One thread at a time.
//
// Each trial gets its parameters three ways: "{NAME}" in an argument is replaced (a {NAME} that is
// no parameter stays), NAME=VALUE is in the environment, and when parameters are knobs of the
// scheduler HOCKET_CONFIG holds the ScheduleConfig they make. HOCKET_REPORT and HOCKET_ITERATIONS
// name files in a private folder: a hocket job writes its report to the one, and its iterations to
// the other as they are measured.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "tuner/trial/cancel.h"
#include "tuner/trial/limit.h"
#include "tuner/trial/objective.h"
#include "tuner/trial/process.h"
#include "tuner/trial/trial_runner.h"

namespace hocket {

/// How a command is called with parameters.
struct CommandCall {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;  ///< beside what is inherited
};

/// `command` with `params`, as described above, without the files of a trial. invalid_argument for
/// knobs with values that the scheduler refuses.
Result<CommandCall> call_with(const std::vector<std::string>& command, const Params& params);

struct CommandOptions {
  std::vector<std::string> command;
  Objective objective;
  std::vector<Objective> other_objectives = {};  ///< none automatic
  std::vector<Limit> limits = {};
  std::size_t skip = 0;           ///< matches of a regex objective to drop, as warm-up
  std::string working_directory;  ///< empty: this process's own
  std::optional<std::int64_t> time_limit_ns;
};

class CommandRunner final : public TrialRunner {
 public:
  /// Makes the private folder. `clock` and `cancel` must outlive this.
  static Result<CommandRunner> make(CommandOptions options, const Clock& clock,
                                    const CancelToken& cancel);

  CommandRunner(CommandRunner&& other) noexcept;
  ~CommandRunner() override;  ///< Removes the private folder.

  /// A command that ends with a status other than 0 has failed, except that one which delivered a
  /// full report and then died is complete with a warning. Over the time limit its whole process
  /// tree is ended. So it is when its samples, as far as they can be seen
  /// (tuner/trial/running_samples.h), are slower than the incumbent's: the trial is complete, with
  /// those. A trial over a limit has failed; of one that was ended only memory and wall time count,
  /// which can only grow. So has one that lacks a further objective.
  Result<TrialOutcome> run(const Params& params, std::span<const double> incumbent) override;

  /// With `auto` resolved, once a trial has shown whether the job writes reports.
  const Objective& objective() const { return options_.objective; }

 private:
  CommandRunner(CommandOptions options, const Clock& clock, const CancelToken& cancel,
                std::filesystem::path folder);

  Result<ProcessOptions> process_options(const Params& params) const;
  std::filesystem::path file_of(const Objective& objective) const;
  Result<void> remove_stale_files() const;
  /// What came of a command that ended by itself, limits aside.
  TrialOutcome judge(const Params& params, const ProcessResult& result);
  bool needs_report() const;
  Evidence evidence_for(const Objective& objective, const ProcessResult& result,
                        const TrialOutcome& outcome) const;
  /// Evaluates the objectives, the first of which is resolved before, into `outcome`.
  void measure(const ProcessResult& result, TrialOutcome& outcome);
  Result<void> measure_others(const ProcessResult& result, TrialOutcome& outcome) const;
  /// Turns a complete `outcome` that is over a limit into a failed one.
  void apply_limits(const ProcessResult& result, TrialOutcome& outcome) const;

  CommandOptions options_;
  const Clock* clock_;
  const CancelToken* cancel_;
  std::filesystem::path folder_;
};

}  // namespace hocket
