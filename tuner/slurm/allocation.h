#pragma once

// The allocation of Slurm that a process runs in. Thread-safe.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/clock.h"

namespace hocket {

/// Looks up a variable of the environment; nothing if it is not set.
using SlurmEnvironment = std::function<std::optional<std::string>(const char*)>;

/// Returns the name of the worker that is a task of an array: "slurm-12_0". After the task was
/// requeued it is another worker, "slurm-12_0.1": what the one before it left must not be taken
/// for its work.
std::string slurm_worker_name(const std::string& array_job_id, int index, int restarts = 0);

/// Returns the name of the worker that this process is: as above, or "slurm-15" in the script of a
/// batch job without an array. Nothing outside of batch scripts: the processes of a step, of which
/// there may be many, are not workers.
std::optional<std::string> slurm_worker_name(const SlurmEnvironment& environment);

/// Reads a duration as squeue prints it: "1-02:03:04", "2:03:04", "0:55"; nothing if there is no
/// limit, or for any other text.
std::optional<std::int64_t> slurm_duration_ns(std::string_view text);

/// Returns how long the allocation of this process goes on, from SLURM_JOB_END_TIME (as of Slurm
/// 23.02) and the host's clock, `unix_time_ns`, or else from squeue, which may take seconds to
/// answer. Nothing outside of an allocation, without a limit, or if it cannot be told. The limit
/// may be changed while a job runs, which the variable does not show.
std::optional<std::int64_t> slurm_time_left_ns(const SlurmEnvironment& environment,
                                               std::int64_t unix_time_ns, const Clock& clock);

}  // namespace hocket
