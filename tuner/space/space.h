#pragma once

// The search space: what a sweep may set, and the map between settings and points of the unit cube
// (one coordinate a parameter; a choice is an unordered coordinate). Constraints mask points of the
// product of the parameters: those are never tried. Immutable; thread-safe.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "tuner/space/constraint.h"
#include "tuner/space/parameter.h"
#include "tuner/space/params.h"

namespace hocket {

/// A point of the unit cube, one coordinate for each parameter in the order of the space.
using UnitPoint = std::vector<double>;

class Space {
 public:
  static constexpr std::size_t kMaxParameters = 64;

  static constexpr std::size_t kMaxConstraints = 64;
  /// Points of the largest space that is gone through as a whole.
  static constexpr std::uint64_t kLatticeLimit = 100'000;

  /// Validates every parameter; names are unique, at least one and at most kMaxParameters of them.
  /// The constraints (tuner/space/constraint.h) allow the default, and where size() is at most
  /// kLatticeLimit another point besides; the error says which of them to relax.
  static Result<Space> make(std::vector<Parameter> parameters,
                            const std::vector<std::string>& constraints = {});

  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<Constraint>& constraints() const { return constraints_; }

  /// Number of distinct points, allowed or not, at most UINT64_MAX, which stands for "more than can
  /// be asked".
  std::uint64_t size() const;

  /// Number of points that the constraints allow. Where there are some and size() is above
  /// kLatticeLimit, nobody counts them and this is size().
  std::uint64_t allowed_size() const { return allowed_size_; }

  /// The places (point_at) of the allowed points. Requires size() <= kLatticeLimit.
  std::vector<std::uint64_t> allowed_indices() const;

  /// Whether the constraints allow `params`, which are inside; or what they decode from.
  bool allows(const Params& params) const;
  bool allows(const UnitPoint& unit) const;

  /// Every parameter at its default.
  Params defaults() const;

  /// `params` as the space holds them, or an error that names the parameter that is missing, not
  /// known, or outside, or the constraint that excludes them.
  Result<Params> admit(const Params& params) const;

  /// Requires params that admit() has returned.
  UnitPoint encode(const Params& params) const;

  /// Always inside the space, allowed or not; decode() of each coordinate
  /// (tuner/space/parameter.h).
  Params decode(const UnitPoint& unit) const;

  /// The point that `unit` stands for: encode(decode(unit)).
  UnitPoint snap(const UnitPoint& unit) const;

  /// snap(unit) where that is allowed, else the first allowed point on the way to the default, half
  /// of what is left at a time; nothing where rounding lets the way miss the default itself.
  std::optional<UnitPoint> snap_allowed(const UnitPoint& unit) const;

  /// The `index`-th point, index < size(), allowed or not. Requires a space without real ranges
  /// wider than a point.
  Params point_at(std::uint64_t index) const;

  bool operator==(const Space&) const = default;

 private:
  explicit Space(std::vector<Parameter> parameters) : parameters_(std::move(parameters)) {}

  /// What constraints see of `params`, one number a parameter.
  std::vector<double> numbers_of(const Params& params) const;
  bool allows_numbers(std::span<const double> numbers) const;
  /// Calls `visit` with the numbers of every point, in order. Requires size() <= kLatticeLimit.
  template <class Visit>
  void for_each_point(Visit visit) const;
  /// Counts the allowed points, and refuses constraints that leave nothing to choose.
  Result<void> apply_constraints();
  /// Which constraint to relax when they leave `left` points.
  Error contradiction(std::uint64_t left) const;

  std::vector<Parameter> parameters_;
  std::vector<Constraint> constraints_;
  std::uint64_t allowed_size_ = 0;
};

/// Refuses a space with one allowed point: a sweep over it has nothing to choose.
Result<void> check_searchable(const Space& space);

/// `{"format":"hocket-space","version":1,"parameters":[{"name":…,"type":"int","low":…,"high":…,
/// "log":…,"default":…}, {"name":…,"type":"choice","choices":[…],"default":…}],
/// "constraints":["a<=4"]}`; it is kept with the study. Without constraints the field is left out.
nlohmann::json to_json(const Space& space);
Result<Space> space_from_json(const nlohmann::json& document);

}  // namespace hocket
