#pragma once

// The source of an explanation: the search of a study, or a recorded table. One thread.

#include <optional>
#include <string>
#include <vector>

#include "cli/text.h"
#include "core/result.h"
#include "tuner/explanation.h"
#include "tuner/recorded_table.h"
#include "tuner/step_surrogate.h"

namespace CLI {
class App;
}

namespace hocket {

struct Explained {
  std::string title;      ///< "study NAME" or the table's file
  std::string objective;  ///< what was minimised: the first one of several
  Unit unit = Unit::none;
  std::vector<Objective> others;  ///< further objectives, which are not explained
  Space space;
  std::vector<SearchTrial> trials;
  std::vector<std::string> reasons;  ///< why each was asked; empty where nobody asked
  Explanation explanation;
  std::optional<StepCalibration> simulator = {};  ///< where the search simulated
};

/// The source that a command line names: a study, or a table with its columns.
struct ExplanationSource {
  std::string study, store, table;
  RecordedTableOptions columns = {.objective_column = "value"};
};

/// Declares what names a source. `source` must outlive `verb`.
void add_source(CLI::App& verb, ExplanationSource& source,
                const std::string& study_help = "its name or number");

/// `verb` is what the messages call it.
Result<Explained> explain_source(const ExplanationSource& source, const std::string& verb);

}  // namespace hocket
