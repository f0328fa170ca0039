// The scheduler on one page. Two ranks, threads of this process, train a toy model over an emulated
// link of 500 Mbit/s: once each task waits for the one before it, and once only for the data that
// it names, so that gradients are communicated beside the rest of the backward pass.
//
//   scripts/build release overlap && build/release/bin/overlap
//
// prints:
//
//   in order:    185.5 ms an iteration
//   overlapped:  139.2 ms an iteration
//   ratio:        1.33

#include <cstdio>
#include <span>
#include <thread>
#include <vector>

#include "core/host/emulated_link.h"
#include "core/host/host_executor.h"
#include "core/host/local_collective.h"
#include "core/scheduler/scheduler.h"

namespace hocket {
namespace {

constexpr int kRanks = 2, kSteps = 8;
constexpr std::uint32_t kLayers = 6;
constexpr std::size_t kParameters = 250'000;  // per layer, so that its gradients take 1 MB
constexpr LinkSpec kLink = {.bytes_per_second = 62.5e6, .latency_ns = 50'000};

struct Layer {
  std::vector<float> weights = std::vector<float>(kParameters, 1);
  std::vector<float> gradient = std::vector<float>(kParameters);
  DataId weights_id, gradient_id;
};

/// Stands for a layer's computation: a fixed amount of arithmetic.
void work(std::span<const float> from, std::span<float> to, int passes) {
  for (int pass = 0; pass < passes; ++pass)
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = 0.5F * to[i] + 0.01F * from[i];
}

/// Trains as one rank; returns the time of an iteration in milliseconds.
Result<double> train(Collective& ranks, bool overlaps) {
  const SteadyClock clock;
  EmulatedLink link(ranks, kLink, clock);
  HostExecutor executor(link, clock);
  std::vector<Layer> layers(kLayers);
  std::vector<float> activations(kParameters);
  Scheduler scheduler(ScheduleConfig{}, executor);  // waits for its tasks before the layers go
  const DataId activations_id = scheduler.add_data();
  for (Layer& layer : layers) {
    layer.weights_id = scheduler.add_data();
    layer.gradient_id = scheduler.add_data();
  }
  // Without overlap, waits for what was submitted. end_step() returns the error, if any.
  const auto submitted = [&] {
    if (!overlaps) (void)scheduler.synchronize();
  };

  const std::int64_t begin_ns = clock.now_ns();
  for (int step = 0; step < kSteps; ++step) {
    for (Layer& layer : layers) {
      scheduler.compute({.name = "forward"}, {read(layer.weights_id), update(activations_id)},
                        [&] { work(layer.weights, activations, 30); });
    }
    for (std::uint32_t i = kLayers; i-- > 0;) {
      Layer& layer = layers[i];
      scheduler.compute({.name = "backward", .priority = i},
                        {read(layer.weights_id), update(activations_id), write(layer.gradient_id)},
                        [&] {
                          work(activations, layer.gradient, 150);
                          work(layer.weights, activations, 150);
                        });
      submitted();
      scheduler.all_reduce({.name = "gradient", .priority = i}, layer.gradient_id, layer.gradient);
      submitted();
      scheduler.compute({.name = "update", .priority = i},
                        {read(layer.gradient_id), update(layer.weights_id)},
                        [&] { work(layer.gradient, layer.weights, 1); });
    }
    HOCKET_TRY(scheduler.end_step());
  }
  HOCKET_TRY(scheduler.synchronize());
  return static_cast<double>(clock.now_ns() - begin_ns) / 1e6 / kSteps;
}

/// Trains as all ranks; returns the time of rank 0.
Result<double> train_all(bool overlaps) {
  LocalGroup group(kRanks);
  Result<double> first, second;
  std::thread other([&] { second = train(*group.join(1), overlaps); });
  first = train(*group.join(0), overlaps);
  other.join();
  return second ? first : second;
}

}  // namespace
}  // namespace hocket

int main() {
  const auto in_order = hocket::train_all(false), overlapped = hocket::train_all(true);
  if (!in_order || !overlapped) {
    const auto& error = (in_order ? overlapped : in_order).error();
    std::fprintf(stderr, "overlap: %s\n", error.message.c_str());
    return 1;
  }
  std::printf("in order:   %6.1f ms an iteration\n", *in_order);
  std::printf("overlapped: %6.1f ms an iteration\n", *overlapped);
  std::printf("ratio:      %6.2f\n", *in_order / *overlapped);
}
