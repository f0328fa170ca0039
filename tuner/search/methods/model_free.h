#pragma once

// Base class of the methods without a model of the objective: the default comes first, no setting
// is asked twice, and the setting with the lowest mean is recommended. Each method proposes the
// next setting. One thread at a time.
//
// No random generator keeps state: draws depend on the seed and on how many settings were seen, so
// that a search that was only told a history continues like the one that asked for it.

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

  /// Returns a setting that may be asked (see is_new), or nothing if the method has none to
  /// propose; any remaining setting is then taken.
  virtual std::optional<Suggestion> propose() = 0;

  const Space& space() const { return space_; }
  std::uint64_t seed() const { return seed_; }

  /// Returns whether `params` is allowed and was neither asked nor told so far.
  bool is_new(const Params& params) const;

  /// Returns how many settings were asked or told.
  std::size_t seen() const { return seen_.size(); }

  /// Returns every evaluation in the order in which it was told.
  const std::vector<Evaluation>& told() const { return told_; }

  /// Returns a generator for the `attempt`-th draw of the next setting; equal histories give equal
  /// draws.
  Random random(std::uint64_t attempt) const;

  /// Returns a new point, drawn uniformly, or nothing after a bounded number of tries.
  std::optional<Params> random_point() const;

 private:
  struct Mean {
    double value = 0;
    std::size_t count = 0;
    /// Index of its first evaluation in told_; of equal means the earliest wins.
    std::size_t first = 0;
  };

  /// Returns a new point in a shuffled order of the whole space, which is traversed once.
  std::optional<Params> any_left();

  const Space space_;
  const std::uint64_t seed_;
  const Shuffle shuffle_;
  std::uint64_t next_in_shuffle_ = 0;  ///< every index before it was seen or is not allowed
  std::set<Params> seen_;
  std::vector<Evaluation> told_;
  std::map<Params, Mean> means_;
};

/// Returns a number in [0, 1), the same on every platform.
double unit_draw(std::mt19937_64& random);

}  // namespace hocket
