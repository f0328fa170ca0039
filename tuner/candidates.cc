#include "tuner/candidates.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"
#include "tuner/sobol.h"

namespace hocket {
namespace {

constexpr std::uint64_t kLatticeLimit = 4096;
constexpr std::size_t kFillingPoints = 512;
constexpr std::size_t kFillingStarts = 4;
constexpr int kRounds = 8;
constexpr std::uint64_t kLevelLimit = 33;

}  // namespace

Candidates::Candidates(const Space& space) : space_(space) {
  if (space.size() > kLatticeLimit) return;
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    lattice_.push_back(space.encode(space.point_at(i)));
  }
}

void Candidates::sort_by_score(std::vector<Scored>& scored) {
  // Stable, so that equal scores keep one order and a seed repeats.
  std::stable_sort(scored.begin(), scored.end(),
                   [](const Scored& a, const Scored& b) { return a.score > b.score; });
}

std::vector<Candidates::Scored> Candidates::score_all(std::vector<UnitPoint> points,
                                                      const Score& score) {
  if (points.empty()) return {};
  const auto scores = score(points);
  HOCKET_CHECK(scores.size() == points.size(), "a score a point");
  std::vector<Scored> scored;
  for (std::size_t i = 0; i < points.size(); ++i) {
    scored.push_back({std::move(points[i]), scores[i]});
  }
  sort_by_score(scored);
  return scored;
}

std::vector<UnitPoint> Candidates::ranked(const Score& score, std::span<const UnitPoint> known,
                                          std::uint64_t seed) const {
  const auto points_of = [](const std::vector<Scored>& scored) {
    std::vector<UnitPoint> points;
    points.reserve(scored.size());
    for (const auto& s : scored) points.push_back(s.point);
    return points;
  };
  if (!lattice_.empty()) return points_of(score_all(lattice_, score));

  auto filling = sobol_points(space_.parameters().size(), 0, kFillingPoints, seed);
  for (auto& point : filling) point = space_.snap(point);
  auto scored = score_all(std::move(filling), score);
  auto starts = score_all({known.begin(), known.end()}, score);
  starts.insert(starts.end(), scored.begin(), scored.begin() + kFillingStarts);
  for (const auto& start : starts) scored.push_back(improve(start, score));
  sort_by_score(scored);
  return points_of(scored);
}

Candidates::Scored Candidates::improve(Scored start, const Score& score) const {
  for (int round = 0; round < kRounds; ++round) {
    bool moved = false;
    for (std::size_t i = 0; i < start.point.size(); ++i) {
      auto others = line(start.point, i);
      if (others.empty()) continue;
      auto best = std::move(score_all(std::move(others), score).front());
      if (!(best.score > start.score)) continue;
      start = std::move(best);
      moved = true;
    }
    if (!moved) break;
  }
  return start;
}

std::vector<UnitPoint> Candidates::line(const UnitPoint& point, std::size_t dimension) const {
  const Domain& domain = space_.parameters()[dimension].domain;
  std::vector<UnitPoint> points;
  const auto add = [&](double coordinate) {
    UnitPoint other = point;
    other[dimension] = coordinate;
    if (other != point) points.push_back(std::move(other));
  };
  const std::uint64_t levels = size(domain);
  if (levels <= kLevelLimit) {
    for (std::uint64_t i = 0; i < levels; ++i) add(encode(domain, value_at(domain, i)));
    return points;
  }
  for (int halvings = 1; halvings <= 10; ++halvings) {
    for (const double step : {-std::ldexp(1.0, -halvings), std::ldexp(1.0, -halvings)}) {
      add(encode(domain, decode(domain, point[dimension] + step)));
    }
  }
  return points;
}

}  // namespace hocket
