#pragma once

// The logs of an array's tasks, as far as they can be read from this host. Thread-safe.

#include <optional>
#include <string>
#include <string_view>

#include "tuner/slurm/slurm.h"

namespace hocket {

/// Returns the path of a task's log, from the submission's output or the user's --output and
/// --chdir. Nothing if it has patterns that depend on the host or the user.
std::optional<std::string> slurm_log_path(const SlurmSubmission& submission,
                                          const std::string& array_job_id, const SlurmTask& task);

/// Returns the last 4 KiB of a file, "" if it cannot be read.
std::string slurm_log_end(const std::string& path);

/// Returns why Slurm ended a task's run, by the last line of Slurm's in its log: "was preempted",
/// "was requeued", "lost its node", "ran out of time"; "" if there is no such line. Pure.
std::string_view slurm_cause(std::string_view log);

}  // namespace hocket
