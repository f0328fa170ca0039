#pragma once

// What one configuration for all costs: on links from 1 to 100 Gb/s, the configuration that is best
// over all models and links against the best for each. Pure.

#include <array>
#include <string>
#include <vector>

#include "core/step/schedule_config.h"
#include "core/step/step_description.h"

namespace hocket {

inline constexpr std::array<double, 5> kGbitPerSecond{1, 10, 25, 40, 100};

/// An all-reduce over `ranks`, 16 or 64, from what MG-WFBP and DeAR publish for 10 Gb/s Ethernet
/// and 56 Gb/s InfiniBand: alpha is that of the nearer of the two, beta lies on the line through
/// both over the inverse of the bandwidth. A part counts as done 0.3 ms later.
PartCost all_reduce_cost(int ranks, double gbit_per_second);

struct BandwidthModel {
  std::string name;
  std::vector<StepLayer> layers;
};

/// Iteration times of one model on one link.
struct BandwidthRow {
  std::string model;
  double gbit_per_second = 0;
  double bound_ns = 0;    ///< T*
  double fifo_ns = 0;     ///< whole tensors as backward produces them
  double default_ns = 0;  ///< ByteScheduler's documented default for all-reduce
  double fixed_ns = 0;    ///< BandwidthComparison::fixed
  double tuned_ns = 0;
  ScheduleConfig tuned;
};

struct BandwidthComparison {
  int ranks = 0;
  /// Of the grid, the one whose time relative to the tuned one's has the smallest geometric mean
  /// over all rows.
  ScheduleConfig fixed;
  std::vector<BandwidthRow> rows;
};

BandwidthComparison compare_bandwidths(const std::vector<BandwidthModel>& models, int ranks);

}  // namespace hocket
