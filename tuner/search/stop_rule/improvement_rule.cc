#include <algorithm>

#include "core/base/text.h"
#include "tuner/search/stop_rule.h"

namespace hocket {
namespace {

constexpr std::size_t kSuggestions = 3;
constexpr double kWorthATrial = 0.01;

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

}  // namespace

std::unique_ptr<StopRule> expected_improvement_rule() {
  return std::make_unique<ExpectedImprovementRule>();
}

}  // namespace hocket
