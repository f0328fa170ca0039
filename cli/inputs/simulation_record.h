#pragma once

// The files that a simulation writes while it runs: the timeline and the tape of one rank. One
// thread.

#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/sim/simulator.h"
#include "core/step/schedule_config.h"
#include "core/step/step_description.h"
#include "core/tape/tape.h"
#include "profiler/formats/chrome_trace.h"

namespace hocket {

class SimulationRecord {
 public:
  /// Creates the files of those paths that are not empty, for a simulation of `step` under
  /// `config`, both valid, that watches `rank` < step.ranks. unavailable when that cannot be done.
  static Result<std::unique_ptr<SimulationRecord>> create(const std::string& trace_path,
                                                          const std::string& tape_path,
                                                          const StepDescription& step,
                                                          const ScheduleConfig& config,
                                                          std::int64_t rank);

  /// Lets a simulation with `options` write here.
  void attach(SimulationOptions& options);

  /// Ends the files. unavailable when they are not whole.
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
  std::optional<ChromeTraceWriter> trace_;
  std::optional<TapeWriter> tape_;
};

}  // namespace hocket
