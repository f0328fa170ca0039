#pragma once

// The output of squeue and sacct about the tasks of an array, read strictly. Text rather than JSON:
// the fields have been the same from Slurm 20.11 on, while JSON changes with each version, needs a
// plugin that is not everywhere, and does not list the waiting tasks of an array one by one. Pure
// functions; thread-safe.

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "tuner/slurm/slurm.h"

namespace hocket {

/// For squeue's --Format, with --array --noheader: each field without padding, ended by a bar.
inline constexpr std::string_view kSqueueFormat =
    "ArrayTaskID:|,State:|,exit_code:|,RestartCnt:|,PreemptTime:|,JobID:|,NodeList:|,Reason:|";

/// For sacct's --format, with --allocations --noheader --parsable2.
inline constexpr std::string_view kSacctFormat = "JobID,JobIDRaw,State,ExitCode,NodeList";

/// Returns the state that Slurm's word stands for: "TIMEOUT", "CANCELLED by 1000".
SlurmState slurm_state(std::string_view word);

/// Reads lines of kSqueueFormat. invalid_argument, quoting the line, if one is different. Jobs that
/// are no tasks of an array are left out.
Result<std::vector<SlurmTask>> tasks_from_squeue(std::string_view text);

/// Reads lines of kSacctFormat, likewise. Tasks that sacct does not list one by one, because they
/// have never run, are left out.
Result<std::vector<SlurmTask>> tasks_from_sacct(std::string_view text);

}  // namespace hocket
