#include "tuner/search/methods/grid_search.h"

#include <algorithm>
#include <limits>

#include "tuner/search/methods/model_free.h"
#include "tuner/search/methods/shuffle.h"

namespace hocket {
namespace {

/// Level from which 64-bit integers are not resolved any further.
constexpr unsigned kFinestLevel = 62;
/// Consecutive points that are not new, after which any remaining setting is taken.
constexpr std::uint64_t kGridTries = std::uint64_t{1} << 20;

/// Returns the number of values of `domain` on a grid of 2^level + 1 values (one, the middle, on
/// level 0).
std::uint64_t level_size(const Domain& domain, unsigned level) {
  const std::uint64_t all = value_count(domain);
  if (std::holds_alternative<Choices>(domain)) return all;
  return level == 0 ? 1 : std::min(all, (std::uint64_t{1} << level) + 1);
}

ParameterValue level_value(const Domain& domain, unsigned level, std::uint64_t index) {
  const std::uint64_t count = level_size(domain, level);
  if (count == value_count(domain)) return value_at(domain, index);
  if (count == 1) return middle_value(domain);
  return decode(domain, static_cast<double>(index) / static_cast<double>(count - 1));
}

class GridSearch final : public ModelFreeSearch {
 public:
  GridSearch(Space space, std::uint64_t seed)
      : ModelFreeSearch(std::move(space), seed), shuffle_(shuffle_of(0)) {}

 private:
  std::optional<Suggestion> propose() override {
    for (std::uint64_t tries = 0; tries < kGridTries; ++tries) {
      if (next_ == shuffle_.size() && !refine()) return std::nullopt;
      Params params = point(shuffle_[next_]);
      if (is_new(params)) {
        return Suggestion{std::move(params), "level " + std::to_string(level_) + " of the grid"};
      }
      ++next_;
    }
    return std::nullopt;
  }

  /// Moves to the next level; returns false on the finest one.
  bool refine() {
    if (level_size_of(level_) == space().size() || level_ == kFinestLevel) return false;
    ++level_;
    shuffle_ = shuffle_of(level_);
    next_ = 0;
    return true;
  }

  /// Returns the number of points of a level, at most UINT64_MAX.
  std::uint64_t level_size_of(unsigned level) const {
    std::uint64_t product = 1;
    for (const auto& parameter : space().parameters()) {
      if (__builtin_mul_overflow(product, level_size(parameter.domain, level), &product)) {
        return std::numeric_limits<std::uint64_t>::max();
      }
    }
    return product;
  }

  Shuffle shuffle_of(unsigned level) const { return {level_size_of(level), seed() + level}; }

  Params point(std::uint64_t index) const {
    Params params;
    for (const auto& parameter : space().parameters()) {
      const std::uint64_t count = level_size(parameter.domain, level_);
      params[parameter.name] = level_value(parameter.domain, level_, index % count);
      index /= count;
    }
    return params;
  }

  unsigned level_ = 0;
  std::uint64_t next_ = 0;  ///< index in the shuffled level; no earlier point is new
  Shuffle shuffle_;
};

}  // namespace

std::unique_ptr<Search> make_grid_search(Space space, std::uint64_t seed) {
  return std::make_unique<GridSearch>(std::move(space), seed);
}

}  // namespace hocket
