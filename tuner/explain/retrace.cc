#include "tuner/explain/retrace.h"

#include <set>
#include <utility>

namespace hocket {
namespace {

/// Returns why a study of `budget` trials that has tried `tried` runs `params` next.
std::string next_reason(Search& search, const Params& params, const std::set<Params>& tried,
                        std::size_t budget) {
  if (budget > 1 && tried.size() + 1 == budget) {
    const auto recommended = search.recommend();
    if (recommended && !tried.contains(recommended->params)) {
      if (recommended->params == params)
        return "what is recommended, tried before the end; " + recommended->reason;
      return "another setting would be recommended now, since " + recommended->reason;
    }
  }
  const auto suggestion = search.ask();
  if (!suggestion) return "not asked: every setting had been asked before";
  if (suggestion->params == params) return suggestion->reason;
  return "another setting would be asked for now, since " + suggestion->reason;
}

}  // namespace

Result<Retraced> retrace(Search& search, std::span<const SearchTrial> trials, std::size_t budget) {
  Retraced retraced;
  std::set<Params> tried;
  for (const SearchTrial& trial : trials) {
    retraced.reasons.push_back(next_reason(search, trial.evaluation.params, tried, budget));
    tried.insert(trial.evaluation.params);
    if (auto ok = search.tell(trial.evaluation); !ok) {
      return failure(ok.error().in("trial " + std::to_string(trial.number)));
    }
  }
  retraced.recommendation = search.recommend();
  return retraced;
}

}  // namespace hocket
