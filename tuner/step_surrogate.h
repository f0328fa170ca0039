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
#include <vector>

#include "tuner/step_model.h"
#include "tuner/surrogate.h"

namespace hocket {

class StepSurrogate final : public Surrogate {
 public:
  /// `space` must outlive this.
  StepSurrogate(const Space& space, StepModel model);

  void fit(std::span<const Observation> told, std::span<const Observation> pending) override;
  Belief believe(std::span<const UnitPoint> points) override;
  double noise() const override { return hyper_.noise; }
  std::string basis() const override;

 private:
  struct Hyperparameters {
    double noise = 0.03;
    double discrepancy = 0.02;  ///< standard deviation of δ
  };
  /// A simulated point; `log_time` may be of constants from before.
  struct Simulated {
    ScheduleConfig config;
    double log_time = 0;
    int fit = 0;  ///< of which fit(); 0: a lower bound
  };

  void add(const Observation& observation);
  void anchor();
  /// Moves the constants to where the observations so far want them.
  void calibrate();
  Eigen::VectorXd measured() const;
  void weigh(const Eigen::VectorXd& residual);
  void choose_hyperparameters(const Eigen::VectorXd& residual, const Eigen::MatrixXd& jacobian);
  double kernel(const UnitPoint& a, const UnitPoint& b) const;
  Eigen::VectorXd noise_variances(double noise) const;
  /// Of what the simulator leaves over at the observed points: discrepancy and noise.
  Eigen::MatrixXd covariance_of_rest(const Hyperparameters& hyper) const;
  Eigen::VectorXd admit(Eigen::VectorXd constants) const;
  double simulate_default(const Eigen::VectorXd& constants) const;
  /// The value that simulated times stand for.
  double predicted(double log_time, double default_log_time,
                   const Eigen::VectorXd& constants) const;
  Eigen::VectorXd predict_observed(const Eigen::VectorXd& constants) const;
  /// Of predict_observed(), whose `values` these are, at constants_.
  Eigen::MatrixXd jacobian(const Eigen::VectorXd& values) const;
  /// Makes the times of all points that may be near the best exact, and the others' bounds.
  void simulate_near_best(std::vector<Simulated*>& points);
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
  Hyperparameters hyper_;
  Eigen::MatrixXd kernel_;            ///< of the observations, of unit variance
  Eigen::VectorXd weights_;           ///< of the observations, at most 1
  Eigen::LLT<Eigen::MatrixXd> rest_;  ///< covariance_of_rest(), factored
  Eigen::VectorXd dual_;              ///< its inverse times what the simulator leaves over
  std::map<UnitPoint, Simulated> cache_;
  int fits_ = 0;
};

}  // namespace hocket
