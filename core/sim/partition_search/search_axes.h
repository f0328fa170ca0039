#pragma once

// Along what the partitioning of a step is searched. Pure.

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/sim/partition_search/partition_search.h"
#include "core/step/schedule_config.h"
#include "core/step/step_description.h"

namespace hocket {

/// Values of knobs that are set together.
struct KnobChange {
  std::string knob;
  nlohmann::json value;
};
using Move = std::vector<KnobChange>;

/// Moves of which at most one holds.
using Axis = std::vector<Move>;

/// What may matter to a step; sizes are its own.
class PartitionAxes {
 public:
  /// `step` must be valid and in the general form.
  PartitionAxes(const StepDescription& step, const ChoiceOptions& options);

  /// All knobs of the whole step, for a search that has come to `config`.
  std::vector<Axis> of_step(const ScheduleConfig& config) const;
  /// Every combination of primitive, group and launch, each with the channels and the order without
  /// which it does not help; and each with all cut fine.
  std::vector<Move> starts() const;
  /// What `region` may do otherwise.
  std::vector<Axis> of_region(const std::string& region, const ScheduleConfig& config) const;
  /// Regions of collectives, those with the most bytes first; none when there is only one.
  const std::vector<std::string>& regions() const { return regions_; }

 private:
  void add_companions(bool fine, bool has_stages, bool is_late, Move& start) const;
  /// Larger ones do not differ.
  std::int64_t highest_part_bytes() const;
  Axis sizes_around(const std::string& knob, std::int64_t bytes) const;
  Axis buckets() const;

  ChoiceOptions options_;
  std::int64_t least_part_bytes_ = 0, largest_bytes_ = 0, smallest_bytes_ = 0, all_bytes_ = 0;
  bool has_all_reduce_ = false, has_dimensions_ = false;
  std::int64_t group_ranks_ = 1;  ///< of a host, where groups are possible
  int micro_batches_ = 1;
  std::vector<std::string> regions_;
};

/// `config` after `move`, which must be possible.
ScheduleConfig moved(const ScheduleConfig& config, const Move& move);

}  // namespace hocket
