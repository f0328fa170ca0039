#pragma once

// Ask/tell search for the setting with the lowest value: a Gaussian process on the unit cube with
// expected improvement (Jones et al., J. Global Optimization 1998). One thread at a time.
//
// What ask() returns depends on the space, the seed and what has been asked and told, in order, and
// on nothing else; a new Optimizer that is told the same history goes on in the same way.

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "core/result.h"
#include "tuner/candidates.h"
#include "tuner/initial_design.h"
#include "tuner/space.h"

namespace hocket {

class Optimizer {
 public:
  Optimizer(Space space, std::uint64_t seed);

  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// The next setting to try: the default first, then a quasi-random start, then where the model
  /// expects most. Never one that was asked or told before; nothing once every point of the space
  /// has been.
  std::optional<Params> ask();

  /// The value measured at `params`, lower is better; any finite number. Params that were never
  /// asked, or told before, count too. Refuses params outside the space and values not finite.
  Result<void> tell(const Params& params, double value);

  /// `params` gave no value. The model takes the worst value told so far in its place.
  Result<void> tell_failure(const Params& params);

 private:
  struct Observation {
    UnitPoint point;
    std::optional<double> value;
  };

  Result<void> record(const Params& params, std::optional<double> value);
  std::optional<Params> next_of_design() const;
  std::optional<Params> next_of_model() const;
  /// A point not asked so far, the first in the space's own order. Requires that there is one.
  Params first_unasked() const;
  /// One value an observation, standardised, lower is better: logarithms where all values are
  /// positive, the worst for a failure. Requires at least one value.
  std::vector<double> modelled_values() const;

  const Space space_;
  const std::uint64_t seed_;
  const InitialDesign design_;
  const Candidates candidates_;
  std::set<Params> asked_;
  std::vector<Observation> observations_;
};

}  // namespace hocket
