#include "tuner/search/methods/parzen.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "tuner/search/methods/model_free.h"

namespace hocket {
namespace {

constexpr double kPriorWeight = 1;
/// Number of latest values with full weight; earlier ones have decreasing weights.
constexpr std::size_t kFullWeight = 25;
/// Number of values above which a bin is too narrow to matter.
constexpr std::uint64_t kMaxBins = std::uint64_t{1} << 20;
/// Lower bound on the width of windows, as a share of the interval; wider if there are fewer
/// windows.
constexpr double kNarrowest = 1.0 / 100;
/// Most repetitions of a normal draw outside of [0, 1]; the windows' centres are inside.
constexpr int kMaxDraws = 100;

double normal_cdf(double z) {
  return std::erfc(-z / std::numbers::sqrt2) / 2;
}

/// Returns one weight per value, then the prior's, with sum 1.
std::vector<double> weights_of(std::size_t count) {
  std::vector<double> weights(count, 1);
  if (count > kFullWeight) {
    const std::size_t ramp = count - kFullWeight;
    const double first = 1 / static_cast<double>(count);
    for (std::size_t i = 0; i < ramp; ++i) {
      const double t = ramp == 1 ? 0 : static_cast<double>(i) / static_cast<double>(ramp - 1);
      weights[i] = first + (1 - first) * t;
    }
  }
  weights.push_back(kPriorWeight);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

double normal_draw(std::mt19937_64& random) {
  const double radius = std::sqrt(-2 * std::log(1 - unit_draw(random)));
  return radius * std::cos(2 * std::numbers::pi * unit_draw(random));
}

/// Returns the ends of the bin of `value`, one of `count` values.
std::pair<double, double> bin_of(const Domain& domain, const ParameterValue& value,
                                 std::uint64_t count) {
  const auto n = static_cast<double>(count);
  const double at = encode(domain, value);
  const auto* range = std::get_if<IntegerRange>(&domain);
  if (!range || !range->log) return {at - 0.5 / n, at + 0.5 / n};
  // Same mapping as in tuner/space/parameter.h: from log v to log(v + 1).
  const auto first = static_cast<double>(range->low);
  const double offset = static_cast<double>(std::get<std::int64_t>(value)) - first;
  const double whole = std::log1p(n / first);
  return {std::log1p(offset / first) / whole, std::log1p((offset + 1) / first) / whole};
}

}  // namespace

ParzenWindows::ParzenWindows(const Domain& domain, const std::vector<ParameterValue>& values)
    : domain_(domain) {
  const auto weights = weights_of(values.size());
  if (std::holds_alternative<Choices>(domain)) {
    count_choices(values, weights);
  } else {
    place_windows(values, weights);
  }
}

void ParzenWindows::count_choices(const std::vector<ParameterValue>& values,
                                  const std::vector<double>& weights) {
  const auto& names = std::get<Choices>(domain_).names;
  // A window gives each choice the prior's share of its weight, and its own choice the rest.
  const double share = kPriorWeight / static_cast<double>(weights.size());
  const double whole = 1 + share * static_cast<double>(names.size());
  shares_.assign(names.size(), weights.back() / static_cast<double>(names.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t c = 0; c < names.size(); ++c) {
      const bool own = names[c] == std::get<std::string>(values[i]);
      shares_[c] += weights[i] * (share + (own ? 1 : 0)) / whole;
    }
  }
}

void ParzenWindows::place_windows(const std::vector<ParameterValue>& values,
                                  const std::vector<double>& weights) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    windows_.push_back({weights[i], encode(domain_, values[i]), 0});
  }
  windows_.push_back({weights.back(), 0.5, 1});
  std::vector<std::size_t> order(windows_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return windows_[a].centre < windows_[b].centre;
  });
  // A window's width is the distance to its farther neighbour; the outermost ones have only one.
  const double narrowest = std::max(kNarrowest, 1 / (1 + static_cast<double>(windows_.size())));
  const std::size_t last = order.size() - 1;
  for (std::size_t k = 0; k < order.size(); ++k) {
    Window& window = windows_[order[k]];
    const double left = k == 0 ? window.centre : window.centre - windows_[order[k - 1]].centre;
    const double right =
        k == last ? 1 - window.centre : windows_[order[k + 1]].centre - window.centre;
    double width = std::max(left, right);
    if (last >= 1 && k == 0) width = right;
    if (last >= 1 && k == last) width = left;
    window.width = std::clamp(width, narrowest, 1.0);
  }
  windows_[values.size()].width = 1;
}

ParameterValue ParzenWindows::draw(std::mt19937_64& random) const {
  double rest = unit_draw(random);
  if (!shares_.empty()) {
    std::size_t choice = 0;
    while (choice + 1 < shares_.size() && rest >= shares_[choice]) rest -= shares_[choice++];
    return value_at(domain_, choice);
  }
  std::size_t chosen = 0;
  while (chosen + 1 < windows_.size() && rest >= windows_[chosen].weight) {
    rest -= windows_[chosen++].weight;
  }
  const Window& window = windows_[chosen];
  double unit = window.centre;
  for (int i = 0; i < kMaxDraws; ++i) {
    unit = window.centre + window.width * normal_draw(random);
    if (unit >= 0 && unit < 1) break;
  }
  return decode(domain_, unit);
}

double ParzenWindows::log_density(const ParameterValue& value) const {
  if (!shares_.empty()) {
    const auto& names = std::get<Choices>(domain_).names;
    const auto it = std::find(names.begin(), names.end(), std::get<std::string>(value));
    return std::log(shares_[static_cast<std::size_t>(it - names.begin())]);
  }
  const std::uint64_t count = value_count(domain_);
  const bool has_bins = count <= kMaxBins;
  const auto [low, high] = has_bins ? bin_of(domain_, value, count) : std::pair(0.0, 1.0);
  const double at = encode(domain_, value);
  double density = 0;
  for (const Window& window : windows_) {
    const auto cdf = [&](double x) { return normal_cdf((x - window.centre) / window.width); };
    const double inside = cdf(1) - cdf(0);
    const double z = (at - window.centre) / window.width;
    const double mass = has_bins ? cdf(high) - cdf(low) : std::exp(-z * z / 2) / window.width;
    density += window.weight * mass / inside;
  }
  return std::log(density);
}

}  // namespace hocket
