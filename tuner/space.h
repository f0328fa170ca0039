#pragma once

// The search space: what a sweep may set, and the map between settings and points of the unit cube
// (one coordinate a parameter; a choice is an unordered coordinate). Immutable; thread-safe.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/result.h"
#include "tuner/parameter.h"
#include "tuner/params.h"

namespace hocket {

/// A point of the unit cube, one coordinate for each parameter in the order of the space.
using UnitPoint = std::vector<double>;

class Space {
 public:
  static constexpr std::size_t kMaxParameters = 64;

  /// Validates every parameter; names are unique, at least one and at most kMaxParameters of them.
  static Result<Space> make(std::vector<Parameter> parameters);

  const std::vector<Parameter>& parameters() const { return parameters_; }

  /// Number of distinct points, at most UINT64_MAX, which stands for "more than can be asked".
  std::uint64_t size() const;

  /// Every parameter at its default.
  Params defaults() const;

  /// `params` as the space holds them, or an error that names the parameter that is missing, not
  /// known, or outside.
  Result<Params> admit(const Params& params) const;

  /// Requires params that admit() has returned.
  UnitPoint encode(const Params& params) const;

  /// Always inside the space; decode() of each coordinate (tuner/parameter.h).
  Params decode(const UnitPoint& unit) const;

  /// The point that `unit` stands for: encode(decode(unit)).
  UnitPoint snap(const UnitPoint& unit) const;

  /// The `index`-th point, index < size(). Requires a space without real ranges wider than a point.
  Params point_at(std::uint64_t index) const;

  bool operator==(const Space&) const = default;

 private:
  explicit Space(std::vector<Parameter> parameters) : parameters_(std::move(parameters)) {}

  std::vector<Parameter> parameters_;
};

/// Refuses a space with one point: a sweep over it has nothing to choose.
Result<void> check_searchable(const Space& space);

/// `{"format":"hocket-space","version":1,"parameters":[{"name":…,"type":"int","low":…,"high":…,
/// "log":…,"default":…}, {"name":…,"type":"choice","choices":[…],"default":…}]}`; it is kept with
/// the study.
nlohmann::json to_json(const Space& space);
Result<Space> space_from_json(const nlohmann::json& document);

}  // namespace hocket
