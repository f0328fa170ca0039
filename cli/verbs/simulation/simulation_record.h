#pragma once

// Files written while a simulation runs: the timeline and the tape of one rank. One thread.

#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/programs/simulated_timeline.h"
#include "core/sim/simulator.h"
#include "core/step/schedule_config.h"
#include "core/tape/tape.h"

namespace hocket {

class SimulationRecord {
 public:
  /// Creates the files whose paths are not empty, for a simulation of `step` under `config` that
  /// observes `rank`. Requires that both are valid and that `rank` < step.ranks. Returns
  /// unavailable if a file cannot be created.
  static Result<std::unique_ptr<SimulationRecord>> create(const std::string& trace_path,
                                                          const std::string& tape_path,
                                                          const StepDescription& step,
                                                          const ScheduleConfig& config,
                                                          std::int64_t rank);

  /// Makes a simulation with `options` write to these files.
  void attach(SimulationOptions& options);

  /// Completes the files. Returns unavailable if they are incomplete.
  Result<void> finish();

 private:
  struct File {
    std::string path;
    std::ofstream stream;

    Result<void> open();
    Result<void> close();
  };

  SimulationRecord(const std::string& trace_path, const std::string& tape_path, std::int64_t rank)
      : rank_(rank), trace_file_{trace_path, {}}, tape_file_{tape_path, {}} {}

  const std::int64_t rank_;
  File trace_file_, tape_file_;
  SimulationClock clock_;
  std::optional<SimulatedTimeline> trace_;
  std::optional<TapeWriter> tape_;
};

}  // namespace hocket
