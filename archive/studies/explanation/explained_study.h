#pragma once

// A study of the store, explained: what its search learned, and why it ran each trial.
// Thread-safe: a StudyExplanation is a value that does not change, and each call has its own
// search and its own model.

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/direction.h"
#include "store/store.h"
#include "tuner/explain/explanation.h"
#include "tuner/space/space.h"
#include "tuner/surrogate/step_surrogate.h"
#include "tuner/trial/objective.h"
#include "tuner/trial/objective_unit.h"

namespace hocket {

/// The search of a study, or a recorded table, explained.
struct StudyExplanation {
  std::string title;      ///< "study NAME" or the name of the table's file
  std::string objective;  ///< explained objective; the first of several
  std::string label;      ///< name of the objective in plots and tables
  Direction direction = Direction::minimise;
  ObjectiveUnit unit = ObjectiveUnit::none;
  std::vector<Objective> others;  ///< further objectives; not explained
  Space space;
  std::vector<Trial> trials;
  /// Reason for each trial; empty if the search did not ask for it, or was not run again.
  std::vector<std::string> reasons;
  Explanation explanation;
  std::optional<StepCalibration> simulator = {};  ///< if the search simulated
};

/// A search of this many trials times parameters is run again in 3 to 14 s of one core, less with
/// many parameters: a model is fitted for each trial.
inline constexpr std::size_t kPromptRetraceLimit = 720;

struct ExplainStudyOptions {
  /// A search of at most this many trials times parameters is run again, for its reasons, its own
  /// recommendation and the calibration of its simulator, which takes as long as the search
  /// thought. Others have no reasons, no calibrated simulator, and the recommendation of
  /// explain_search().
  std::size_t retrace_limit = std::numeric_limits<std::size_t>::max();
};

/// Loads and explains a study by its name or number. not_found if there is none, invalid_argument
/// if fewer than two trials of its search have completed or if what is stored cannot be read.
Result<StudyExplanation> explain_study(Store& store, const std::string& name,
                                       const ExplainStudyOptions& options = {});

}  // namespace hocket
