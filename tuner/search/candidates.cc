#include "tuner/search/candidates.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "core/base/check.h"
#include "tuner/space/sobol_sequence.h"

namespace hocket {
namespace {

/// Lattice points scored per call, so that the data a model keeps per point stays in the cache.
constexpr std::size_t kScoredAtOnce = 2048;
constexpr std::size_t kSurveyedLattice = 4096;
constexpr std::size_t kFillingPoints = 512;
constexpr std::size_t kFillingStarts = 4;
constexpr int kImprovementRounds = 8;
constexpr std::uint64_t kLevelLimit = 33;

/// Returns the scores with NaN replaced by −∞, so that there is always an order.
std::vector<double> scores_of(std::span<const UnitPoint> points, const PointScore& score) {
  auto scores = score(points);
  HOCKET_CHECK(scores.size() == points.size(), "a score a point");
  for (double& value : scores) {
    if (std::isnan(value)) value = -std::numeric_limits<double>::infinity();
  }
  return scores;
}

}  // namespace

CandidatePoints::CandidatePoints(const Space& space) : space_(space) {
  if (space.size() > Space::kLatticeLimit) return;
  std::vector<std::vector<double>> codes;
  for (const auto& [name, domain, default_value] : space.parameters()) {
    auto& levels = codes.emplace_back();
    for (std::uint64_t i = 0; i < value_count(domain); ++i) {
      levels.push_back(encode(domain, value_at(domain, i)));
    }
  }
  for (std::uint64_t rest : space.allowed_indices()) {
    auto& point = lattice_.emplace_back();
    for (const auto& levels : codes) {
      point.push_back(levels[rest % levels.size()]);
      rest /= levels.size();
    }
  }
}

void CandidatePoints::sort_by_score(std::vector<Scored>& scored) {
  // Stable, so that equal scores keep their order and results repeat for a seed.
  std::stable_sort(scored.begin(), scored.end(),
                   [](const Scored& a, const Scored& b) { return a.score > b.score; });
}

std::vector<CandidatePoints::Scored> CandidatePoints::score_all(std::vector<UnitPoint> points,
                                                                const PointScore& score) {
  if (points.empty()) return {};
  const auto scores = scores_of(points, score);
  std::vector<Scored> scored;
  for (std::size_t i = 0; i < points.size(); ++i) {
    scored.push_back({std::move(points[i]), scores[i]});
  }
  sort_by_score(scored);
  return scored;
}

std::vector<UnitPoint> CandidatePoints::ranked_lattice(const PointScore& score,
                                                       std::size_t most) const {
  std::vector<double> scores;
  const std::span<const UnitPoint> lattice = lattice_;
  for (std::size_t i = 0; i < lattice.size(); i += kScoredAtOnce) {
    const auto part = lattice.subspan(i, std::min(kScoredAtOnce, lattice.size() - i));
    const auto of_part = scores_of(part, score);
    scores.insert(scores.end(), of_part.begin(), of_part.end());
  }
  std::vector<std::size_t> order(lattice.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  most = std::min(most, order.size());
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(most);
  // Equal scores keep the order of the lattice, so that results repeat for a seed.
  std::partial_sort(order.begin(), end, order.end(), [&](std::size_t a, std::size_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
  std::vector<UnitPoint> points;
  for (auto it = order.begin(); it != end; ++it) points.push_back(lattice_[*it]);
  return points;
}

std::vector<UnitPoint> CandidatePoints::filling(std::uint64_t seed) const {
  auto points = sobol_points(space_.parameters().size(), 0, kFillingPoints, seed);
  std::vector<UnitPoint> allowed;
  for (auto& point : points) {
    if (auto near = space_.snap_allowed(point)) allowed.push_back(std::move(*near));
  }
  return allowed;
}

std::vector<UnitPoint> CandidatePoints::ranked(const PointScore& score,
                                               std::span<const UnitPoint> known, std::uint64_t seed,
                                               std::size_t most) const {
  if (!lattice_.empty()) return ranked_lattice(score, most);
  auto scored = score_all(filling(seed), score);
  // Rounding may have moved a known point into the excluded part of the space.
  std::vector<UnitPoint> allowed;
  std::copy_if(known.begin(), known.end(), std::back_inserter(allowed),
               [&](const UnitPoint& point) { return space_.allows(point); });
  auto starts = score_all(std::move(allowed), score);
  const auto fillers = std::min(scored.size(), kFillingStarts);
  starts.insert(starts.end(), scored.begin(),
                scored.begin() + static_cast<std::ptrdiff_t>(fillers));
  for (const auto& start : starts) scored.push_back(improve(start, score));
  sort_by_score(scored);
  std::vector<UnitPoint> points;
  for (std::size_t i = 0; i < std::min(most, scored.size()); ++i) {
    points.push_back(std::move(scored[i].point));
  }
  return points;
}

std::vector<UnitPoint> CandidatePoints::survey(std::span<const UnitPoint> known,
                                               std::uint64_t seed) const {
  if (!lattice_.empty() && lattice_.size() <= kSurveyedLattice) return lattice_;
  std::set<UnitPoint> points;
  for (UnitPoint& point : filling(seed)) points.insert(std::move(point));
  for (const UnitPoint& point : known) {
    points.insert(space_.snap(point));
    for (std::size_t dimension = 0; dimension < point.size(); ++dimension)
      for (UnitPoint& other : line(point, dimension)) points.insert(std::move(other));
  }
  return {points.begin(), points.end()};
}

CandidatePoints::Scored CandidatePoints::improve(Scored start, const PointScore& score) const {
  for (int round = 0; round < kImprovementRounds; ++round) {
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

std::vector<UnitPoint> CandidatePoints::line(const UnitPoint& point, std::size_t dimension) const {
  const Domain& domain = space_.parameters()[dimension].domain;
  std::vector<UnitPoint> points;
  const auto add = [&](double coordinate) {
    UnitPoint other = point;
    other[dimension] = coordinate;
    if (other != point && space_.allows(other)) points.push_back(std::move(other));
  };
  const std::uint64_t levels = value_count(domain);
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
