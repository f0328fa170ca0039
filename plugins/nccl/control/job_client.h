#pragma once

// The job by which one class of collectives is tuned, which the daemon knows by the
// class and the topology. Behind it stands the client library (library_clients.h); tests have one
// in memory. One thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plugins/nccl/tuning/choice.h"
#include "plugins/nccl/tuning/collective_class.h"

namespace hocket::nccl {

struct PredictedIteration {
  std::string arm;
  std::int64_t iteration_ns = 0;
};

/// Description of a class of collectives that a job is opened for.
struct ClassJob {
  CollectiveClass of;
  int ranks = 0, nodes = 0;
  /// All words of the knob `arm`, which follow from the function; those that NCCL allows; and those
  /// of them that are worth trying, since NCCL does not take them by itself.
  std::vector<std::string> arms = {}, allowed = {}, tried = {};
  /// Share of the training time that trying may cost.
  double explore = 0;
  /// Asked before something is tried; false: later.
  std::function<bool()> may_try = {};
  /// The predictions of NCCL's table for an iteration with each of `allowed`.
  std::vector<PredictedIteration> predicted = {};
};

/// Measurements of the class's collectives themselves.
struct ClassMeasurement {
  std::uint64_t calls_per_iteration = 0;
  double transfer_us = 0, waiting_us = 0;  ///< medians; 0: not known
  std::uint64_t bytes = 0;                 ///< mean of the collectives' sizes
  int channels = 0;
  std::string ran;  ///< "ring_simple, 8 channels"
  int late_rank = -1;
};

class JobClient {
 public:
  /// Ends the job.
  virtual ~JobClient() = default;

  /// Returns the choice for the class from the next iteration on.
  virtual Choice choice() const = 0;
  /// Returns whether that choice is being compared with the one before.
  virtual bool is_trying() const = 0;
  /// An iteration has run with choice() from its beginning to its end. Afterwards choice() may be
  /// another one.
  virtual void iteration_ended(std::int64_t iteration_ns) = 0;
  virtual void measured(const ClassMeasurement& measurement) = 0;
  /// The share of the time since the communicator was opened, in percent, that the plugin has cost
  /// this rank.
  virtual void costs(double percent) = 0;
  /// The times in which the ranks waited for others in their collectives of all classes, by
  /// iteration and rank.
  virtual void waited(const std::vector<std::vector<std::int64_t>>& waited_ns) = 0;
  /// Returns the number of iterations that somebody wants a profile of, once; 0: of none.
  virtual std::int64_t take_profile_request() = 0;
  /// Saves a profile: the text of a trace for each rank, "" for a rank without one. May take
  /// seconds.
  virtual void save_profile(const std::vector<std::string>& traces) = 0;
};

class JobClients {
 public:
  virtual ~JobClients() = default;
  /// Returns null if there can be no such job; the class is then left to NCCL. May take two
  /// seconds.
  virtual std::unique_ptr<JobClient> open(const ClassJob& job) = 0;
};

}  // namespace hocket::nccl
