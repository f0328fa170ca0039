#include "tuner/search/stop_rule.h"

namespace hocket {

std::vector<std::unique_ptr<StopRule>> stop_rules() {
  std::vector<std::unique_ptr<StopRule>> rules;
  rules.push_back(expected_improvement_rule());
  rules.push_back(regret_rule());
  rules.push_back(overlap_rule());
  return rules;
}

}  // namespace hocket
