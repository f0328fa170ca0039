#include "tuner/search/methods/tpe_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tuner/search/methods/model_free.h"
#include "tuner/search/methods/parzen.h"

namespace hocket {
namespace {

constexpr std::size_t kStartTrials = 10;
constexpr std::size_t kCandidates = 24;
constexpr std::size_t kMostGood = 25;
/// Draws that were all asked before, after which any new setting is taken.
constexpr std::uint64_t kTpeTries = 32;

class TpeSearch final : public ModelFreeSearch {
 public:
  TpeSearch(Space space, std::uint64_t seed) : ModelFreeSearch(std::move(space), seed) {}

 private:
  std::optional<Suggestion> propose() override {
    if (told().size() < kStartTrials) {
      auto params = random_point();
      if (!params) return std::nullopt;
      return Suggestion{std::move(*params), "drawn at random, to start with"};
    }
    const auto [good, bad] = split();
    for (std::uint64_t attempt = 0; attempt < kTpeTries; ++attempt) {
      Random draws = random(attempt);
      Params params;
      for (const auto& parameter : space().parameters()) {
        params[parameter.name] = best_of(parameter, good, bad, draws);
      }
      if (is_new(params)) {
        return Suggestion{std::move(params), "likely among the best " +
                                                 std::to_string(good.size()) + " of " +
                                                 std::to_string(told().size()) + " trials"};
      }
    }
    return std::nullopt;
  }

  /// Indices into told(), each list in the order of telling.
  struct Split {
    std::vector<std::size_t> good, bad;
  };

  Split split() const {
    std::vector<std::size_t> order(told().size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto value = [&](std::size_t i) {
      return told()[i].value.value_or(std::numeric_limits<double>::infinity());
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return value(a) < value(b); });
    const auto good = static_cast<std::ptrdiff_t>(std::min((order.size() + 9) / 10, kMostGood));
    std::sort(order.begin(), order.begin() + good);
    std::sort(order.begin() + good, order.end());
    return {{order.begin(), order.begin() + good}, {order.begin() + good, order.end()}};
  }

  ParzenWindows windows(const Parameter& parameter, const std::vector<std::size_t>& trials) const {
    std::vector<ParameterValue> values;
    for (const std::size_t i : trials) values.push_back(told()[i].params.at(parameter.name));
    return {parameter.domain, values};
  }

  ParameterValue best_of(const Parameter& parameter, const std::vector<std::size_t>& good_trials,
                         const std::vector<std::size_t>& bad_trials, Random& draws) const {
    const ParzenWindows good = windows(parameter, good_trials);
    const ParzenWindows bad = windows(parameter, bad_trials);
    ParameterValue best;
    double best_score = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < kCandidates; ++i) {
      ParameterValue candidate = good.draw(draws);
      const double score = good.log_density(candidate) - bad.log_density(candidate);
      if (i > 0 && !(score > best_score)) continue;
      best = std::move(candidate);
      best_score = score;
    }
    return best;
  }
};

}  // namespace

std::unique_ptr<Search> make_tpe_search(Space space, std::uint64_t seed) {
  return std::make_unique<TpeSearch>(std::move(space), seed);
}

}  // namespace hocket
