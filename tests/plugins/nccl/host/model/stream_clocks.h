#pragma once

// The modelled time of one rank: a stream of computation and a stream for each communicator.
// Computation beside a collective takes longer, from when the collective's kernel starts to wait
// for the other ranks until it ends. Pure; one thread.

#include <deque>
#include <vector>

#include "tests/plugins/nccl/host/model/cost_model.h"

namespace hocket::nccl_host {

class StreamClocks {
 public:
  StreamClocks(const CostModel& model, int communicators)
      : model_(&model), collectives_us_(communicators, 0) {}

  double computation_us() const { return computation_us_; }

  void compute(double us);
  /// Returns when the next collective's kernel starts on this rank.
  double ready_us(int communicator) const;
  /// A collective occupied `channels` from `begin_us` to `end_us`.
  void occupy(int communicator, double begin_us, double end_us, int channels);
  void wait(int communicator);
  void wait_for_all();

 private:
  struct Busy {
    double begin_us, end_us;
    int channels;
  };

  const CostModel* model_;
  double computation_us_ = 0;
  std::vector<double> collectives_us_;
  std::deque<Busy> busy_;
};

}  // namespace hocket::nccl_host
