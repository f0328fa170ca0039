#pragma once

// The seam between a study and whatever runs its trials: this process, one trial after the other
// (SerialCrew), or workers on several hosts (archive/workers/worker_crew.h). One thread at a time.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/trial_status.h"
#include "tuner/space/params.h"
#include "tuner/trial/trial_runner.h"

namespace hocket {

/// A trial that is to be run.
struct TrialToRun {
  TrialPhase phase = TrialPhase::search;
  Params params;
  /// Samples of the best trial so far, as TrialRunner::run() takes them.
  std::span<const double> incumbent = {};
  /// Runs on this worker as long as the crew has it, otherwise on any; empty: on any.
  std::string worker = {};
};

/// A trial that has been started and has not ended.
struct RunningTrial {
  std::int64_t number = 0;
  TrialPhase phase = TrialPhase::search;
  Params params;
  std::int64_t known = 0;  ///< as in FinishedTrial
};

/// How a trial ended.
struct EndedTrial {
  std::int64_t number = 0;
  TrialOutcome outcome;
  std::string worker = {};  ///< who ran it; empty if there is only one
};

class TrialCrew {
 public:
  virtual ~TrialCrew() = default;

  /// Returns the trials of a resumed study that still run, in order of their numbers.
  virtual Result<std::vector<RunningTrial>> running() = 0;

  /// Returns how many more trials would start at once now.
  virtual Result<std::size_t> free() = 0;

  /// Starts a trial and returns its number, which is above those of all trials before. A trial
  /// whose worker is lost stays started: another worker runs it.
  virtual Result<std::int64_t> start(const TrialToRun& trial) = 0;

  /// Waits until a trial has ended, and returns it; or returns nothing, when more trials may start
  /// than before. An error means that the study cannot go on, as TrialRunner::run() says.
  virtual Result<std::optional<EndedTrial>> wait() = 0;

  /// Returns whether wait() would return an ended trial at once. Trials that end together are all
  /// told before the study asks for more.
  virtual Result<bool> has_ended() { return false; }
};

/// Runs one trial at a time in this thread, by a runner.
class SerialCrew final : public TrialCrew {
 public:
  /// `runner` must outlive this. `next_number` is that of the first trial it starts.
  SerialCrew(TrialRunner& runner, std::int64_t next_number)
      : runner_(runner), next_number_(next_number) {}

  Result<std::vector<RunningTrial>> running() override { return std::vector<RunningTrial>(); }
  Result<std::size_t> free() override { return started_ ? 0 : 1; }
  Result<std::int64_t> start(const TrialToRun& trial) override;
  /// Runs the trial that was started.
  Result<std::optional<EndedTrial>> wait() override;

 private:
  TrialRunner& runner_;
  std::int64_t next_number_;
  std::optional<TrialToRun> started_;
};

}  // namespace hocket
