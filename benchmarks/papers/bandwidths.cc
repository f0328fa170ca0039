#include "benchmarks/papers/bandwidths.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "benchmarks/papers/parameter_server.h"
#include "benchmarks/papers/sweep.h"
#include "core/base/check.h"
#include "core/plan/overlap_bound.h"

namespace hocket {
namespace {

StepDescription step_on(const BandwidthModel& model, int ranks, double gbit_per_second) {
  StepDescription step;
  step.layers = model.layers;
  step.collective = all_reduce_cost(ranks, gbit_per_second);
  return step;
}

double bound_ns(const StepDescription& step) {
  std::vector<LayerCost> costs;
  for (const StepLayer& layer : step.layers) {
    const double wire_ns =
        step.collective.beta_ns_per_byte * static_cast<double>(layer.parameter_bytes);
    costs.push_back({layer.name, layer.forward_ns, layer.backward_ns, std::llround(wire_ns)});
  }
  return static_cast<double>(overlap_bound_ns(costs));
}

/// Returns ByteScheduler's default for all-reduce: parts of 8,000,000 and credit of 16,000,000
/// parameters.
ScheduleConfig documented_all_reduce_default() {
  return partition_and_credit_grid({32'000'000}, {2}).front();
}

double time_ns(const StepDescription& step, const ScheduleConfig& config) {
  return static_cast<double>(iteration_ns(step, config));
}

}  // namespace

PartCost all_reduce_cost(int ranks, double gbit_per_second) {
  HOCKET_CHECK(ranks == 16 || ranks == 64, "nothing is published for so many ranks");
  constexpr double kEthernet = 10, kInfiniBand = 56;  // Gb/s
  const PartCost ethernet = ranks == 16 ? PartCost{0.908e6, 0.740, 0} : PartCost{7.04e6, 0.964, 0};
  const PartCost infini_band =
      ranks == 16 ? PartCost{0.236e6, 0.406, 0} : PartCost{0.806e6, 0.589, 0};
  const double slope = (ethernet.beta_ns_per_byte - infini_band.beta_ns_per_byte) /
                       (1 / kEthernet - 1 / kInfiniBand);
  const bool nearer_ethernet = gbit_per_second < (kEthernet + kInfiniBand) / 2;
  return {
      .alpha_ns = (nearer_ethernet ? ethernet : infini_band).alpha_ns,
      .beta_ns_per_byte = ethernet.beta_ns_per_byte + slope * (1 / gbit_per_second - 1 / kEthernet),
      .latency_ns = 0.3e6};
}

BandwidthComparison compare_bandwidths(const std::vector<BandwidthModel>& models, int ranks) {
  const auto grid = partition_and_credit_grid({MiB / 2, 1 * MiB, 2 * MiB, 4 * MiB, 8 * MiB,
                                               16 * MiB, 32 * MiB, 64 * MiB, 128 * MiB, 512 * MiB},
                                              {1, 2, 4, 8});
  BandwidthComparison comparison;
  comparison.ranks = ranks;
  std::vector<std::vector<double>> times;  // by row, then by configuration of the grid
  for (const BandwidthModel& model : models) {
    for (const double gbit_per_second : kGbitPerSecond) {
      const StepDescription step = step_on(model, ranks, gbit_per_second);
      auto& of_grid = times.emplace_back();
      for (const ScheduleConfig& config : grid) of_grid.push_back(time_ns(step, config));
      const auto best = std::min_element(of_grid.begin(), of_grid.end());
      ScheduleConfig fifo = fifo_config();
      fifo.streams = 1;
      comparison.rows.push_back({.model = model.name,
                                 .gbit_per_second = gbit_per_second,
                                 .bound_ns = bound_ns(step),
                                 .fifo_ns = time_ns(step, fifo),
                                 .default_ns = time_ns(step, documented_all_reduce_default()),
                                 .fixed_ns = 0,
                                 .tuned_ns = *best,
                                 .tuned = grid[static_cast<std::size_t>(best - of_grid.begin())]});
    }
  }
  double least = std::numeric_limits<double>::infinity();
  std::size_t fixed = 0;
  for (std::size_t c = 0; c < grid.size(); ++c) {
    double log_sum = 0;
    for (std::size_t r = 0; r < times.size(); ++r) {
      log_sum += std::log(times[r][c] / comparison.rows[r].tuned_ns);
    }
    if (log_sum < least) {
      least = log_sum;
      fixed = c;
    }
  }
  comparison.fixed = grid[fixed];
  for (std::size_t r = 0; r < times.size(); ++r) comparison.rows[r].fixed_ns = times[r][fixed];
  return comparison;
}

}  // namespace hocket
