#include "tuner/search/methods/model_free.h"

#include <cmath>
#include <limits>

namespace hocket {
namespace {

/// Random draws per proposal; if all fail, few points are left.
constexpr std::uint64_t kRandomTries = 64;
/// Largest space that is traversed. A larger one counts as exhausted after kLastTries failed draws.
constexpr std::uint64_t kMaxWalk = std::uint64_t{1} << 22;
constexpr std::uint64_t kLastTries = 100'000;

constexpr std::uint64_t kShuffleStream = 0x5348'5546;

}  // namespace

double unit_draw(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

ModelFreeSearch::ModelFreeSearch(Space space, std::uint64_t seed)
    : space_(std::move(space)), seed_(seed), shuffle_(space_.size(), seed ^ kShuffleStream) {}

std::optional<Suggestion> ModelFreeSearch::ask() {
  std::optional<Suggestion> suggestion;
  if (const Params defaults = space_.defaults(); is_new(defaults)) {
    suggestion = Suggestion{defaults, "the default comes first"};
  } else {
    suggestion = propose();
  }
  if (!suggestion) {
    auto left = any_left();
    if (!left) return std::nullopt;
    suggestion = Suggestion{std::move(*left), "one of the settings that are left"};
  }
  seen_.insert(suggestion->params);
  return suggestion;
}

Result<void> ModelFreeSearch::tell(const Evaluation& evaluation) {
  auto params = space_.admit(evaluation.params);
  HOCKET_TRY(params);
  if (evaluation.value && !std::isfinite(*evaluation.value)) {
    return failure(ErrorCode::invalid_argument,
                   "expected a finite value, found " + to_text(*evaluation.value));
  }
  if (!std::isfinite(evaluation.standard_error) || evaluation.standard_error < 0) {
    return failure(ErrorCode::invalid_argument, "expected a standard error of at least 0, found " +
                                                    to_text(evaluation.standard_error));
  }
  seen_.insert(*params);
  if (evaluation.value) {
    Mean& mean = means_[*params];
    if (mean.count == 0) mean.first = told_.size();
    const auto n = static_cast<double>(++mean.count);
    // mean + (value − mean) / n could overflow in the difference.
    mean.value = mean.value * ((n - 1) / n) + *evaluation.value / n;
  }
  told_.push_back({std::move(*params), evaluation.value, evaluation.standard_error});
  return {};
}

std::optional<Recommendation> ModelFreeSearch::recommend() const {
  const std::pair<const Params, Mean>* best = nullptr;
  for (const auto& candidate : means_) {
    const auto& [value, count, first] = candidate.second;
    if (best == nullptr || value < best->second.value ||
        (value == best->second.value && first < best->second.first)) {
      best = &candidate;
    }
  }
  if (best == nullptr) return std::nullopt;
  const std::size_t count = best->second.count;
  return Recommendation{
      .params = best->first,
      .expected = best->second.value,
      .deviation = 0,
      .reason = count == 1 ? "the lowest value measured"
                           : "the lowest mean, of " + std::to_string(count) + " measurements"};
}

bool ModelFreeSearch::is_new(const Params& params) const {
  return !seen_.contains(params) && space_.allows(params);
}

ModelFreeSearch::Random ModelFreeSearch::random(std::uint64_t attempt) const {
  std::seed_seq sequence{static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32),
                         static_cast<std::uint32_t>(seen_.size()),
                         static_cast<std::uint32_t>(told_.size()),
                         static_cast<std::uint32_t>(attempt)};
  return Random(sequence);
}

std::optional<Params> ModelFreeSearch::random_point() const {
  Random draws = random(std::numeric_limits<std::uint32_t>::max());
  const std::uint64_t tries = space_.size() > kMaxWalk ? kLastTries : kRandomTries;
  for (std::uint64_t i = 0; i < tries; ++i) {
    UnitPoint unit(space_.parameters().size());
    for (double& coordinate : unit) coordinate = unit_draw(draws);
    Params params = space_.decode(unit);
    if (is_new(params)) return params;
  }
  return std::nullopt;
}

std::optional<Params> ModelFreeSearch::any_left() {
  if (space_.size() > kMaxWalk) return random_point();
  for (; next_in_shuffle_ < shuffle_.size(); ++next_in_shuffle_) {
    Params params = space_.point_at(shuffle_[next_in_shuffle_]);
    if (is_new(params)) return params;
  }
  return std::nullopt;
}

}  // namespace hocket
