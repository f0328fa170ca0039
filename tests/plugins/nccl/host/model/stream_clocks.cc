#include "tests/plugins/nccl/host/model/stream_clocks.h"

#include <algorithm>
#include <limits>

namespace hocket::nccl_host {

void StreamClocks::compute(double us) {
  std::erase_if(busy_, [&](const Busy& busy) { return busy.end_us <= computation_us_; });
  while (us > 0) {
    // Until the next change the same channels are busy.
    int channels = 0;
    double until = std::numeric_limits<double>::infinity();
    for (const Busy& busy : busy_) {
      if (busy.end_us <= computation_us_) continue;
      if (busy.begin_us <= computation_us_) {
        channels += busy.channels;
        until = std::min(until, busy.end_us);
      } else {
        until = std::min(until, busy.begin_us);
      }
    }
    const double factor = model_->computation_factor(channels);
    const double possible_us = (until - computation_us_) / factor;
    if (possible_us >= us) {
      computation_us_ += us * factor;
      return;
    }
    us -= possible_us;
    computation_us_ = until;
  }
}

double StreamClocks::ready_us(int communicator) const {
  return std::max(computation_us_, collectives_us_[communicator]);
}

void StreamClocks::occupy(int communicator, double begin_us, double end_us, int channels) {
  collectives_us_[communicator] = end_us;
  busy_.push_back({begin_us, end_us, channels});
}

void StreamClocks::wait(int communicator) {
  computation_us_ = ready_us(communicator);
}

void StreamClocks::wait_for_all() {
  for (const double us : collectives_us_) computation_us_ = std::max(computation_us_, us);
  busy_.clear();
}

}  // namespace hocket::nccl_host
