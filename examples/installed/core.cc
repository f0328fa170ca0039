// The scheduler of an installed hocket: two ranks, threads of this process, all-reduce a gradient
// and update weights with it. Prints:
//
//   2 ranks agree: 2.0

#include <cstdio>
#include <thread>
#include <vector>

#include "core/host/host_executor.h"
#include "core/host/local_collective.h"
#include "core/scheduler/scheduler.h"

namespace {

/// Returns a rank's weight after one step.
hocket::Result<float> train(hocket::Collective& ranks) {
  const hocket::SteadyClock clock;
  hocket::HostExecutor executor(ranks, clock);
  std::vector<float> gradient(1000), weights(1000, 0.5F);
  hocket::Scheduler scheduler(hocket::ScheduleConfig{}, executor);
  const hocket::DataId gradient_id = scheduler.add_data(), weights_id = scheduler.add_data();
  scheduler.compute({.name = "backward"}, {read(weights_id), write(gradient_id)},
                    [&] { gradient = weights; });
  scheduler.all_reduce({.name = "gradient"}, gradient_id, gradient);
  scheduler.compute({.name = "update"}, {read(gradient_id), update(weights_id)}, [&] {
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += gradient[i] + weights[i];
  });
  HOCKET_TRY(scheduler.end_step());
  HOCKET_TRY(scheduler.synchronize());
  return weights.front();
}

}  // namespace

int main() {
  constexpr int kRanks = 2;
  hocket::LocalGroup group(kRanks);
  hocket::Result<float> first, second;
  std::thread other([&] { second = train(*group.join(1)); });
  first = train(*group.join(0));
  other.join();
  if (!first || !second || *first != *second) {
    std::fprintf(stderr, "on_core: %s\n",
                 first ? "the ranks differ" : first.error().message.c_str());
    return 1;
  }
  std::printf("%d ranks agree: %.1f\n", kRanks, static_cast<double>(*first));
}
