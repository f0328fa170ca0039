#pragma once

// The model-based search: a surrogate says what to believe of each point, an acquisition what is
// worth trying.
//
// Where the space holds the scheduler's knobs the surrogate is the simulator, calibrated on what
// was measured (tuner/surrogate/step_surrogate.h): from the first trial on, with the described step
// or a nominal one. Otherwise it is a Gaussian process (tuner/surrogate/gaussian_surrogate.h) after
// a start that fills the space. An earlier study adds its best settings to the start, and its mean
// to the process, not to the simulator (tuner/search/transfer.h). Failed trials say where trials
// fail (tuner/surrogate/feasibility.h), not how slow they are. Settings that were asked and not
// told yet count as measured at their believed values, with that belief's doubt.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "tuner/search/acquisition.h"
#include "tuner/search/candidates.h"
#include "tuner/search/initial_design.h"
#include "tuner/search/search.h"
#include "tuner/surrogate/feasibility.h"
#include "tuner/surrogate/surrogate.h"

namespace hocket {

class Optimizer final : public Search {
 public:
  /// `step` of the options must validate.
  Optimizer(Space space, SearchOptions options);

  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  std::optional<Suggestion> ask() override;
  Result<void> tell(const Evaluation& evaluation) override;
  std::optional<Recommendation> recommend() const override;

 private:
  struct Told {
    Params params;
    UnitPoint point;
    std::optional<double> value;
    double standard_error = 0;
  };
  /// What is believed of the points that were looked at, after all that was told.
  struct Survey {
    std::vector<UnitPoint> points;
    Belief belief;
  };

  /// From now on, and for what was told.
  void use_process();
  /// The default, a donor's best settings, and points that fill the space.
  std::unique_ptr<InitialDesign> design_with(std::size_t fillers) const;
  std::vector<Observation> observed() const;
  std::vector<UnitPoint> best_told() const;
  /// Learns from all that was told and is pending. Requires a value.
  const Survey& survey() const;
  std::optional<Suggestion> next_of_design() const;
  std::optional<Suggestion> next_of_model();
  std::optional<Suggestion> next_of_simulator();
  std::optional<Suggestion> next_of_process();
  std::optional<Suggestion> suggest(const UnitPoint& point, double mean, double deviation,
                                    double incumbent);
  /// Higher is better.
  double worth(const UnitPoint& point, double mean, double deviation, double incumbent) const;
  /// The lowest of what was told, when that is clearly below what is believed of any point.
  std::optional<Recommendation> measured_below(double score) const;
  double believed_of_best_told(const Survey& looked) const;
  std::optional<Params> first_unasked() const;
  std::string describe(double mean, double deviation) const;

  const Space space_;
  const std::uint64_t seed_;
  const std::optional<Donor> donor_;  ///< adapted to space_
  const Candidates candidates_;
  Feasibility feasibility_;
  const bool step_is_described_;
  std::set<Params> asked_;
  std::map<Params, Observation> pending_;  ///< as believed when they were asked
  std::vector<Told> told_;
  std::size_t values_ = 0;  ///< of told_, those with a value
  bool positive_ = true;    ///< all values; they are then modelled by their logarithms
  /// Learns when it is needed, and what it says is kept until something changes.
  mutable std::unique_ptr<Surrogate> surrogate_;
  bool uses_simulator_ = false;
  std::unique_ptr<Acquisition> acquisition_;
  std::unique_ptr<InitialDesign> design_;
  mutable std::optional<Survey> survey_;
};

}  // namespace hocket
