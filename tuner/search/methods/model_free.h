#pragma once

// What the methods without a model of the objective share: the default comes first, no setting is
// asked twice, and the setting with the lowest mean is recommended. Each method says where to look
// next. One thread at a time.
//
// No generator runs along: what is random depends on the seed and on how many settings were seen,
// so that a search that was only told a history goes on as the one that asked for it.

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tuner/search/methods/shuffle.h"
#include "tuner/search/search.h"
#include "tuner/space/space.h"

namespace hocket {

class ModelFreeSearch : public Search {
 public:
  std::optional<Suggestion> ask() final;
  Result<void> tell(const Evaluation& evaluation) final;
  std::optional<Recommendation> recommend() const final;

 protected:
  using Random = std::mt19937_64;

  ModelFreeSearch(Space space, std::uint64_t seed);

  /// A setting that may be asked (see is_new), or nothing when this method knows none: then any
  /// that is left is taken.
  virtual std::optional<Suggestion> propose() = 0;

  const Space& space() const { return space_; }
  std::uint64_t seed() const { return seed_; }

  /// Allowed, and neither asked nor told so far.
  bool is_new(const Params& params) const;

  /// How many settings were asked or told.
  std::size_t seen() const { return seen_.size(); }

  /// Every evaluation in the order in which it was told.
  const std::vector<Evaluation>& told() const { return told_; }

  /// For the `attempt`-th draw of the next setting; equal histories give equal draws.
  Random random(std::uint64_t attempt) const;

  /// A point that is new, each as likely as any other, or nothing after some tries.
  std::optional<Params> random_point() const;

 private:
  struct Mean {
    double value = 0;
    std::size_t count = 0;
    std::size_t first = 0;  ///< when it was told first; of equal means the earliest wins
  };

  /// A new point in a shuffled order of the whole space, which is gone through once.
  std::optional<Params> any_left();

  const Space space_;
  const std::uint64_t seed_;
  const Shuffle shuffle_;
  std::uint64_t next_in_shuffle_ = 0;  ///< everything before it was seen or is not allowed
  std::set<Params> seen_;
  std::vector<Evaluation> told_;
  std::map<Params, Mean> means_;
};

/// A number in [0, 1), the same on every platform.
double unit_draw(std::mt19937_64& random);

}  // namespace hocket
