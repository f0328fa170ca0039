#pragma once

// The directions in which the search for a step's partitioning moves. Pure.

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/description/step_description.h"
#include "core/sim/partition_search/partition_search.h"
#include "core/step/schedule_config.h"

namespace hocket {

/// A knob and its new value.
struct KnobChange {
  std::string knob;
  nlohmann::json value;
};
using KnobMove = std::vector<KnobChange>;

/// Alternative moves; at most one of them applies.
using MoveAxis = std::vector<KnobMove>;

/// The moves that can matter for a step; sizes are derived from its own.
class PartitionAxes {
 public:
  /// `step` must be valid and in the general form.
  PartitionAxes(const StepDescription& step, const PartitionSearchOptions& options);

  /// Returns the axes of all knobs of the whole step, for a search that is at `config`.
  std::vector<MoveAxis> of_step(const ScheduleConfig& config) const;
  /// Returns every combination of primitive, group and launch, each with the channels and the order
  /// it needs to help; and each of these again with everything cut finely.
  std::vector<KnobMove> starts() const;
  /// Returns the axes of the overrides of `region`.
  std::vector<MoveAxis> of_region(const std::string& region, const ScheduleConfig& config) const;
  /// Returns the regions with collectives, those with the most bytes first; empty when there is
  /// only one.
  const std::vector<std::string>& regions() const { return regions_; }

 private:
  void add_companions(bool fine, bool has_stages, bool is_late, KnobMove& start) const;
  /// Returns the largest partition_bytes to try; larger values change nothing.
  std::int64_t highest_part_bytes() const;
  MoveAxis sizes_around(const std::string& knob, std::int64_t bytes) const;
  MoveAxis buckets() const;

  PartitionSearchOptions options_;
  std::int64_t least_part_bytes_ = 0, largest_bytes_ = 0, smallest_bytes_ = 0, all_bytes_ = 0;
  bool has_all_reduce_ = false, has_dimensions_ = false;
  std::int64_t group_ranks_ = 1;  ///< ranks of a host where groups are possible, else 1
  int micro_batches_ = 1;
  std::vector<std::string> regions_;
};

/// Returns `config` after `move`, which must be possible.
ScheduleConfig config_after(const ScheduleConfig& config, const KnobMove& move);

}  // namespace hocket
