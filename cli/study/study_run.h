#pragma once

// Runs an open study to its end: its trials one after the other in this process, or by workers
// (archive/workers/) in threads of it or in allocations of Slurm, and by those that join from
// elsewhere. One thread.

#include <optional>
#include <string>

#include "archive/studies/open_study.h"
#include "cli/base/context.h"
#include "core/base/result.h"
#include "store/store.h"
#include "tuner/slurm/slurm.h"
#include "tuner/study/study.h"

namespace hocket {

struct StudyRunOptions {
  /// The study ends within so much time of its start here (tuner/study/time_budget.h).
  std::optional<std::int64_t> max_time_ns = {};
  /// " --store STORE" as other verbs need it, without a password; empty for the default store.
  std::string store_argument = {};
  /// The workers are tasks of Slurm, not threads of this process.
  std::optional<SlurmSubmission> slurm = {};
  bool is_on_server = false;  ///< the store is a database, which may restart meanwhile
};

/// Shows the progress, and keeps what came of the study. An error says how the study can be
/// resumed, if it can.
Result<StudyResult> run_open_study(Store& store, const OpenStudy& open,
                                   const StudyRunOptions& options, VerbContext& context);

}  // namespace hocket
