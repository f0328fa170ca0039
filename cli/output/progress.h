#pragma once

// A line of progress for each trial: one line, rewritten in place, on a terminal; a line of its own
// for each trial that ended elsewhere. One thread.

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "cli/output/value_text.h"
#include "tuner/study/study.h"
#include "tuner/study/study_definition.h"

namespace hocket {

class Progress {
 public:
  /// `columns` is the width of the terminal that `err` is, 0 when it is none. `err` must outlive
  /// this.
  Progress(std::ostream& err, int columns, const StudyDefinition& definition);
  ~Progress();  ///< Ends the line on a terminal.
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// A trial of earlier, of which nothing is shown.
  void recall(const FinishedTrial& trial);

  void started(TrialPhase phase, const Params& params);

  /// `note` ("emulated link: …", or empty) is shown beside the value.
  void finished(const FinishedTrial& trial, const std::string& note);

 private:
  /// "trial 3/15", "confirmation 2/6": so many at most
  std::string label(TrialPhase phase, std::int64_t ordinal) const;
  std::string best_text() const;
  void rewrite(const std::string& line);

  std::ostream& err_;
  const int columns_;
  const Unit unit_;
  const std::vector<Objective> others_;
  const std::int64_t search_total_, confirm_pairs_;
  std::int64_t searched_ = 0, confirmed_ = 0;
  bool default_works_ = true;
  std::optional<double> best_;
  std::string last_;  ///< how the latest trial ended
  bool line_open_ = false;
};

}  // namespace hocket
