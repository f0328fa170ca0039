#pragma once

// Which points of a space an acquisition is asked about. A small finite space is scored whole; in
// any other, points that fill it are scored and the best of them improved one coordinate at a time,
// always on points that exist: no continuous optimum is ever rounded. Immutable; thread-safe.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tuner/space.h"

namespace hocket {

/// Scores snapped points, at least one; higher is better.
using Score = std::function<std::vector<double>(std::span<const UnitPoint>)>;

class Candidates {
 public:
  /// `space` must outlive this.
  explicit Candidates(const Space& space);

  /// Points of the space in the order of falling score: all of a small space, else some tens. The
  /// search starts from points that `seed` chooses and from `known` points, which are snapped.
  std::vector<UnitPoint> ranked(const Score& score, std::span<const UnitPoint> known,
                                std::uint64_t seed) const;

 private:
  struct Scored {
    UnitPoint point;
    double score;
  };

  static void sort_by_score(std::vector<Scored>& scored);
  /// The points with their scores, best first.
  static std::vector<Scored> score_all(std::vector<UnitPoint> points, const Score& score);

  /// Coordinate ascent from `start` until no line holds a better point.
  Scored improve(Scored start, const Score& score) const;
  /// `point` with other values of one coordinate: every level where they are few, else steps of
  /// many sizes.
  std::vector<UnitPoint> line(const UnitPoint& point, std::size_t dimension) const;

  const Space& space_;
  std::vector<UnitPoint> lattice_;  ///< every point of a small space, else empty
};

}  // namespace hocket
