#pragma once

// What is submitted to Slurm for the workers of a study.

#include <iosfwd>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "tuner/archive/open_study.h"
#include "tuner/slurm/slurm.h"

namespace hocket {

/// Returns the array whose tasks run this program's `hocket work` for the study. `options` are
/// those of --slurm, `store` that of --store, which reaches the tasks by their environment. Logs
/// are in the study's working directory. Notes on `err` a store that other hosts cannot open.
/// invalid_argument for options that do not go, or a study without workers.
Result<SlurmSubmission> slurm_workers(std::string_view options, const std::string& store,
                                      const OpenStudy& open, std::ostream& err);

}  // namespace hocket
