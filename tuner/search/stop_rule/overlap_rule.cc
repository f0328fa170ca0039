#include "core/base/text.h"
#include "tuner/search/stop_rule.h"

namespace hocket {
namespace {

/// Shares of exposed communication below this cannot be distinguished from zero.
constexpr double kNothingExposed = 0.005;

class OverlapRule final : public StopRule {
 public:
  std::optional<std::string> reason(const SearchProgress& progress) const override {
    if (!progress.exposed || !(*progress.exposed < kNothingExposed)) return std::nullopt;
    return "the best trial exposes no communication (" + percent(*progress.exposed) +
           " of an iteration), so scheduling has nothing left to gain";
  }
};

}  // namespace

std::unique_ptr<StopRule> overlap_rule() {
  return std::make_unique<OverlapRule>();
}

}  // namespace hocket
