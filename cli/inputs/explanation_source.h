#pragma once

// The source of an explanation: the search of a study, or a recorded table. One thread.

#include <optional>
#include <string>
#include <vector>

#include "cli/output/value_text.h"
#include "core/base/result.h"
#include "tuner/explain/explanation.h"
#include "tuner/surrogate/step_surrogate.h"
#include "tuner/table/recorded_table.h"

namespace CLI {
class App;
}

namespace hocket {

struct Explained {
  std::string title;      ///< "study NAME" or the name of the table's file
  std::string objective;  ///< explained objective; the first of several
  std::string label;      ///< what plots and tables call it
  Direction direction = Direction::minimise;
  Unit unit = Unit::none;
  std::vector<Objective> others;  ///< further objectives; not explained
  Space space;
  std::vector<SearchTrial> trials;
  /// reason for each trial; empty if it was not asked for by the search
  std::vector<std::string> reasons;
  Explanation explanation;
  std::optional<StepCalibration> simulator = {};  ///< if the search simulated
};

/// The source that a command line names: a study, or a table with its columns.
struct ExplanationSource {
  std::string study, store, table;
  RecordedTableOptions columns = {.objective_column = "value"};
  bool maximize = false;  ///< of a table: the column was maximised
};

/// Declares the options that select a source. `source` must outlive `verb`.
void add_source(CLI::App& verb, ExplanationSource& source,
                const std::string& study_help = "its name or number");

/// Loads and explains a source. `verb` is the verb's name in messages.
Result<Explained> explain_source(const ExplanationSource& source, const std::string& verb);

}  // namespace hocket
