#pragma once

// What each task is partitioned by: the configuration, and in its place what the overrides of the
// task's region say. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/step/schedule_config.h"
#include "core/step/step_description.h"

namespace hocket::partitioning {

/// The knobs as they hold for the tasks of a region.
struct Rule {
  std::string region;  ///< empty: of all tasks for which the configuration has no overrides
  std::int64_t partition_bytes = 0;
  std::int64_t bucket_bytes = 0;
  int streams = 0;  ///< 0: as many as there are
  std::optional<std::uint32_t> priority;
  CollectivePrimitive primitive = CollectivePrimitive::all_reduce;
  bool grouped = false;  ///< inside the hosts and between them
  CollectiveLaunch launch = CollectiveLaunch::ready;
  int compute_parts = 1;
  /// Whether tasks are divided that have to do with no collective, too.
  bool divides_all = false;
  std::optional<std::string> dimension;
};

struct Rules {
  std::vector<Rule> rules;
  std::vector<std::uint32_t> of_task;  ///< indices into `rules`

  const Rule& of(std::uint32_t task) const { return rules[of_task[task]]; }
};

/// "regions.NAME.FIELD" or, of the rule for the rest, "FIELD".
std::string path_of(const Rule& rule, std::string_view field);

/// `step` in the general form, `config` valid. invalid_argument, beginning with the path of the
/// field, for what does not fit the step.
Result<Rules> resolve_rules(const StepDescription& step, const ScheduleConfig& config);

}  // namespace hocket::partitioning
