#include "tuner/initial_design.h"

#include <algorithm>

#include "tuner/sobol.h"

namespace hocket {
namespace {

/// Where fewer points than one in some tens are allowed, excluded ones are moved instead.
constexpr std::size_t kScannedPoints = 256;

}  // namespace

InitialDesign::InitialDesign(const Space& space, std::uint64_t seed) : space_(space), seed_(seed) {
  if (space.constraints().empty()) return;
  const auto points = sobol_points(space.parameters().size(), 0, kScannedPoints, seed);
  for (std::uint64_t i = 0; i < points.size() && places_.size() + 1 < size(); ++i) {
    if (space.allows(points[i])) places_.push_back(i);
  }
}

std::size_t InitialDesign::size() const {
  return 1 + std::max<std::size_t>(4, space_.parameters().size());
}

Params InitialDesign::point(std::uint64_t index) const {
  if (index == 0) return space_.defaults();
  const std::uint64_t place = index <= places_.size() ? places_[index - 1] : index - 1;
  const auto unit = sobol_points(space_.parameters().size(), place, 1, seed_).front();
  if (space_.constraints().empty()) return space_.decode(unit);
  const auto allowed = space_.snap_allowed(unit);
  return allowed ? space_.decode(*allowed) : space_.defaults();
}

}  // namespace hocket
