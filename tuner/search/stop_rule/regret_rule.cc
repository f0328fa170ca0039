#include "core/base/text.h"
#include "tuner/search/stop_rule.h"

namespace hocket {
namespace {

class RegretRule final : public StopRule {
 public:
  std::optional<std::string> reason(const SearchProgress& progress) const override {
    if (!progress.regret_bound || !progress.noise || *progress.noise <= 0) return std::nullopt;
    if (!(*progress.regret_bound < *progress.noise)) return std::nullopt;
    return "what is left to gain, " + percent(*progress.regret_bound) +
           " at most, is less than a trial's noise of " + percent(*progress.noise);
  }
};

}  // namespace

std::unique_ptr<StopRule> regret_rule() {
  return std::make_unique<RegretRule>();
}

}  // namespace hocket
