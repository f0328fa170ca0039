#pragma once

// The simulator as a surrogate: its constants are calibrated on what was measured, and a Gaussian
// process learns what it gets wrong (Kennedy and O'Hagan, J. R. Stat. Soc. B 2001).
//
//     log y(x) = a + b · (log sim(x; θ) − log sim(default; θ)) + δ(x) + noise
//
// θ and b are normal beforehand, b clipped to [0, 1.5]; a is 0 where values are nanoseconds of the
// described step, and else such that the default comes out; δ is a Gaussian process with a
// Matérn-5/2 kernel. They are found together by Gauss-Newton steps on the posterior, in which δ and
// the noise make one covariance; how large those two are maximises the marginal likelihood of the
// linearised model. A value far above what is believed counts less, as under Student's t: outliers
// of measured times are slow.
//
// What is believed of a point is the mean over the posterior of θ (Laplace's approximation), not
// the value at its mode: the simulated time jumps where one part more fits, and where exactly is
// not known.

#include <Eigen/Cholesky>
#include <map>
#include <string>
#include <vector>

#include "tuner/surrogate/step_model.h"
#include "tuner/surrogate/surrogate.h"

namespace hocket {

/// An open constant of the model, before and after the measurements: means and deviations.
struct CalibratedConstant {
  std::string name, meaning;
  bool is_factor = false;  ///< kept as its logarithm
  double expected = 0, expected_deviation = 0;
  double calibrated = 0, deviation = 0;
};

struct StepCalibration {
  std::vector<CalibratedConstant> constants;  ///< θ, then b
  /// Standard deviations of logarithms, as expected and as measured.
  double expected_noise = 0, noise = 0;
  double expected_discrepancy = 0, discrepancy = 0;
};

class StepSurrogate final : public Surrogate {
 public:
  /// `space` must outlive this.
  StepSurrogate(const Space& space, StepModel model);

  void fit(std::span<const Observation> told, std::span<const Observation> pending) override;
  Belief believe(std::span<const UnitPoint> points) override;
  double noise() const override { return hyper_.noise; }
  std::string basis() const override;
  /// Requires fit().
  StepCalibration calibration() const;

 private:
  struct Hyperparameters {
    double noise = 0.03;
    double discrepancy = 0.02;  ///< standard deviation of δ
  };
  /// A simulated point.
  struct Simulated {
    ScheduleConfig config;
    double log_ratio = 0;  ///< of its time to the default's; of constants from before, maybe
    int fit = 0;           ///< of which fit(); 0: a lower bound
  };
  /// The line through what an observation was predicted to be, where constants were `at`.
  struct Slope {
    double value = 0;
    Eigen::VectorXd at, slope;
  };

  void add(const Observation& observation);
  void anchor();
  /// Moves the constants to where the observations so far want them.
  void calibrate();
  Eigen::VectorXd measured() const;
  /// Of the observations, at constants_. Lines that no longer foretell well are drawn anew.
  Eigen::MatrixXd jacobian();
  void draw_lines(const std::vector<Eigen::Index>& observations);
  void weigh(const Eigen::VectorXd& residual);
  /// Under which `left`, of which the constants explain `of_constants`, is most likely.
  Hyperparameters most_likely(const Eigen::VectorXd& left,
                              const Eigen::MatrixXd& of_constants) const;
  /// Of the constants, beforehand and by what was measured.
  Eigen::MatrixXd precision_with(const Eigen::MatrixXd& slope) const;
  /// One step of Gauss and Newton; false when none is worth it.
  bool move_constants(const Eigen::VectorXd& measured, const Eigen::MatrixXd& slope);
  double kernel(const UnitPoint& a, const UnitPoint& b) const;
  Eigen::VectorXd noise_variances(double noise) const;
  /// Of what the simulator leaves over at the observed points: discrepancy and noise.
  Eigen::MatrixXd covariance_of_rest(const Hyperparameters& hyper) const;
  Eigen::VectorXd admit(Eigen::VectorXd constants) const;
  /// The model at some constants.
  struct Simulator {
    StepModel::Step step;
    double default_log_time = 0, trust = 1;

    double log_ratio(const ScheduleConfig& config) const {
      return step.log_time(config) - default_log_time;
    }
  };
  Simulator simulator(const Eigen::VectorXd& constants) const;
  double predicted(const Simulator& by, double log_ratio) const;
  /// The value of the observations from `first` on.
  Eigen::VectorXd predict_observed(const Eigen::VectorXd& constants, std::size_t first = 0) const;
  /// Makes the times of the points that may be the best exact.
  void simulate_best(const Simulator& by, const std::vector<Simulated*>& points) const;
  void average_over_posterior(const std::vector<Simulated*>& points, Belief& belief) const;

  const Space& space_;
  const StepModel model_;
  std::vector<bool> categorical_;
  const UnitPoint default_point_;
  Eigen::VectorXd expected_, deviation_;  ///< of constants_, beforehand

  std::vector<Observation> observations_;  ///< told, then pending
  std::vector<ScheduleConfig> configs_;    ///< of the observations
  std::size_t told_ = 0;
  double offset_ = 0;           ///< a
  Eigen::VectorXd constants_;   ///< θ, then b
  Eigen::MatrixXd covariance_;  ///< of constants_
  Eigen::VectorXd values_;      ///< of what was told, as predicted at constants_
  std::vector<Slope> slopes_;   ///< of the same
  Hyperparameters hyper_;
  Eigen::MatrixXd kernel_;            ///< of the observations, of unit variance
  Eigen::VectorXd weights_;           ///< of the observations, at most 1
  Eigen::LLT<Eigen::MatrixXd> rest_;  ///< covariance_of_rest(), factored
  Eigen::VectorXd dual_;              ///< its inverse times what the simulator leaves over
  std::map<UnitPoint, Simulated> cache_;
  int fits_ = 0;
};

}  // namespace hocket
