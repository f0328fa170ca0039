#pragma once

// Starts a command as a job would be started, with a file to which its processes report what they
// have loaded (cli/checks/load_report.h). One thread.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/checks/check.h"
#include "core/base/clock.h"
#include "core/base/result.h"
#include "tuner/trial/cancel.h"

namespace hocket {

/// The environments of `hocket torch` and `hocket nccl` together.
struct JobEnvironment {
  std::map<std::string, std::string> variables = {};
  bool has_package = false;  ///< hocket's package for Python is there
  bool has_plugin = false;   ///< the plugin for NCCL is there
};

/// Returns the environment that `program`, the path of this one, gives to jobs.
JobEnvironment job_environment(const std::string& program);

/// Starts the python3 of PATH, which loads what a job would load and ends, and judges what it says.
/// Takes as long as importing PyTorch, at most a time limit.
std::vector<DoctorCheck> check_loads(const std::string& program, const std::string& version,
                                     const Clock& clock, const CancelToken& cancel);

/// A job that the user's own launcher is to start.
struct JobLaunch {
  std::vector<std::string> command = {};
  std::int64_t limit_ns = 0;       ///< how long it may run
  std::string shared_folder = {};  ///< that all hosts of the job see; empty: only this host reports
};

/// Starts the user's own command and ends it, with all its processes, when every rank on this host
/// has reported, with a shared folder every rank of the job, or after the limit. invalid_argument
/// if the command cannot be started or the folder cannot be used, not_found if hocket has nothing
/// to put into the job, interrupted where the user asked for an end.
Result<std::vector<DoctorCheck>> check_job(const JobLaunch& launch, const std::string& program,
                                           const std::string& version, const Clock& clock,
                                           const CancelToken& cancel);

}  // namespace hocket
