#pragma once

// Concludes for `hocket doctor` from what processes have loaded. Anything that was not seen is "not
// known", never ok. Pure functions; thread-safe.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/checks/check.h"
#include "cli/checks/load_report.h"

namespace hocket {

/// The parts of hocket that were given to the processes.
struct LoadExpectation {
  std::string version;      ///< the program's
  bool has_package = true;  ///< the environment has hocket's package for Python
  bool has_plugin = true;   ///< the environment has the plugin for NCCL
};

/// The end of a command that the doctor has started.
struct CommandEnd {
  bool was_stopped = false;  ///< by the doctor, since all had reported or the time was over
  bool has_failed = false;
  std::string text = {};  ///< "exit status 1: its last lines"
};

/// Returns what the doctor's own process, which loads what a job would load, has found.
/// `processes` are those that have reported: none where it could not start.
std::vector<DoctorCheck> check_probe(const std::vector<LoadedProcess>& processes,
                                     const CommandEnd& end, const LoadExpectation& expected);

/// A job that the user's own launcher has started.
struct LaunchedJob {
  LoadReports reports = {};
  CommandEnd end = {};
  std::int64_t limit_ns = 0;                ///< how long the job was given
  std::string shared_folder = {};           ///< where all hosts report; empty: this host alone does
  std::vector<std::string> variables = {};  ///< names of those that the launcher has to pass on
};

/// Returns a check of the launch, and one of each rank that has reported.
std::vector<DoctorCheck> check_launched_job(const LaunchedJob& job,
                                            const LoadExpectation& expected);

}  // namespace hocket
