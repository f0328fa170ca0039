#pragma once

// A study that this process is about to run: a new one, or one taken up again. One thread.

#include <string>
#include <vector>

#include "core/result.h"
#include "core/topology.h"
#include "store/store.h"
#include "tuner/study.h"
#include "tuner/study_definition.h"

namespace hocket {

/// The measurements of the objective itself, beside the metrics of a trial.
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
  std::string workload;  ///< until a report says what it is
  Topology topology;     ///< of this host, until a report says what the job runs on
};

Result<Sweep> start_sweep(Store& store, const NewSweep& sweep);

struct ResumedSweep {
  std::string name = {};                  ///< empty: the latest that is not finished
  std::vector<std::string> command = {};  ///< must be the study's, when there is one
  bool take_over = false;  ///< from an owner of which nobody here knows whether it lives
};

/// Refuses a study that is finished, whose owner is alive, or whose command is another. The trial
/// that was running when the study stopped is removed, to run again under its number.
Result<Sweep> resume_sweep(Store& store, const ResumedSweep& sweep);

/// A trial as the tuner knows it. Requires one that has ended, with its measurements.
Result<FinishedTrial> finished_trial(const TrialRow& row);

/// The trials of a study that have ended, in order.
Result<std::vector<FinishedTrial>> read_history(Store& store, std::int64_t study_id);

/// How the study is run, but for finding what it starts from.
StudyOptions study_options(const StudyDefinition& definition);

/// An automatic objective as the trials have shown what it means, else `objective`.
Objective resolved_objective(Objective objective, const std::vector<FinishedTrial>& history);

/// Whether a job's report was among what `trials` measured.
bool has_report(const std::vector<FinishedTrial>& trials);

}  // namespace hocket
