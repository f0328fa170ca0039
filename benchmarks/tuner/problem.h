#pragma once

// What the search methods are compared on: a recorded sweep whose truth is known. Immutable.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/step/step_description.h"
#include "tuner/search/search.h"
#include "tuner/space/params.h"
#include "tuner/table/recorded_table.h"

namespace hocket {

struct Problem {
  std::string name;
  RecordedTable table;
  std::map<Params, double> truth;  ///< of settings that do not fail
  double least = 0;                ///< the lowest of them, above 0
  double worst = 0;
  std::optional<StepDescription> step;

  /// truth / least − 1; that of the worst setting for one that fails.
  double regret(const Params& params) const;
};

/// `truth` is a table of the same columns; without it the means of the measurements count.
/// invalid_argument when nothing in it is above 0, or a recorded setting is missing.
Result<Problem> make_problem(std::string name, RecordedTable table,
                             const std::optional<RecordedTable>& truth);

struct Checkpoint {
  std::size_t trials = 0;
  double mean_regret = 0;
  double standard_error = 0;    ///< of the mean, over the seeds
  double within_2_percent = 0;  ///< share of the seeds
};

inline constexpr std::size_t kCheckpoints[] = {5, 8, 10, 15, 20, 30};

/// The regret of what a search recommends after each number of kCheckpoints up to `trials`, over
/// `seeds` searches. The seeds depend on the problem's name, so that no two problems share them,
/// and all methods do; the one of `options` is not looked at.
Result<std::vector<Checkpoint>> measure(const Problem& problem, SearchOptions options,
                                        std::size_t seeds, std::size_t trials);

}  // namespace hocket
