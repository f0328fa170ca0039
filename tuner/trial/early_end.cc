#include "tuner/trial/early_end.h"

#include "core/base/rank_sum.h"

namespace hocket {

std::optional<double> early_end(std::span<const double> samples,
                                std::span<const double> incumbent) {
  if (incumbent.size() < kLeastSamples) return std::nullopt;
  double level = kEarlyEndLevel;
  for (std::size_t count = kLeastSamples; count <= samples.size(); count *= 2) {
    level /= 2;
    const double p = rank_sum_p(samples.first(count), incumbent);
    if (p <= level) return p;
  }
  return std::nullopt;
}

}  // namespace hocket
