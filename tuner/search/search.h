#pragma once

// A way to look for the setting with the lowest value, one noisy measurement at a time: what
// `--method` names. Several asks may be outstanding. One thread at a time.
//
// What ask() and recommend() return depends on the space, the options and what has been asked and
// told, in order, and on nothing else; a new Search that goes through the same history goes on in
// the same way.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/step/step_description.h"
#include "tuner/space/space.h"

namespace hocket {

struct Suggestion {
  Params params;
  std::string reason;  ///< why this one, one line
  /// The share of the best value that the model expects to gain; nothing without a model.
  std::optional<double> expected_improvement = {};
};

/// One measurement of one setting.
struct Evaluation {
  Params params;
  /// Lower is better; nothing when the trial failed.
  std::optional<double> value;
  /// Of `value`, from the scatter within the trial; 0: not known.
  double standard_error = 0;
  /// Of further objectives, where there are any.
  std::vector<double> others = {};

  bool operator==(const Evaluation&) const = default;
};

/// What an earlier study measured, for a search to start from (tuner/search/transfer.h).
struct Donor {
  std::string study;  ///< its name
  /// Between that study's job and this one (tuner/archive/job_similarity.h); nothing when it is not
  /// known.
  std::optional<double> distance = {};
  std::vector<Evaluation> evaluations = {};

  bool operator==(const Donor&) const = default;
};

/// The setting that is believed to be best, measured or not.
struct Recommendation {
  Params params;
  double expected = 0;   ///< its value, as believed
  double deviation = 0;  ///< of that belief; 0: the method has none
  std::string reason;    ///< one line
  /// The share by which it is worse than the best of the space, at most, as believed.
  std::optional<double> regret_bound = {};
};

class Search {
 public:
  virtual ~Search() = default;

  /// The next setting to try, the default first; nothing once every point of the space was asked.
  virtual std::optional<Suggestion> ask() = 0;

  /// Settings that were never asked, or told before, count too. Refuses params outside the space
  /// and values that are not finite.
  virtual Result<void> tell(const Evaluation& evaluation) = 0;

  /// Nothing before the first value was told.
  virtual std::optional<Recommendation> recommend() const = 0;
};

enum class SearchMethod { model, random, sobol, tpe, grid };

std::string_view to_string(SearchMethod method);
/// "model", "random", "sobol", "tpe", "grid"; an error lists them.
Result<SearchMethod> parse_search_method(std::string_view text);

struct SearchOptions {
  SearchMethod method = SearchMethod::model;
  std::uint64_t seed = 0;
  /// What a profile of the default said of the step; only `model` looks at it.
  std::optional<StepDescription> step = {};
  /// Whether values are times of a step, which the simulator may predict.
  bool simulate = true;
  /// From 2 on the search is for their Pareto front, which `model` alone can find.
  std::size_t objectives = 1;
  /// Only `model` looks at it, too.
  std::optional<Donor> donor = {};
};

/// invalid_argument for a space of one point, a step that does not validate, or several objectives
/// with another method than `model`.
Result<std::unique_ptr<Search>> make_search(Space space, SearchOptions options);

}  // namespace hocket
