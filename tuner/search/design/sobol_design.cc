#include <algorithm>
#include <vector>

#include "tuner/search/initial_design.h"
#include "tuner/space/sobol_sequence.h"

namespace hocket {
namespace {

/// Points scanned for allowed ones. If fewer than one in some tens is allowed, excluded points are
/// moved instead.
constexpr std::size_t kScannedPoints = 256;

class SobolDesign final : public InitialDesign {
 public:
  SobolDesign(const Space& space, std::uint64_t seed, std::size_t fillers)
      : space_(space), seed_(seed), fillers_(fillers) {
    if (space.constraints().empty()) return;
    const auto points = sobol_points(space.parameters().size(), 0, kScannedPoints, seed);
    for (std::uint64_t i = 0; i < points.size() && places_.size() < fillers; ++i)
      if (space.allows(points[i])) places_.push_back(i);
  }

  std::size_t size() const override { return 1 + fillers_; }

  Params point(std::uint64_t index) const override {
    if (index == 0) return space_.defaults();
    const std::uint64_t place = index <= places_.size() ? places_[index - 1] : index - 1;
    const auto unit = sobol_points(space_.parameters().size(), place, 1, seed_).front();
    if (space_.constraints().empty()) return space_.decode(unit);
    const auto allowed = space_.snap_allowed(unit);
    return allowed ? space_.decode(*allowed) : space_.defaults();
  }

  std::string reason(std::uint64_t index) const override {
    return index == 0 ? "the default" : "fills the space, before there is a model";
  }

 private:
  const Space& space_;
  const std::uint64_t seed_;
  const std::size_t fillers_;
  /// Indices in the sequence of the first points that no constraint excludes.
  std::vector<std::uint64_t> places_;
};

}  // namespace

std::size_t fillers_without_model(const Space& space) {
  return std::max<std::size_t>(4, space.parameters().size());
}

std::unique_ptr<InitialDesign> sobol_design(const Space& space, std::uint64_t seed,
                                            std::size_t fillers) {
  return std::make_unique<SobolDesign>(space, seed, fillers);
}

}  // namespace hocket
