#include "core/partitioning/region_rules.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/nearest_name.h"

namespace hocket::partitioning {
namespace {

std::string in_quotes(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

template <class Names>
std::string list_of(const Names& names) {
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "" : ", ") + in_quotes(name);
  return list;
}

Result<void> check_group(const std::string& path, std::int64_t group_ranks,
                         const StepDescription& step) {
  if (group_ranks == 1) return {};
  const std::string found = path + ": found " + std::to_string(group_ranks) + ", ";
  if (group_ranks < 1 || step.ranks % group_ranks != 0) {
    return invalid(found + "which does not divide the " + std::to_string(step.ranks) +
                   " ranks; 1 is one group of all ranks, " + std::to_string(step.ranks_per_host) +
                   " a group for each host");
  }
  if (group_ranks != step.ranks_per_host) {
    return invalid(found + "expected 1 or the ranks of a host, " +
                   std::to_string(step.ranks_per_host) +
                   ": other groups would mix links of different bandwidth");
  }
  return {};
}

/// Checks that a task of the region has the rule's dimension and that it may be divided along it.
Result<void> check_dimension(const Rule& rule, const StepDescription& step) {
  if (!rule.dimension) return {};
  const std::string path = path_of(rule, "dimension");
  std::set<std::string_view> known;
  for (const StepTask& task : step.tasks) {
    if (task.collective || task.place.region != rule.region) continue;
    for (const Dimension& dimension : task.place.dimensions) {
      known.insert(dimension.name);
      if (dimension.name != *rule.dimension || dimension.kind != DimensionKind::normalized)
        continue;
      return invalid(path + ": " + in_quotes(dimension.name) + " of the task " +
                     in_quotes(task.name) +
                     " is normalized, so results depend on all of it and it is never divided");
    }
  }
  if (known.contains(*rule.dimension)) return {};
  return invalid(path + ": no task of the region has the dimension " + in_quotes(*rule.dimension) +
                 (known.empty() ? ", nor any other" : "; there are " + list_of(known)));
}

Result<void> check_region(const Rule& rule, const RegionOverrides& region,
                          const StepDescription& step) {
  if (region.group_ranks) {
    auto ok = check_group(path_of(rule, "group_ranks"), *region.group_ranks, step);
    if (!ok) return ok;
  }
  return check_dimension(rule, step);
}

Rule global_rule(const ScheduleConfig& config) {
  Rule rule;
  rule.partition_bytes = config.partition_bytes;
  rule.bucket_bytes = config.bucket_bytes;
  rule.primitive = config.primitive;
  rule.grouped = config.group_ranks > 1;
  rule.launch = config.launch;
  rule.compute_parts = config.compute_parts;
  return rule;
}

Rule overridden(Rule rule, const std::string& name, const RegionOverrides& region) {
  rule.region = name;
  rule.partition_bytes = region.partition_bytes.value_or(rule.partition_bytes);
  rule.bucket_bytes = region.bucket_bytes.value_or(rule.bucket_bytes);
  rule.streams = region.streams.value_or(0);
  if (region.priority) rule.priority = static_cast<std::uint32_t>(*region.priority);
  rule.primitive = region.primitive.value_or(rule.primitive);
  if (region.group_ranks) rule.grouped = *region.group_ranks > 1;
  rule.launch = region.launch.value_or(rule.launch);
  rule.compute_parts = region.compute_parts.value_or(rule.compute_parts);
  rule.divides_all = region.compute_parts.has_value();
  rule.dimension = region.dimension;
  return rule;
}

}  // namespace

std::string path_of(const Rule& rule, std::string_view field) {
  return (rule.region.empty() ? "" : "regions." + rule.region + ".") + std::string(field);
}

Result<Rules> resolve_rules(const StepDescription& step, const ScheduleConfig& config) {
  HOCKET_TRY(check_group("group_ranks", config.group_ranks, step));

  Rules rules{{global_rule(config)}, std::vector<std::uint32_t>(step.tasks.size(), 0)};
  if (config.regions.empty()) return rules;

  std::set<std::string> known;
  for (const StepTask& task : step.tasks) {
    if (!task.place.region.empty()) known.insert(task.place.region);
  }
  std::map<std::string_view, std::uint32_t> rule_of;
  for (const auto& [name, region] : config.regions) {
    if (!known.contains(name)) {
      const std::vector<std::string> names(known.begin(), known.end());
      return invalid(
          "regions." + name + ": no task of the step names this region" +
          (names.empty() ? ", nor any other"
                         : "; the nearest that there is: " + in_quotes(nearest_name(name, names))));
    }
    const Rule rule = overridden(rules.rules.front(), name, region);
    HOCKET_TRY(check_region(rule, region, step));
    rule_of[name] = static_cast<std::uint32_t>(rules.rules.size());
    rules.rules.push_back(rule);
  }
  for (std::size_t i = 0; i < step.tasks.size(); ++i) {
    const auto rule = rule_of.find(step.tasks[i].place.region);
    if (rule != rule_of.end()) rules.of_task[i] = rule->second;
  }
  return rules;
}

}  // namespace hocket::partitioning
