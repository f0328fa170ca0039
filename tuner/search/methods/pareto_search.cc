#include "tuner/search/methods/pareto_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>

#include "core/base/text.h"
#include "tuner/search/model_scale.h"
#include "tuner/search/optimizer.h"
#include "tuner/space/sobol_sequence.h"

namespace hocket {
namespace {

/// Weight of the sum added to the maximum, so that no point scores as well as one that dominates
/// it.
constexpr double kAugmentation = 0.05;

class ParetoSearch final : public Search {
 public:
  ParetoSearch(Space space, std::uint64_t seed, std::size_t objectives)
      : space_(std::move(space)), seed_(seed), objectives_(objectives) {}

  std::optional<Suggestion> ask() override {
    const auto weights = pareto_weights(objectives_, asked_.size(), seed_);
    Optimizer optimizer(space_, {.seed = seed_, .simulate = false});
    const auto values = scalarized(values_, weights);
    for (std::size_t i = 0; i < values.size(); ++i)
      static_cast<void>(optimizer.tell({.params = completed_[i], .value = values[i]}));
    for (const Params& params : failed_)
      static_cast<void>(optimizer.tell({.params = params, .value = {}}));
    // The optimizer suggests outstanding settings again and then treats them as pending.
    while (auto suggestion = optimizer.ask()) {
      if (!asked_.insert(suggestion->params).second) continue;
      suggestion->reason = describe(weights) + suggestion->reason;
      return suggestion;
    }
    return std::nullopt;
  }

  Result<void> tell(const Evaluation& evaluation) override {
    const auto invalid = [](std::string message) {
      return failure(ErrorCode::invalid_argument, std::move(message));
    };
    auto params = space_.admit(evaluation.params);
    HOCKET_TRY(params);
    if (!evaluation.value) {
      asked_.insert(*params);
      failed_.push_back(std::move(*params));
      return {};
    }
    std::vector<double> values{*evaluation.value};
    values.insert(values.end(), evaluation.others.begin(), evaluation.others.end());
    if (values.size() != objectives_) {
      return invalid("expected values of " + std::to_string(objectives_) + " objectives, found " +
                     std::to_string(values.size()));
    }
    for (const double value : values)
      if (!std::isfinite(value)) return invalid("expected finite values, found " + to_text(value));
    asked_.insert(*params);
    completed_.push_back(std::move(*params));
    values_.push_back(std::move(values));
    return {};
  }

  std::optional<Recommendation> recommend() const override {
    if (values_.empty()) return std::nullopt;
    const auto best = std::min_element(values_.begin(), values_.end()) - values_.begin();
    const auto at = static_cast<std::size_t>(best);
    return Recommendation{completed_[at], values_[at].front(), 0,
                          "has the lowest value of the first objective"};
  }

 private:
  static std::string describe(const std::vector<double>& weights) {
    std::string text = "weighs the objectives ";
    for (std::size_t i = 0; i < weights.size(); ++i)
      text += (i == 0 ? "" : " : ") + std::to_string(std::lround(100 * weights[i]));
    return text + "; ";
  }

  const Space space_;
  const std::uint64_t seed_;
  const std::size_t objectives_;
  std::set<Params> asked_;
  std::vector<Params> completed_, failed_;
  std::vector<std::vector<double>> values_;  ///< one entry per element of completed_
};

}  // namespace

std::vector<double> pareto_weights(std::size_t objectives, std::uint64_t index,
                                   std::uint64_t seed) {
  std::vector<double> weights(objectives, 0);
  if (index % 2 == 0) {
    weights[index / 2 % objectives] = 1;
    return weights;
  }
  // Uniform on the simplex: normalised exponential variates.
  const auto point = sobol_points(objectives, index, 1, seed).front();
  for (std::size_t i = 0; i < objectives; ++i) weights[i] = -std::log1p(-point[i]);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) {
    weight = sum > 0 ? weight / sum : 1 / static_cast<double>(objectives);
  }
  return weights;
}

std::vector<double> scalarized(std::span<const std::vector<double>> values,
                               std::span<const double> weights) {
  std::vector<double> highest(values.size(), 0), sums(values.size(), 0);
  for (std::size_t k = 0; k < weights.size(); ++k) {
    ModelScale scale;
    for (const auto& v : values) scale.add(v[k]);
    // Halved, so that the difference of the largest numbers is finite.
    const auto level = [&](const std::vector<double>& v) {
      return scale.is_relative() ? scale.level(v[k]) : v[k] / 2;
    };
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const auto& v : values) {
      low = std::min(low, level(v));
      high = std::max(high, level(v));
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double share = high > low ? (level(values[i]) - low) / (high - low) : 0;
      highest[i] = std::max(highest[i], weights[k] * share);
      sums[i] += weights[k] * share;
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    highest[i] = 1 + highest[i] + kAugmentation * sums[i];
  return highest;
}

std::unique_ptr<Search> make_pareto_search(Space space, std::uint64_t seed,
                                           std::size_t objectives) {
  return std::make_unique<ParetoSearch>(std::move(space), seed, objectives);
}

}  // namespace hocket
