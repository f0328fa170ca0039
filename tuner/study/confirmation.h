#pragma once

// The confirmation of a study's winner against the default (tuner/study/study.h): what runs next,
// and what it has shown. Runs form a pair, or a round where a rival of the winner runs beside it,
// only if one worker ran all of them, since workers differ: the runs of an open round count for
// nothing when another worker goes on, and its run opens a new one. With a rival the better of the
// two is compared with the default, and each comparison has half of the permitted error. Pure; a
// view of the trials so far. One thread at a time.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/promotion_rule.h"
#include "tuner/study/study.h"

namespace hocket {

class Confirmation {
 public:
  /// `trials`, the first of which is of the default, `winner` and `rival`, which are among them in
  /// the search, and `options` must outlive this. `rival` is null if there is none; it is not of
  /// the default.
  Confirmation(const std::vector<Trial>& trials, const Trial& winner, const Trial* rival,
               const StudyOptions& options);

  /// The setting to run next; nothing when the confirmation is over or the winner is the default.
  std::optional<Params> next() const;

  /// The trial of the setting that is recommended: the better in the runs so far.
  const Trial& best() const;

  /// The measurements of a setting of which `in_search` is the trial in the search.
  MeasuredParams measured(const Trial& in_search) const;

  /// Sets `promoted`, `reason` and, where pairs were compared, `gain`, `interval` and `needed`.
  void decide(StudyResult& result) const;

 private:
  const Trial& of_default() const { return trials_.front(); }
  int most_pairs() const { return options_.confirm_pairs; }
  bool default_failed() const { return !is_complete(of_default()); }
  bool has_failed() const;
  /// The confirmation runs of `params` that count, in order.
  std::vector<const Trial*> runs_of(const Params& params) const;
  /// Returns the median cost over the runs of a candidate; nothing without runs.
  std::optional<double> cost_in_runs(const Trial& candidate) const;
  /// Requires as many confirmation runs of the default as of best().
  PromotionVerdict verdict() const;
  void decide_over_failed_default(StudyResult& result) const;
  void decide_by_pairs(StudyResult& result) const;
  /// Returns what the comparison with the other candidate has shown; empty without one.
  std::string other_text() const;

  const std::vector<Trial>& trials_;
  const Trial& winner_;
  const StudyOptions& options_;
  /// The winner and its rival, without one that failed beside another.
  std::vector<const Trial*> candidates_;
  std::size_t first_candidates_ = 1;    ///< number of them before any failed
  std::vector<const Trial*> entrants_;  ///< those of a round: the default, unless it failed, first
  /// The confirmation runs that count: whole rounds, and the runs of an open one.
  std::vector<const Trial*> runs_;
};

}  // namespace hocket
