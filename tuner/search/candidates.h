#pragma once

// Chooses the points of a space at which an acquisition function is evaluated. A space of up to
// Space::kLatticeLimit points is scored whole. In a larger space, points that fill it are scored
// and the best of them are improved one coordinate at a time, always on points that exist: no
// continuous optimum is ever rounded. Points that a constraint excludes are never scored.
// Immutable; thread-safe.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tuner/space/space.h"

namespace hocket {

/// Scores snapped, allowed points, from one to a few thousand per call; higher is better.
using PointScore = std::function<std::vector<double>(std::span<const UnitPoint>)>;

class CandidatePoints {
 public:
  /// `space` must outlive this.
  explicit CandidatePoints(const Space& space);

  /// Returns up to `most` points of the space by falling score: out of all points of a small space,
  /// out of some hundreds otherwise. The search starts from points chosen by `seed` and from the
  /// `known` points, which must be snapped and allowed. Returns no point only if no allowed point
  /// can be reached.
  std::vector<UnitPoint> ranked(const PointScore& score, std::span<const UnitPoint> known,
                                std::uint64_t seed, std::size_t most = SIZE_MAX) const;

  /// Returns every allowed point of a small space; otherwise points that fill the space, the
  /// `known` points and the lines through them. For scores too expensive to climb.
  std::vector<UnitPoint> survey(std::span<const UnitPoint> known, std::uint64_t seed) const;

 private:
  struct Scored {
    UnitPoint point;
    double score;
  };

  static void sort_by_score(std::vector<Scored>& scored);
  /// Returns the points with their scores, best first.
  static std::vector<Scored> score_all(std::vector<UnitPoint> points, const PointScore& score);

  std::vector<UnitPoint> ranked_lattice(const PointScore& score, std::size_t most) const;
  /// Returns points that fill the allowed part of the space.
  std::vector<UnitPoint> filling(std::uint64_t seed) const;

  /// Runs coordinate ascent from `start` until no line holds a better point or the round limit is
  /// reached.
  Scored improve(Scored start, const PointScore& score) const;
  /// Returns `point` with other allowed values of one coordinate: every level if there are few,
  /// steps of many sizes otherwise.
  std::vector<UnitPoint> line(const UnitPoint& point, std::size_t dimension) const;

  const Space& space_;
  std::vector<UnitPoint> lattice_;  ///< every allowed point of a small space, else empty
};

}  // namespace hocket
