#pragma once

// The simulator as a surrogate: its constants are calibrated on the measurements, and a Gaussian
// process learns its remaining error (Kennedy and O'Hagan, J. R. Stat. Soc. B 2001).
//
//     log y(x) = a + b · (log sim(x; θ) − log sim(default; θ)) + δ(x) + noise
//
// θ and b have normal priors, with b clipped to [0, 1.5]. a is 0 if values are nanoseconds of the
// described step, otherwise such that the default is predicted exactly. δ is a Gaussian process
// with a Matérn-5/2 kernel. θ and b are found together by Gauss-Newton steps on the posterior, in
// which δ and the noise form one covariance; the sizes of those two maximise the marginal
// likelihood of the linearised model. A value far above the prediction has less weight, as under
// Student's t: outliers of measured times are slow.
//
// The belief at a point is the mean over the posterior of θ (Laplace's approximation), not the
// value at its mode: the simulated time jumps where one more part fits, and the exact location of
// the jump is not known.

#include <Eigen/Cholesky>
#include <map>
#include <string>
#include <vector>

#include "tuner/surrogate/step_model.h"
#include "tuner/surrogate/surrogate.h"

namespace hocket {

/// An open constant of the model before and after the measurements, with means and standard
/// deviations.
struct CalibratedConstant {
  std::string name, meaning;
  bool is_factor = false;  ///< the values are logarithms of a factor
  double expected = 0, expected_deviation = 0;
  double calibrated = 0, deviation = 0;
};

struct StepCalibration {
  std::vector<CalibratedConstant> constants;  ///< θ, then b
  /// Standard deviations of logarithms: priors and estimates from the measurements.
  double expected_noise = 0, noise = 0;
  double expected_discrepancy = 0, discrepancy = 0;
};

class StepSurrogate final : public Surrogate {
 public:
  /// `space` must outlive this.
  StepSurrogate(const Space& space, StepModel model);

  void fit(std::span<const Observation> told, std::span<const Observation> pending) override;
  Belief believe(std::span<const UnitPoint> points) override { return believe(points, kDrawPairs); }
  /// Pairs of draws from the posterior of the constants; most of a belief's time is theirs.
  static constexpr int kDrawPairs = 4;
  /// As believe(), averaged over `draw_pairs`, at least one.
  Belief believe(std::span<const UnitPoint> points, int draw_pairs);
  double noise() const override { return hyper_.noise; }
  std::string basis() const override;
  /// Returns whether other steps are to be considered: the step is a nominal one, its profile is
  /// not a good one, or it predicts the first measurement badly. Requires fit().
  bool is_doubted() const {
    return model_.is_nominal() || prediction_error_ != 0 || !model_.doubt().empty();
  }
  /// Requires fit().
  StepCalibration calibration() const;
  /// Returns the logarithm of the probability of the measurements under the model, linearised, up
  /// to a constant that is the same for every model of the same measurements. Requires fit().
  double log_evidence() const { return log_evidence_; }

 private:
  struct Hyperparameters {
    double noise = 0.03;
    double discrepancy = 0.02;  ///< standard deviation of δ
  };
  /// Simulated time of one point.
  struct Simulated {
    ScheduleConfig config;
    double log_ratio = 0;  ///< log of its time over the default's, possibly from earlier constants
    int fit = 0;           ///< number of the fit() that computed it; 0: a lower bound
  };
  /// Linear approximation of an observation's prediction around the constants `at`.
  struct Slope {
    double value = 0;
    Eigen::VectorXd at, slope;
  };

  void add(const Observation& observation);
  void anchor();
  /// Fits the constants to the observations so far.
  void calibrate();
  Eigen::VectorXd measured() const;
  /// Returns the derivatives of the predicted observations at constants_. Recomputes linear
  /// approximations that no longer predict well.
  Eigen::MatrixXd jacobian();
  void draw_lines(const std::vector<Eigen::Index>& observations);
  void weigh(const Eigen::VectorXd& residual);
  /// Returns the hyperparameters under which the residuals `left`, with covariance `of_constants`
  /// due to the constants, are most likely.
  Hyperparameters most_likely(const Eigen::VectorXd& left,
                              const Eigen::MatrixXd& of_constants) const;
  /// Returns the posterior precision of the constants: prior plus measurements.
  Eigen::MatrixXd precision_with(const Eigen::MatrixXd& slope) const;
  /// Takes one Gauss-Newton step; returns false if no step is worthwhile.
  bool move_constants(const Eigen::VectorXd& measured, const Eigen::MatrixXd& slope);
  double kernel(const UnitPoint& a, const UnitPoint& b) const;
  Eigen::VectorXd noise_variances(double noise) const;
  /// Returns the covariance of the residuals at the observed points: discrepancy and noise.
  Eigen::MatrixXd covariance_of_rest(const Hyperparameters& hyper) const;
  Eigen::VectorXd admit(Eigen::VectorXd constants) const;
  /// The model at given constants.
  struct Simulator {
    StepModel::Step step;
    double default_log_time = 0, trust = 1;

    double log_ratio(const ScheduleConfig& config) const {
      return step.log_time(config) - default_log_time;
    }
  };
  Simulator simulator(const Eigen::VectorXd& constants) const;
  double predicted(const Simulator& by, double log_ratio) const;
  /// Returns the predicted values of the observations from index `first` on.
  Eigen::VectorXd predict_observed(const Eigen::VectorXd& constants, std::size_t first = 0) const;
  /// Simulates the points that may be among the best, so that their times are exact.
  void simulate_best(const Simulator& by, const std::vector<Simulated*>& points) const;
  void average_over_posterior(const std::vector<Simulated*>& points, int draw_pairs,
                              Belief& belief) const;

  const Space& space_;
  StepModel model_;
  std::vector<bool> categorical_;
  const UnitPoint default_point_;
  Eigen::VectorXd expected_, deviation_;  ///< priors of constants_; wider once a profile was wrong

  std::vector<Observation> observations_;  ///< told, then pending
  std::vector<ScheduleConfig> configs_;    ///< one per observation
  std::size_t told_ = 0;
  double offset_ = 0;  ///< a
  /// Measured less predicted logarithm of the default, if the profile is worse than a good one.
  double prediction_error_ = 0;
  Eigen::VectorXd constants_;   ///< θ, then b
  Eigen::MatrixXd covariance_;  ///< covariance of constants_
  Eigen::VectorXd values_;      ///< predictions of the told observations at constants_
  std::vector<Slope> slopes_;   ///< linear approximations of values_
  Hyperparameters hyper_;
  Eigen::MatrixXd kernel_;            ///< correlations between the observations, of unit variance
  Eigen::VectorXd weights_;           ///< weights of the observations, at most 1
  Eigen::LLT<Eigen::MatrixXd> rest_;  ///< covariance_of_rest(), factored
  Eigen::VectorXd dual_;              ///< inverse of rest_ times the residuals of the simulator
  std::map<UnitPoint, Simulated> cache_;
  int fits_ = 0;
  double log_evidence_ = 0;
};

}  // namespace hocket
