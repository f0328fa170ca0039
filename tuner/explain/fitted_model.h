#pragma once

// The model of an explanation, fitted once and asked for as long as the explanation lives.
// Thread-safe: calls are serialised, because a Surrogate is of one thread at a time.

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "tuner/space/parameter.h"
#include "tuner/surrogate/surrogate.h"

namespace hocket {

class FittedModel {
 public:
  /// `surrogate` is fitted, to logarithms if `is_relative`, and keeps no reference to others.
  FittedModel(std::unique_ptr<Surrogate> surrogate, bool is_relative)
      : surrogate_(std::move(surrogate)), is_relative_(is_relative) {}

  /// Returns beliefs on the modelled scale, one row for each point.
  Belief believe(const std::vector<UnitPoint>& points) const;

  /// Returns a modelled value on the scale of the measurements, at most the largest finite number.
  double on_scale(double modelled) const;

 private:
  mutable std::mutex mutex_;
  const std::unique_ptr<Surrogate> surrogate_;  ///< guarded by mutex_
  const bool is_relative_;
};

/// Returns at most `most` values of a domain in order: all, or some at even distances on its scale.
std::vector<ParameterValue> values_along(const Domain& domain, std::size_t most);

}  // namespace hocket
