#include "tuner/table/table_replay.h"

#include <random>
#include <set>

#include "core/base/check.h"

namespace hocket {
namespace {

/// Separates the draws from the random numbers that the search derives from the same seed.
constexpr std::uint32_t kDrawStream = 0x4452'4157;

class Draws {
 public:
  explicit Draws(std::uint64_t seed) {
    std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                           kDrawStream};
    random_.seed(sequence);
  }

  std::optional<double> one_of(const RecordedTable::Measurements& measurements) {
    return measurements[random_() % measurements.size()];
  }

 private:
  std::mt19937_64 random_;
};

void recommend(const RecordedTable& table, const Search& search, ReplayedTrial& trial) {
  const auto recommendation = search.recommend();
  if (!recommendation) {
    trial.recommended = table.space().defaults();
    trial.why_recommended = "no value is known yet, so the default stays";
    return;
  }
  const auto recorded = table.nearest(recommendation->params, [](const Params&) { return true; });
  HOCKET_CHECK(recorded, "a table has a setting");
  trial.recommended = *recorded;
  trial.why_recommended = recommendation->reason;
  if (*recorded != recommendation->params) {
    trial.why_recommended += "; that was not recorded, this is the nearest that was";
  }
}

}  // namespace

Result<std::vector<ReplayedTrial>> replay_table(const RecordedTable& table, Search& search,
                                                std::size_t trials, std::uint64_t seed,
                                                Direction direction) {
  Draws draws(seed);
  std::set<Params> measured;
  std::vector<ReplayedTrial> replayed;
  while (replayed.size() < trials) {
    auto suggestion = search.ask();
    if (!suggestion) break;
    const auto recorded = table.nearest(
        suggestion->params, [&](const Params& params) { return !measured.contains(params); });
    if (!recorded) break;
    measured.insert(*recorded);
    ReplayedTrial trial{
        *recorded, draws.one_of(*table.find(*recorded)), std::move(suggestion->reason), {}, {}};
    if (*recorded != suggestion->params) {
      trial.reason += "; that was not recorded, this is the nearest that was";
      HOCKET_TRY(search.tell({.params = suggestion->params, .value = {}}));
    }
    Evaluation evaluation{.params = trial.params, .value = trial.value};
    if (trial.value) evaluation.value = cost(*trial.value, direction);
    HOCKET_TRY(search.tell(evaluation));
    recommend(table, search, trial);
    replayed.push_back(std::move(trial));
  }
  return replayed;
}

}  // namespace hocket
