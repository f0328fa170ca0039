#pragma once

// The search space of a study, and the map between settings and points of the unit cube (one
// coordinate per parameter; the coordinate of a choice is unordered). Constraints exclude points of
// the product of the parameters; excluded points are never tried. Immutable; thread-safe.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
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
  /// Number of points up to which a space is enumerated.
  static constexpr std::uint64_t kLatticeLimit = 100'000;

  /// Validates every parameter; names must be unique, and there must be from one to kMaxParameters
  /// of them. The constraints (tuner/space/constraint.h) must allow the default and, if size() is
  /// at most kLatticeLimit, at least one other point; the error says which constraint to relax.
  static Result<Space> make(std::vector<Parameter> parameters,
                            const std::vector<std::string>& constraints = {});

  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<Constraint>& constraints() const { return constraints_; }

  /// Returns the number of distinct points, allowed or not, at most UINT64_MAX, which stands for
  /// "more than can be asked".
  std::uint64_t size() const;

  /// Returns the number of points that the constraints allow. With constraints and a size() above
  /// kLatticeLimit the points are not counted and this is size().
  std::uint64_t allowed_size() const { return allowed_size_; }

  /// Returns the indices (see point_at) of the allowed points. Requires size() <= kLatticeLimit.
  std::vector<std::uint64_t> allowed_indices() const;

  /// Returns whether the constraints allow `params`, which must be inside, or the setting that
  /// `unit` decodes to.
  bool allows(const Params& params) const;
  bool allows(const UnitPoint& unit) const;

  /// Returns the setting with every parameter at its default.
  Params defaults() const;

  /// Returns `params` in the types of the space, or an error that names the parameter that is
  /// missing, unknown or outside, or the constraint that excludes them.
  Result<Params> admit(const Params& params) const;

  /// Requires params that admit() has returned.
  UnitPoint encode(const Params& params) const;

  /// Returns decode() of each coordinate (tuner/space/parameter.h): always inside the space,
  /// allowed or not.
  Params decode(const UnitPoint& unit) const;

  /// Returns the point that represents `unit`: encode(decode(unit)).
  UnitPoint snap(const UnitPoint& unit) const;

  /// Returns snap(unit) if that is allowed, otherwise the first allowed point on the way to the
  /// default, halving the remaining distance at each step; nothing if rounding makes the path miss
  /// the default itself.
  std::optional<UnitPoint> snap_allowed(const UnitPoint& unit) const;

  /// Returns the `index`-th point, index < size(), allowed or not. Requires a space without real
  /// ranges of more than one point.
  Params point_at(std::uint64_t index) const;

  bool operator==(const Space&) const = default;

 private:
  explicit Space(std::vector<Parameter> parameters) : parameters_(std::move(parameters)) {}

  /// Returns number_of() of each parameter in `params`.
  std::vector<double> numbers_of(const Params& params) const;
  bool allows_numbers(std::span<const double> numbers) const;
  /// Calls `visit` with the index and numbers of every point, in order. Requires size() <=
  /// kLatticeLimit.
  template <class Visit>
  void for_each_point(Visit visit) const;
  /// Counts the allowed points; refuses constraints that leave nothing to choose.
  Result<void> apply_constraints();
  /// Returns an error that suggests a constraint to relax when the constraints leave `left` points.
  Error contradiction(std::uint64_t left) const;
  /// Returns "; with NAME=VALUE it is allowed" for the default with one other value, or that no
  /// setting which was looked at is allowed; otherwise "".
  std::string allowed_instead() const;

  std::vector<Parameter> parameters_;
  std::vector<Constraint> constraints_;
  std::uint64_t allowed_size_ = 0;
};

/// Refuses a space with a single allowed point: a study of it has nothing to choose.
Result<void> check_searchable(const Space& space);

/// Returns `{"format":"hocket-space","version":1,"parameters":[{"name":…,"type":"int","low":…,
/// "high":…,"log":…,"default":…}, {"name":…,"type":"choice","choices":[…],"default":…}],
/// "constraints":["a<=4"]}`, which is stored with the study. The field "constraints" is omitted if
/// there are none.
nlohmann::json to_json(const Space& space);
Result<Space> space_from_json(const nlohmann::json& document);

}  // namespace hocket
