#pragma once

// The source of an explanation: the search of a study, or a recorded table. One thread.

#include <string>

#include "archive/studies/explanation/explained_study.h"
#include "core/base/result.h"
#include "tuner/table/recorded_table.h"

namespace CLI {
class App;
}

namespace hocket {

/// The source that a command line names: a study, or a table with its columns.
struct ExplanationSource {
  std::string study, store, table;
  RecordedTableOptions columns = {.objective_column = "value"};
  bool maximize = false;  ///< the column of the table was maximised
};

/// Declares the options that select a source. `source` must outlive `verb`.
void add_source(CLI::App& verb, ExplanationSource& source,
                const std::string& study_help = "its name or number");

/// Loads and explains a source. `verb` is the verb's name in messages.
Result<StudyExplanation> explain_source(const ExplanationSource& source, const std::string& verb);

}  // namespace hocket
