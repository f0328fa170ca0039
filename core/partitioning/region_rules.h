#pragma once

// Rules by which tasks are partitioned: the configuration, with the overrides of each task's
// region. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/step/schedule_config.h"

namespace hocket::partitioning {

/// Values of the knobs for the tasks of a region.
struct Rule {
  /// Empty for the rule of all tasks whose region has no overrides.
  std::string region;
  std::int64_t partition_bytes = 0;
  std::int64_t bucket_bytes = 0;
  /// Maximum streams; 0: no limit.
  int streams = 0;
  std::optional<std::uint32_t> priority;
  CollectivePrimitive primitive = CollectivePrimitive::all_reduce;
  /// True: inside the hosts, then between them.
  bool grouped = false;
  CollectiveLaunch launch = CollectiveLaunch::ready;
  int compute_parts = 1;
  /// True when tasks unrelated to collectives are divided too.
  bool divides_all = false;
  std::optional<std::string> dimension;
};

struct Rules {
  std::vector<Rule> rules;
  /// Indices into `rules`, by task.
  std::vector<std::uint32_t> of_task;

  const Rule& of(std::uint32_t task) const { return rules[of_task[task]]; }
};

/// Returns "regions.NAME.FIELD", or "FIELD" for the rule without a region.
std::string path_of(const Rule& rule, std::string_view field);

/// Returns the rules of the tasks of `step`. Requires the general form and a valid `config`.
/// invalid_argument if the configuration does not fit the step; the message begins with the path of
/// the field.
Result<Rules> resolve_rules(const StepDescription& step, const ScheduleConfig& config);

}  // namespace hocket::partitioning
