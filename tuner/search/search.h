#pragma once

// A search method, as named by `--method`: looks for the setting with the lowest cost, one noisy
// measurement at a time. Several asks may be outstanding. One thread at a time.
//
// The results of ask() and recommend() depend only on the space, the options, and the sequence of
// everything asked and told. A new Search that goes through the same history continues in the same
// way.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/protocol/direction.h"
#include "tuner/space/space.h"

namespace hocket {

struct Suggestion {
  Params params;
  std::string reason;  ///< why this setting is suggested, one line
  /// Expected gain according to the model, as a share of the best value; nothing without a model.
  std::optional<double> expected_improvement = {};
};

/// One measurement of one setting.
struct Evaluation {
  Params params;
  /// A cost: lower is better. Nothing if the trial failed.
  std::optional<double> value;
  /// Standard error of `value`, from the scatter within the trial; 0 if not known.
  double standard_error = 0;
  /// Values of further objectives, if there are any.
  std::vector<double> others = {};

  bool operator==(const Evaluation&) const = default;
};

/// Measurements of an earlier study from which a search may start (tuner/search/transfer.h).
struct Donor {
  std::string study;  ///< name of the study
  /// Distance between that study's job and this one (archive/studies/job_similarity.h); nothing if
  /// not known.
  std::optional<double> distance = {};
  std::vector<Evaluation> evaluations = {};

  bool operator==(const Donor&) const = default;
};

/// The setting believed to be best, measured or not.
struct Recommendation {
  Params params;
  double expected = 0;   ///< believed value of the setting, as evaluations are told
  double deviation = 0;  ///< standard deviation of that belief; 0 if the method has none
  std::string reason;    ///< why this setting is recommended, one line
  /// Believed upper bound on the share by which the setting is worse than the best of the space.
  std::optional<double> regret_bound = {};
};

class Search {
 public:
  virtual ~Search() = default;

  /// Returns the next setting to try, the default first; nothing once every point was asked.
  virtual std::optional<Suggestion> ask() = 0;

  /// Records a measurement. Settings that were never asked, or were told before, are accepted.
  /// Refuses params outside the space and values that are not finite.
  virtual Result<void> tell(const Evaluation& evaluation) = 0;

  /// Returns the current recommendation; nothing before the first value was told.
  virtual std::optional<Recommendation> recommend() const = 0;
};

enum class SearchMethod { model, random, sobol, tpe, grid };

std::string_view to_string(SearchMethod method);
/// Parses "model", "random", "sobol", "tpe" or "grid"; an error lists them.
Result<SearchMethod> parse_search_method(std::string_view text);

struct SearchOptions {
  SearchMethod method = SearchMethod::model;
  std::uint64_t seed = 0;
  /// Step description from a profile of the default; used by `model` only.
  std::optional<StepDescription> step = {};
  /// True if values are times of a step, which the simulator may predict.
  bool simulate = true;
  /// Direction of the objective whose costs are told; for texts, which show it as measured.
  Direction direction = Direction::minimise;
  /// Number of objectives. From 2 on the search looks for their Pareto front; requires `model`.
  std::size_t objectives = 1;
  /// Earlier study to start from; used by `model` only.
  std::optional<Donor> donor = {};
};

/// Creates the search. invalid_argument for a space of one point, a step that does not validate, or
/// several objectives with another method than `model`.
Result<std::unique_ptr<Search>> make_search(Space space, SearchOptions options);

}  // namespace hocket
