#pragma once

// The model-based search: a surrogate predicts the objective at each point, and an acquisition
// function ranks the points to try.
//
// If the space contains knobs of the scheduler, the surrogate is the simulator, calibrated on the
// measurements (tuner/surrogate/step_surrogate.h), from the first trial on, with the described step
// or a nominal one. Otherwise it is a Gaussian process (tuner/surrogate/gaussian_surrogate.h) after
// an initial design that fills the space. An earlier study adds its best settings to the initial
// design, and its mean to the Gaussian process but not to the simulator (tuner/search/transfer.h).
// Failed trials affect the probability of completion (tuner/surrogate/feasibility.h), not the
// modelled value. Settings that were asked but not yet told count as measured at their believed
// values, with the uncertainty of that belief.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "tuner/search/acquisition.h"
#include "tuner/search/candidates.h"
#include "tuner/search/initial_design.h"
#include "tuner/search/model_scale.h"
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
  /// Beliefs about the candidate points, given everything told so far.
  struct Survey {
    std::vector<UnitPoint> points;
    Belief belief;
  };

  /// Switches the surrogate to a Gaussian process, which learns from everything told so far as
  /// well.
  void use_process();
  /// Returns a design of the default, a donor's best settings, and points that fill the space.
  std::unique_ptr<InitialDesign> design_with(std::size_t fillers) const;
  std::vector<Observation> observed() const;
  std::vector<UnitPoint> best_told() const;
  /// Fits the surrogate to all told and pending observations. Requires at least one value.
  const Survey& survey() const;
  std::optional<Suggestion> next_of_design() const;
  std::optional<Suggestion> next_of_model();
  std::optional<Suggestion> next_of_simulator();
  std::optional<Suggestion> next_of_process();
  std::optional<Suggestion> suggest(const UnitPoint& point, double mean, double deviation,
                                    double incumbent);
  /// Returns the acquisition value of a point, with a penalty if it is unlikely to complete; higher
  /// is better.
  double worth(const UnitPoint& point, double mean, double deviation, double incumbent) const;
  /// Returns the setting with the lowest measured mean if that is clearly below `score`, the lowest
  /// score of any point; only with the simulator.
  std::optional<Recommendation> measured_below(double score) const;
  double believed_of_best_told(const Survey& looked) const;
  std::optional<Params> first_unasked() const;
  std::string describe(double mean, double deviation) const;

  const Space space_;
  const std::uint64_t seed_;
  const std::optional<Donor> donor_;  ///< adapted to space_
  const CandidatePoints candidates_;
  Feasibility feasibility_;
  const bool step_is_described_;
  const Direction direction_;  ///< direction of the objective from which the costs were made
  std::set<Params> asked_;
  std::map<Params, Observation> pending_;  ///< with the belief at the time of asking
  std::vector<Told> told_;
  std::size_t values_ = 0;  ///< entries of told_ that have a value
  ModelScale scale_;
  /// Fitted on demand; its beliefs are cached in survey_ until something changes.
  mutable std::unique_ptr<Surrogate> surrogate_;
  bool uses_simulator_ = false;
  std::unique_ptr<Acquisition> acquisition_;
  std::unique_ptr<InitialDesign> design_;
  mutable std::optional<Survey> survey_;
};

}  // namespace hocket
