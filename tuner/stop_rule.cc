#include "tuner/stop_rule.h"

#include <algorithm>
#include <cstdio>

namespace hocket {
namespace {

constexpr std::size_t kSuggestions = 3;
constexpr double kWorthATrial = 0.01;
/// Less exposed communication than this share cannot be told from none.
constexpr double kNothingExposed = 0.005;

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g %%", 100 * share);
  return text;
}

class ExpectedImprovementRule final : public StopRule {
 public:
  std::optional<std::string> reason(const SearchProgress& progress) const override {
    const auto& all = progress.expected_improvements;
    if (all.size() < kSuggestions) return std::nullopt;
    const double largest = *std::max_element(all.end() - kSuggestions, all.end());
    if (!(largest < kWorthATrial)) return std::nullopt;
    return "the last " + std::to_string(kSuggestions) + " suggestions expected to gain " +
           percent(largest) + " at most";
  }
};

class RegretRule final : public StopRule {
 public:
  std::optional<std::string> reason(const SearchProgress& progress) const override {
    if (!progress.regret_bound || !progress.noise || *progress.noise <= 0) return std::nullopt;
    if (!(*progress.regret_bound < *progress.noise)) return std::nullopt;
    return "what is left to gain, " + percent(*progress.regret_bound) +
           " at most, is less than a trial's noise of " + percent(*progress.noise);
  }
};

class OverlapRule final : public StopRule {
 public:
  std::optional<std::string> reason(const SearchProgress& progress) const override {
    if (!progress.exposed || !(*progress.exposed < kNothingExposed)) return std::nullopt;
    return "the best trial exposes no communication (" + percent(*progress.exposed) +
           " of an iteration), so scheduling has nothing left to gain";
  }
};

}  // namespace

std::unique_ptr<StopRule> expected_improvement_rule() {
  return std::make_unique<ExpectedImprovementRule>();
}

std::unique_ptr<StopRule> regret_rule() {
  return std::make_unique<RegretRule>();
}

std::unique_ptr<StopRule> overlap_rule() {
  return std::make_unique<OverlapRule>();
}

std::vector<std::unique_ptr<StopRule>> stop_rules() {
  std::vector<std::unique_ptr<StopRule>> rules;
  rules.push_back(expected_improvement_rule());
  rules.push_back(regret_rule());
  rules.push_back(overlap_rule());
  return rules;
}

}  // namespace hocket
