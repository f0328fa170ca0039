#pragma once

// A study that this process is about to run: a new or a resumed one. One thread.

#include <string>
#include <vector>

#include "core/base/result.h"
#include "store/store.h"
#include "tuner/study/study.h"
#include "tuner/study/study_definition.h"

namespace hocket {

/// Name of the metric with the objective's samples, beside a trial's other metrics.
constexpr const char* kSamplesMetric = "objective";

struct Sweep {
  StudyRow study;  ///< owned by this process
  StudyDefinition definition;
  std::vector<FinishedTrial> history;
};

struct NewSweep {
  StudyDefinition definition;
  std::vector<std::string> command;
  std::string name;      ///< empty: generated
  std::string workload;  ///< used until a report provides the workload
};

Result<Sweep> start_sweep(Store& store, const NewSweep& sweep);

struct ResumedSweep {
  std::string name = {};                  ///< empty: the latest unfinished study
  std::vector<std::string> command = {};  ///< must equal the study's command, if not empty
  bool take_over = false;  ///< take it over even if it is unknown whether its owner is alive
};

/// Prepares a study for resuming. Refuses a study that is finished, whose owner is alive, or whose
/// command differs. Removes the trial that was running when the study stopped; it runs again under
/// the same number.
Result<Sweep> resume_sweep(Store& store, const ResumedSweep& sweep);

/// Returns a trial in the tuner's form. Requires a finished trial with its measurements.
Result<FinishedTrial> finished_trial(const TrialRow& row);

/// Returns the finished trials of a study, in order.
Result<std::vector<FinishedTrial>> read_history(Store& store, std::int64_t study_id);

/// Returns the options of the study, without a donor.
StudyOptions study_options(const StudyDefinition& definition);

/// Returns the objective that an automatic `objective` resolves to according to the trials;
/// otherwise `objective`.
Objective resolved_objective(Objective objective, const std::vector<FinishedTrial>& history);

/// Returns whether the measurements in `trials` include a job's report.
bool has_report(const std::vector<FinishedTrial>& trials);

}  // namespace hocket
