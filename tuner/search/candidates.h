#pragma once

// Which points of a space an acquisition is asked about. A space of up to Space::kLatticeLimit
// points is scored whole; in any other, points that fill it are scored and the best of them
// improved one coordinate at a time, always on points that exist: no continuous optimum is ever
// rounded. A point that a constraint excludes is never asked about. Immutable; thread-safe.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tuner/space/space.h"

namespace hocket {

/// Scores snapped, allowed points, one to some thousands; higher is better.
using Score = std::function<std::vector<double>(std::span<const UnitPoint>)>;

class Candidates {
 public:
  /// `space` must outlive this.
  explicit Candidates(const Space& space);

  /// At most `most` points of the space in the order of falling score: of all of a small space,
  /// else of some hundreds. The search starts from points that `seed` chooses and from `known`
  /// points, which are snapped and allowed. Empty only where no way leads to an allowed point.
  std::vector<UnitPoint> ranked(const Score& score, std::span<const UnitPoint> known,
                                std::uint64_t seed, std::size_t most = SIZE_MAX) const;

  /// Every allowed point of a small space, else points that fill it, `known` ones and the lines
  /// through them: for a score too dear to climb.
  std::vector<UnitPoint> survey(std::span<const UnitPoint> known, std::uint64_t seed) const;

 private:
  struct Scored {
    UnitPoint point;
    double score;
  };

  static void sort_by_score(std::vector<Scored>& scored);
  /// The points with their scores, best first.
  static std::vector<Scored> score_all(std::vector<UnitPoint> points, const Score& score);

  std::vector<UnitPoint> ranked_lattice(const Score& score, std::size_t most) const;
  /// Points that fill the allowed part of the space.
  std::vector<UnitPoint> filling(std::uint64_t seed) const;

  /// Coordinate ascent from `start` until no line holds a better point.
  Scored improve(Scored start, const Score& score) const;
  /// `point` with other values of one coordinate, as far as they are allowed: every level where
  /// they are few, else steps of many sizes.
  std::vector<UnitPoint> line(const UnitPoint& point, std::size_t dimension) const;

  const Space& space_;
  std::vector<UnitPoint> lattice_;  ///< every allowed point of a small space, else empty
};

}  // namespace hocket
