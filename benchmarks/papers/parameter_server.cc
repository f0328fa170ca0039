#include "benchmarks/papers/parameter_server.h"

#include <algorithm>
#include <cmath>

#include "core/collective/part_sizes.h"

namespace hocket {
namespace {

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

}  // namespace

StepDescription served_step(const std::vector<StepLayer>& layers, double bytes_per_second,
                            const Overheads& overheads, std::int64_t partition_bytes) {
  StepDescription step;
  step.layers = loaded(layers, overheads, partition_bytes);
  step.servers = StepServers{.servers = 1,
                             .rank_link = {bytes_per_second, 0},
                             .server_link = {bytes_per_second, 0},
                             .overhead_bytes = overheads.link_ns_per_part * bytes_per_second / 1e9};
  return step;
}

ScheduleConfig fifo_config() {
  ScheduleConfig config;
  config.partition_bytes = kWholeTensors;
  config.credit_bytes = 16 * kWholeTensors;
  config.order = CollectiveOrder::fifo;
  return config;
}

ScheduleConfig over_servers(ScheduleConfig config) {
  config.communication = Communication::parameter_server;
  return config;
}

double compute_ns(const StepDescription& step) {
  double total_ns = 0;
  for (const StepLayer& layer : step.layers)
    total_ns += static_cast<double>(layer.forward_ns + layer.backward_ns);
  return total_ns;
}

}  // namespace hocket
