#pragma once

// The confirmation of a Pareto front: its points run again beside the default, because the search
// selected them partly for their luck. Pure; a view of the trials so far. One thread at a time.
//
// At most kMostFrontPoints points are run again: the best in each objective, and others evenly
// spaced along the first one. A round runs the default and every point that is not decided, in the
// opposite order of the round before, so that a slow drift of the machine favours none; there are
// at most `confirm_pairs` rounds. A point is confirmed when the rule of
// core/protocol/promotion_rule.h finds it better than the default in at least one objective. The
// objectives share the rule's error, so that a point equal to the default is confirmed in at most 5
// % of studies. It is decided when it is confirmed, or worse in every objective. When the default
// failed, each point runs twice by itself and is confirmed if it completes. A round goes on where
// it was if its worker is lost and another one takes over.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "tuner/study/study.h"

namespace hocket {

class FrontConfirmation {
 public:
  /// `trials`, of which the first is of the default, and `options` must outlive this.
  FrontConfirmation(const std::vector<Trial>& trials, const StudyOptions& options);

  /// The setting to run next; nothing when the confirmation is over.
  std::optional<Params> next() const;

  /// The default as measured beside the front, or in the search.
  MeasuredParams default_params() const { return measured(trials_.front()); }

  /// The front by the first objective, best first: the points of the search's front, without those
  /// that another one, or the default, beats in all objectives when both were measured again.
  std::vector<FrontPoint> points() const;

 private:
  using Runs = std::vector<const Trial*>;

  bool has_default() const;
  int most_rounds() const;
  const Runs& runs_of(const Params& params) const;
  MeasuredParams measured(const Trial& in_search) const;
  PromotionVerdict verdict(const Params& params, std::size_t objective) const;
  bool is_confirmed(const Params& params) const;
  /// Returns whether the point runs in the next round.
  bool is_open(const Params& params) const;
  std::vector<double> costs_of_measured(const MeasuredParams& measured) const;

  const std::vector<Trial>& trials_;
  const StudyOptions& options_;
  std::vector<const Trial*> front_;   ///< front of the search, ordered by the first objective
  std::vector<const Trial*> chosen_;  ///< members of the front to run again
  std::map<Params, Runs> runs_;
  /// The rest of the round that has begun.
  std::vector<Params> rest_;
};

}  // namespace hocket
