#pragma once

// Problems on which search methods are compared: recorded sweeps with a known truth. Immutable.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "tuner/search/search.h"
#include "tuner/space/params.h"
#include "tuner/table/recorded_table.h"

namespace hocket {

struct Problem {
  std::string name;
  RecordedTable table;
  std::map<Params, double> truth;  ///< by setting, for settings that do not fail
  double least = 0;                ///< lowest value of `truth`; > 0
  double worst = 0;
  std::optional<StepDescription> step;

  /// Returns truth / least − 1; for a setting that fails, that of the worst setting.
  double regret(const Params& params) const;
};

/// Makes a problem. `truth` must be a table with the same columns; without it, the means of the
/// measurements are the truth. Returns invalid_argument when it has no value above 0, or lacks a
/// recorded setting.
Result<Problem> make_problem(std::string name, RecordedTable table,
                             const std::optional<RecordedTable>& truth);

struct Checkpoint {
  std::size_t trials = 0;
  double mean_regret = 0;
  double standard_error = 0;    ///< of mean_regret, over the seeds
  double within_2_percent = 0;  ///< share of the seeds
};

inline constexpr std::size_t kCheckpoints[] = {5, 8, 10, 15, 20, 30, 60};

/// Returns the regret of the search's recommendation after each number of trials in kCheckpoints up
/// to `trials`, over `seeds` searches. The seeds depend on the problem's name, so no two problems
/// share them and all methods do; the seed in `options` is ignored.
Result<std::vector<Checkpoint>> measure(const Problem& problem, SearchOptions options,
                                        std::size_t seeds, std::size_t trials);

}  // namespace hocket
