#pragma once

// Trials that are runs of a command. One thread at a time.
//
// Each trial gets its parameters three ways: "{NAME}" in an argument is replaced (a {NAME} that is
// no parameter stays), NAME=VALUE is in the environment, and when parameters are knobs of the
// scheduler HOCKET_CONFIG holds the ScheduleConfig they make. HOCKET_REPORT names a file in a
// private folder to which a hocket job writes its report.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/result.h"
#include "tuner/cancel.h"
#include "tuner/objective.h"
#include "tuner/process.h"
#include "tuner/trial.h"

namespace hocket {

struct CommandOptions {
  std::vector<std::string> command;
  Objective objective;
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
  /// tree is ended.
  Result<TrialOutcome> run(const Params& params) override;

  /// With `auto` resolved, once a trial has shown whether the job writes reports.
  const Objective& objective() const { return options_.objective; }

 private:
  CommandRunner(CommandOptions options, const Clock& clock, const CancelToken& cancel,
                std::filesystem::path folder);

  Result<ProcessOptions> process_options(const Params& params) const;
  std::filesystem::path objective_file() const;
  Result<void> remove_stale_files() const;
  TrialOutcome judge(const Params& params, ProcessResult result);
  bool needs_report() const;
  /// Evaluates the objective, which is resolved first, into `outcome`.
  void measure(ProcessResult result, TrialOutcome& outcome);

  CommandOptions options_;
  const Clock* clock_;
  const CancelToken* cancel_;
  std::filesystem::path folder_;
};

}  // namespace hocket
