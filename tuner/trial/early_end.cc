#include "tuner/trial/early_end.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/base/rank_sum.h"
#include "core/base/statistics.h"
#include "tuner/trial/warm_up.h"

namespace hocket {
namespace {

/// At most one of the ten pairs of five samples is in the order of a rise.
constexpr double kFallingTau = -0.75;

bool is_falling(std::span<const double> samples) {
  std::vector<double> places(samples.size());
  std::iota(places.begin(), places.end(), 0.0);
  return kendall_tau_b(places, samples) <= kFallingTau;
}

double middle(std::span<const double> samples) {
  return median({samples.begin(), samples.end()});
}

}  // namespace

std::optional<EarlyEnd> early_end(std::span<const double> samples,
                                  std::span<const double> incumbent) {
  const std::size_t warm_up = warm_up_of(incumbent);
  if (incumbent.size() < warm_up + kLeastSamples) return std::nullopt;
  double level = kEarlyEndLevel;
  for (std::size_t count = kLeastSamples; warm_up + count <= samples.size(); count *= 2) {
    level /= 2;
    const auto seen = samples.first(warm_up + count);
    const std::size_t from = std::max(warm_up, warm_up_of(seen));
    const auto own = seen.subspan(from);
    if (own.size() < kLeastSamples || incumbent.size() < from + kLeastSamples) continue;
    const auto peer = incumbent.subspan(from, std::min(own.size(), incumbent.size() - from));
    if (is_falling(own) && !is_falling(peer)) continue;
    if (middle(own) <= middle(peer)) continue;
    const double p = rank_sum_p(own, incumbent.subspan(from));
    if (p <= level) return EarlyEnd{p, from};
  }
  return std::nullopt;
}

}  // namespace hocket
