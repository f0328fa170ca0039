#pragma once

// The confirmation of a study's winner against the default (tuner/study/study.h): what runs next,
// and what it has shown. Two runs form a pair only if one worker ran both, since workers differ: a
// run whose partner another worker ran counts for nothing, and the partner opens a new pair. Pure;
// a view of the trials so far. One thread at a time.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/promotion_rule.h"
#include "tuner/study/study.h"

namespace hocket {

class Confirmation {
 public:
  /// `trials`, the first of which is of the default, `winner`, which is one of them in the search,
  /// and `options` must outlive this.
  Confirmation(const std::vector<Trial>& trials, const Trial& winner, const StudyOptions& options);

  /// The setting to run next; nothing when the confirmation is over or the winner is the default.
  std::optional<Params> next() const;

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
  /// Requires as many confirmation runs of the default as of the winner.
  PromotionVerdict verdict() const;
  void decide_over_failed_default(StudyResult& result) const;
  void decide_by_pairs(StudyResult& result) const;

  const std::vector<Trial>& trials_;
  const Trial& winner_;
  const StudyOptions& options_;
  /// The confirmation runs that count: whole pairs, and the first run of an open one.
  std::vector<const Trial*> runs_;
};

}  // namespace hocket
