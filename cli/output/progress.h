#pragma once

// Shows progress per trial. On a terminal it rewrites a single line; otherwise it prints one line
// for each finished trial. One thread.

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "cli/output/value_text.h"
#include "tuner/study/study.h"
#include "tuner/study/study_definition.h"

namespace hocket {

class StudyProgress {
 public:
  /// `columns`: width of the terminal if `err` is one, otherwise 0. `err` must outlive this object.
  StudyProgress(std::ostream& err, int columns, const StudyDefinition& definition);
  ~StudyProgress();  ///< Ends the line on a terminal.
  StudyProgress(const StudyProgress&) = delete;
  StudyProgress& operator=(const StudyProgress&) = delete;

  /// Counts a trial of an earlier run without showing it.
  void recall(const Trial& trial);

  /// Shows a line between the trials.
  void note(const std::string& line);

  void started(TrialPhase phase, const Params& params);

  /// Shows `note` ("emulated link: …", or empty) beside the value.
  void finished(const Trial& trial, const std::string& note);

 private:
  /// Returns for example "trial 3/15" or "confirmation 2/6"; the second number is the maximum.
  std::string label(TrialPhase phase, std::int64_t ordinal) const;
  std::string best_text() const;
  void rewrite(const std::string& line);

  std::ostream& err_;
  const int columns_;
  const ObjectiveUnit unit_;
  const Direction direction_;
  const std::vector<Objective> others_;
  const std::int64_t search_total_, confirm_pairs_;
  std::int64_t searched_ = 0, confirmed_ = 0;
  bool default_works_ = true;
  std::optional<double> best_;
  std::string last_;  ///< result of the latest trial
  bool line_open_ = false;
};

}  // namespace hocket
