#pragma once

// The seam between a study and whatever runs its trials: this process, one trial after the other
// (SerialCrew), or workers on several hosts (archive/workers/worker_crew.h). One thread at a time.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "tuner/trial/trial.h"
#include "tuner/trial/trial_runner.h"

namespace hocket {

class TrialCrew {
 public:
  virtual ~TrialCrew() = default;

  /// Returns the trials of a resumed study that still run, in order of their numbers. They began by
  /// the clock of run_study().
  virtual Result<std::vector<Trial>> running() = 0;

  /// Returns how many more trials would start at once now.
  virtual Result<std::size_t> free() = 0;

  /// Starts a trial of this phase with these params, and returns its number, which is above those
  /// of all trials before. It runs on `trial.worker` as long as the crew has that one, otherwise on
  /// any. A trial whose worker is lost stays started: another worker runs it. `incumbent` is as in
  /// TrialRunner::run(), and must stay until the trial has ended.
  virtual Result<std::int64_t> start(const Trial& trial, std::span<const double> incumbent) = 0;

  /// Waits until a trial has ended, and returns it with its outcome and who ran it, its times
  /// aside; or returns nothing, when more trials may start than before. An error means that the
  /// study cannot go on, as TrialRunner::run() says.
  virtual Result<std::optional<Trial>> wait() = 0;

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

  Result<std::vector<Trial>> running() override { return std::vector<Trial>(); }
  Result<std::size_t> free() override { return started_ ? 0 : 1; }
  Result<std::int64_t> start(const Trial& trial, std::span<const double> incumbent) override;
  /// Runs the trial that was started.
  Result<std::optional<Trial>> wait() override;

 private:
  TrialRunner& runner_;
  std::int64_t next_number_;
  std::optional<Trial> started_;
  std::span<const double> incumbent_;  ///< samples that the started trial is compared with
};

}  // namespace hocket
