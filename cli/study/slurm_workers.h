#pragma once

// Makes the job array that runs the workers of a study under Slurm.

#include <iosfwd>
#include <string>

#include "archive/studies/open_study.h"
#include "core/base/result.h"
#include "tuner/slurm/slurm.h"

namespace hocket {

/// Returns the array whose tasks run this program's `hocket work` for the study, with the options
/// that the study has for Slurm. `store` is that of --store and reaches the tasks by their
/// environment. Logs are in the study's working directory. Notes on `err` a store that other hosts
/// cannot open. invalid_argument for options that do not go, or a study without workers.
Result<SlurmSubmission> slurm_workers(const OpenStudy& open, const std::string& store,
                                      std::ostream& err);

}  // namespace hocket
