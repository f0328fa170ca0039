#include "benchmarks/papers/parameter_server.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "core/collective/collective_parts.h"

namespace hocket {
namespace {

constexpr std::int64_t kWholeTensors = 1 << 30;

/// Returns `layers` with the computation that `overheads` adds.
std::vector<StepLayer> loaded(std::vector<StepLayer> layers, const Overheads& overheads,
                              std::int64_t partition_bytes) {
  for (StepLayer& layer : layers) {
    const auto slower = [&](std::int64_t ns) {
      return std::llround(static_cast<double>(ns) * (1 + overheads.compute_share));
    };
    layer.forward_ns = slower(layer.forward_ns);
    layer.backward_ns = slower(layer.backward_ns);
    if (layer.parameter_bytes > 0) {
      const auto parts = static_cast<double>(part_count(layer.parameter_bytes, partition_bytes));
      layer.backward_ns += std::llround(parts * overheads.compute_ns_per_part);
    }
  }
  layers.front().forward_ns += std::llround(overheads.compute_ns_per_step);
  return layers;
}

StepTask compute_task(std::string name, std::int64_t duration_ns, std::vector<Access> accesses) {
  return {.name = std::move(name),
          .collective = std::nullopt,
          .duration_ns = duration_ns,
          .bytes = 0,
          .priority = 0,
          .accesses = std::move(accesses)};
}

}  // namespace

StepDescription fifo_step(const std::vector<StepLayer>& layers, double bytes_per_second,
                          const Overheads& overheads) {
  StepDescription step;
  step.collective = {.alpha_ns = overheads.link_ns_per_part,
                     .beta_ns_per_byte = 1e9 / bytes_per_second,
                     .latency_ns = 0};
  step.data = {"activations", "pull link"};
  const DataId activations{0}, pull_link{1};
  const auto parameters = [](std::size_t i) {
    return DataId{static_cast<std::uint32_t>(2 + 2 * i)};
  };
  const auto gradient = [](std::size_t i) { return DataId{static_cast<std::uint32_t>(3 + 2 * i)}; };
  const std::vector<StepLayer> work = loaded(layers, overheads, kWholeTensors);
  for (std::size_t i = 0; i < work.size(); ++i) {
    step.data.push_back("parameters " + std::to_string(i));
    step.data.push_back("gradient " + std::to_string(i));
    step.tasks.push_back(compute_task("forward " + std::to_string(i), work[i].forward_ns,
                                      {read(parameters(i)), update(activations)}));
  }
  for (std::size_t i = work.size(); i-- > 0;) {
    const std::string layer = std::to_string(i);
    step.tasks.push_back(compute_task("backward " + layer, work[i].backward_ns,
                                      {update(activations), write(gradient(i))}));
    const std::int64_t bytes = work[i].parameter_bytes;
    if (bytes == 0) continue;
    step.tasks.push_back({.name = "push " + layer,
                          .collective = CollectiveKind::all_reduce,
                          .duration_ns = 0,
                          .bytes = bytes,
                          .priority = 0,
                          .accesses = {update(gradient(i))}});
    // Pulls have a stream of their own: they run beside computation and pushes, one at a time.
    const double pull_ns =
        step.collective.alpha_ns + step.collective.beta_ns_per_byte * static_cast<double>(bytes);
    step.tasks.push_back(
        compute_task("pull " + layer, std::llround(pull_ns),
                     {read(gradient(i)), update(pull_link), write(parameters(i))}));
  }
  return step;
}

ScheduleConfig fifo_config() {
  ScheduleConfig config;
  config.partition_bytes = kWholeTensors;
  config.credit_bytes = 16 * kWholeTensors;
  config.streams = 2;  // for computation and for pulls
  config.order = CollectiveOrder::fifo;
  return config;
}

StepDescription scheduled_step(const std::vector<StepLayer>& layers, double bytes_per_second,
                               const Overheads& overheads, std::int64_t partition_bytes) {
  StepDescription step;
  step.layers = loaded(layers, overheads, partition_bytes);
  std::int64_t largest_part = 0;
  for (const StepLayer& layer : layers) {
    largest_part = std::max(largest_part, std::min(layer.parameter_bytes, partition_bytes));
  }
  const double beta_ns_per_byte = 1e9 / bytes_per_second;
  step.collective = {.alpha_ns = overheads.link_ns_per_part,
                     .beta_ns_per_byte = beta_ns_per_byte,
                     .latency_ns = overheads.link_ns_per_part +
                                   beta_ns_per_byte * static_cast<double>(largest_part)};
  return step;
}

}  // namespace hocket
