#pragma once

// Cost of using one configuration everywhere: on links from 1 to 100 Gb/s, compares the
// configuration that is best over all models and links with the best for each. Pure.

#include <array>
#include <string>
#include <vector>

#include "core/description/step_description.h"
#include "core/step/schedule_config.h"

namespace hocket {

inline constexpr std::array<double, 5> kGbitPerSecond{1, 10, 25, 40, 100};

/// Returns the cost of an all-reduce over `ranks`, 16 or 64, from what MG-WFBP and DeAR publish for
/// 10 Gb/s Ethernet and 56 Gb/s InfiniBand: alpha is that of the nearer of the two; beta is linear
/// in the inverse of the bandwidth, through both. A part counts as done 0.3 ms later.
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
  double fifo_ns = 0;     ///< whole tensors in the order in which backward produces them
  double default_ns = 0;  ///< ByteScheduler's documented default for all-reduce
  double fixed_ns = 0;    ///< BandwidthComparison::fixed
  double tuned_ns = 0;
  ScheduleConfig tuned;
};

struct BandwidthComparison {
  int ranks = 0;
  /// Configuration of the grid with the smallest geometric mean, over all rows, of its time
  /// relative to the tuned time.
  ScheduleConfig fixed;
  std::vector<BandwidthRow> rows;
};

BandwidthComparison compare_bandwidths(const std::vector<BandwidthModel>& models, int ranks);

}  // namespace hocket
