#include "profiler/calibration/step_profile.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/base/intervals.h"
#include "core/partitioning/step_partition.h"
#include "core/plan/captured_step.h"
#include "core/step/link.h"
#include "profiler/calibration/placed_times.h"
#include "profiler/calibration/step_structure.h"

namespace hocket {
namespace {

/// Largest lost share of computation beside communication; at 1 the slow-down would be infinite.
constexpr double kMaxLostShare = 0.95;
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

struct Weighted {
  double value = 0;
  double weight = 1;
};

/// Returns the weighted median; 0 without values.
double weighted_median(std::vector<Weighted> values) {
  std::erase_if(values, [](const Weighted& v) { return v.weight <= 0; });
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end(),
            [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
  double total = 0;
  for (const Weighted& v : values) total += v.weight;
  double below = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    below += values[i].weight;
    if (2 * below > total) return values[i].value;
    if (2 * below == total) return (values[i].value + values[i + 1].value) / 2;
  }
  return values.back().value;
}

/// Renumbers data in the order of their first access.
void renumber_data(std::vector<ProfiledTask>& tasks) {
  std::unordered_map<std::uint32_t, std::uint32_t> numbers;
  for (ProfiledTask& task : tasks) {
    for (Access& access : task.accesses) {
      const auto next = static_cast<std::uint32_t>(numbers.size());
      access.data.index = numbers.emplace(access.data.index, next).first->second;
    }
  }
}

bool same_accesses(const ProfiledTask& a, const ProfiledTask& b) {
  return std::equal(
      a.accesses.begin(), a.accesses.end(), b.accesses.begin(), b.accesses.end(),
      [](const Access& x, const Access& y) { return x.data == y.data && x.mode == y.mode; });
}

/// Returns whether both steps were placed from the same step, or neither was placed.
bool same_source(const ProfiledStep& a, const ProfiledStep& b) {
  if (a.placed_from == b.placed_from) return true;
  return a.placed_from && b.placed_from && *a.placed_from == *b.placed_from;
}

Result<void> check_equal(const ProfiledStep& first, const ProfiledStep& other) {
  const std::string advice = "; profile steps that repeat";
  if (first.tasks.size() != other.tasks.size()) {
    return failure(ErrorCode::invalid_argument,
                   "profile: one step has " + std::to_string(first.tasks.size()) +
                       " tasks, another " + std::to_string(other.tasks.size()) + advice);
  }
  if (!same_source(first, other)) {
    return failure(ErrorCode::invalid_argument,
                   "profile: the steps are not placed from one step" + advice);
  }
  const auto same_task = [&](const ProfiledTask& a, const ProfiledTask& b) {
    return a.name == b.name && a.priority == b.priority && a.is_collective == b.is_collective &&
           a.bytes == b.bytes && (first.placed_from || same_accesses(a, b));
  };
  for (std::size_t i = 0; i < first.tasks.size(); ++i) {
    if (same_task(first.tasks[i], other.tasks[i])) continue;
    return failure(ErrorCode::invalid_argument,
                   "profile: task " + std::to_string(i) + " of a step is \"" + first.tasks[i].name +
                       "\" in one and \"" + other.tasks[i].name +
                       "\" in another, or differs in priority, bytes or accesses" + advice);
  }
  return {};
}

std::int64_t shared_ns(const Interval& interval, const std::vector<Interval>& set) {
  auto from = std::partition_point(set.begin(), set.end(), [&](const Interval& other) {
    return other.end_ns <= interval.begin_ns;
  });
  std::int64_t shared = 0;
  for (; from != set.end() && from->begin_ns < interval.end_ns; ++from)
    shared += std::min(from->end_ns, interval.end_ns) - std::max(from->begin_ns, interval.begin_ns);
  return shared;
}

std::int64_t beside_ns(const ProfiledStep& step) {
  std::int64_t sum = 0;
  for (const ProfiledTask& task : step.tasks) sum += task.beside_ns;
  return sum;
}

/// Returns whether the time of task `index` depends on the placement.
bool is_placed_update(const ProfiledStep& step, std::size_t index) {
  return step.placed_from && step.placed_from->tasks[index].place.updates_layer != kNoLayer;
}

/// Returns each task's median duration over `steps`; 0 for collectives and updates of placed steps.
/// Scales them to add up to the median step: a median of each task alone omits what rare delays
/// add.
std::vector<double> median_durations(const std::vector<const ProfiledStep*>& steps) {
  std::vector<double> durations;
  double sum = 0;
  for (std::size_t i = 0; i < steps.front()->tasks.size(); ++i) {
    if (is_placed_update(*steps.front(), i)) {
      durations.push_back(0);
      continue;
    }
    std::vector<Weighted> values;
    for (const ProfiledStep* step : steps)
      values.push_back({static_cast<double>(step->tasks[i].duration_ns)});
    sum += durations.emplace_back(weighted_median(std::move(values)));
  }
  std::vector<Weighted> sums;
  for (const ProfiledStep* step : steps) {
    Weighted& of_step = sums.emplace_back(Weighted{0});
    for (std::size_t i = 0; i < step->tasks.size(); ++i)
      if (!is_placed_update(*step, i))
        of_step.value += static_cast<double>(step->tasks[i].duration_ns);
  }
  if (sum == 0) return durations;
  const double scale = weighted_median(std::move(sums)) / sum;
  for (double& duration : durations) duration *= scale;
  return durations;
}

/// Fits the slow-down to the excess of tasks over `undisturbed_ns`. It compares sums over a step
/// instead of single tasks, so that rare delays count.
double fit_slowdown(const std::vector<const ProfiledStep*>& overlapped,
                    const std::vector<double>& undisturbed_ns) {
  std::vector<Weighted> lost_shares;
  for (const ProfiledStep* step : overlapped) {
    double lost_ns = 0, beside_ns = 0;
    for (std::size_t i = 0; i < step->tasks.size(); ++i) {
      const ProfiledTask& task = step->tasks[i];
      if (task.beside_ns == 0 || is_placed_update(*step, i)) continue;
      lost_ns += static_cast<double>(task.duration_ns) - undisturbed_ns[i];
      beside_ns += static_cast<double>(task.beside_ns);
    }
    if (beside_ns > 0) lost_shares.push_back({lost_ns / beside_ns});
  }
  const double lost = std::clamp(weighted_median(std::move(lost_shares)), 0.0, kMaxLostShare);
  return lost / (1 - lost);
}

/// Returns the time that an all-reduce of as many bytes would take; a reduce-scatter and an
/// all-gather count as half of one each (StepDescription::collective).
double all_reduce_ns(const ProfiledPart& part) {
  const bool is_half =
      part.kind == CollectiveKind::reduce_scatter || part.kind == CollectiveKind::all_gather;
  return static_cast<double>(part.duration_ns) * (is_half ? 2 : 1);
}

/// Parts of one size. Values are medians over the steps of a step's mean, so that rare delays
/// count. A part with half of the link takes as long as one of twice the bytes with all of it.
struct SizedParts {
  double bytes = 0, duration_ns = 0, parts = 0;
};

/// Returns whether a part counts in a fit.
using Counts = std::function<bool(const ProfiledPart&)>;

Counts collectives_in(CollectiveGroup group) {
  return [group](const ProfiledPart& part) { return part.group == group && !is_served(part.kind); };
}

std::vector<SizedParts> parts_by_size(const std::vector<const ProfiledStep*>& steps,
                                      const Counts& counts) {
  struct Means {
    std::vector<Weighted> durations_ns, bytes;
  };
  std::map<std::int64_t, Means> means;
  for (const ProfiledStep* step : steps) {
    std::map<std::int64_t, SizedParts> of_step;
    for (const ProfiledPart& part : step->parts) {
      if (!counts(part)) continue;
      SizedParts& sum = of_step[part.bytes];
      sum.duration_ns += all_reduce_ns(part);
      sum.bytes += static_cast<double>(part.bytes) / part.share;
      sum.parts += 1;
    }
    for (const auto& [bytes, sum] : of_step) {
      means[bytes].durations_ns.push_back({sum.duration_ns / sum.parts, sum.parts});
      means[bytes].bytes.push_back({sum.bytes / sum.parts, sum.parts});
    }
  }
  std::vector<SizedParts> sizes;
  for (auto& [bytes, of_size] : means) {
    double parts = 0;
    for (const Weighted& value : of_size.bytes) parts += value.weight;
    sizes.push_back({weighted_median(std::move(of_size.bytes)),
                     weighted_median(std::move(of_size.durations_ns)), parts});
  }
  std::ranges::sort(sizes, {}, &SizedParts::bytes);
  return sizes;
}

/// Fits the cost of a part, if a collective's that of an all-reduce; all zero without parts.
PartCost fit_part_cost(const std::vector<const ProfiledStep*>& steps, const Counts& counts) {
  const std::vector<SizedParts> sizes = parts_by_size(steps, counts);
  std::vector<Weighted> slopes, intercepts;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double distance = sizes[i].bytes - sizes[j].bytes;
      if (distance == 0) continue;
      slopes.push_back({(sizes[i].duration_ns - sizes[j].duration_ns) / distance,
                        distance * std::min(sizes[i].parts, sizes[j].parts)});
    }
  }
  PartCost cost{0, weighted_median(std::move(slopes)), 0};
  for (const SizedParts& size : sizes)
    intercepts.push_back({size.duration_ns - cost.beta_ns_per_byte * size.bytes, size.parts});
  cost.alpha_ns = weighted_median(intercepts);
  // Parts of unknown size have only a time.
  if (sizes.size() == 1 && sizes.front().bytes == 0) return {cost.alpha_ns, 0, 0};
  if (sizes.size() < 2 || cost.alpha_ns < 0) {
    std::vector<Weighted> ratios;
    for (const SizedParts& size : sizes) {
      if (size.bytes > 0)
        ratios.push_back({size.duration_ns / size.bytes, size.bytes * size.parts});
    }
    return {0, weighted_median(std::move(ratios)), 0};
  }
  if (cost.beta_ns_per_byte >= 0) return cost;
  for (std::size_t i = 0; i < sizes.size(); ++i) intercepts[i].value = sizes[i].duration_ns;
  return {weighted_median(std::move(intercepts)), 0, 0};
}

/// Makes names unique: repeated ones get a number.
class UniqueNames {
 public:
  std::string next(const std::string& name) {
    std::string unique = name;
    while (!taken_.insert(unique).second) unique = name + " #" + std::to_string(++numbers_[name]);
    return unique;
  }

 private:
  std::set<std::string> taken_;
  std::map<std::string, int> numbers_;
};

StepDescription structure_of(const ProfiledStep& step) {
  StepDescription description;
  UniqueNames names;
  std::uint32_t data = 0;
  for (const ProfiledTask& task : step.tasks) {
    description.tasks.push_back({names.next(task.name),
                                 task.is_collective ? std::optional(task.kind) : std::nullopt, 0,
                                 // Only the time counts of a collective of unknown size.
                                 task.is_collective ? std::max<std::int64_t>(task.bytes, 1) : 0,
                                 task.priority, task.accesses});
    for (const Access& access : task.accesses) data = std::max(data, access.data.index + 1);
  }
  for (std::uint32_t i = 0; i < data; ++i) description.data.push_back("d" + std::to_string(i));
  return description;
}

}  // namespace

void StepProfile::add(ProfiledTask task, TaskId id) {
  index_of_[packed(id)] = tasks_.size();
  tasks_.push_back({std::move(task), -1, 0, {}, placed_from_});
}

void StepProfile::submitted(const SubmittedTask& task) {
  std::lock_guard lock(mutex_);
  add({std::string(task.name),
       task.priority,
       {task.accesses.begin(), task.accesses.end()},
       task.is_collective,
       task.bytes,
       0,
       0,
       CollectiveKind::all_reduce,
       task.lane},
      task.id);
}

void StepProfile::launched(const CapturedStep& step, TaskId first) {
  std::lock_guard lock(mutex_);
  for (std::uint32_t i = 0; i < step.size(); ++i) {
    const CapturedStep::Task& task = step.task(i);
    add({task.name, task.priority, task.accesses, task.is_collective, task.bytes, 0, 0,
         CollectiveKind::all_reduce, task.lane},
        step.id_of(i, first));
  }
}

void StepProfile::placed(const StepDescription& step) {
  auto named = std::make_shared<const StepDescription>(with_unique_names(step));
  std::lock_guard lock(mutex_);
  placed_from_ = std::move(named);
}

void StepProfile::record(const TraceEvent& event) {
  std::lock_guard lock(mutex_);
  const auto found = index_of_.find(packed(event.task));
  HOCKET_CHECK(found != index_of_.end(), "watch a scheduler from its first task on");
  Task& task = tasks_[found->second];
  task.step = event.step;
  if (ends_part(event.collective)) task.traced_bytes += event.bytes;
  task.events.push_back(event);
}

std::vector<ProfiledStep> StepProfile::steps(std::int64_t warmup) const {
  std::lock_guard lock(mutex_);
  std::vector<Interval> parts;
  std::int64_t step = 0, whole_steps = kNoLimit;
  for (const Task& task : tasks_) {
    step = std::max(step, task.step);
    if (!has_ended(task)) whole_steps = std::min(whole_steps, step);
    if (!task.profiled.is_collective) continue;
    for (const TraceEvent& part : task.events) parts.push_back({part.begin_ns, part.end_ns});
  }
  const std::vector<Interval> communication = union_of(std::move(parts));

  std::vector<ProfiledStep> steps;
  step = -1;
  for (const Task& task : tasks_) {
    if (!has_ended(task) || task.step < warmup || task.step >= whole_steps) continue;
    if (task.step != std::exchange(step, task.step))
      steps.push_back({.tasks = {}, .placed_from = task.placed_from});
    if (task.placed_from && is_copy(task.profiled.lane)) {
      for (const TraceEvent& event : task.events)
        steps.back().copies.push_back({.is_to_device = task.profiled.lane == TaskLane::to_device,
                                       .bytes = event.bytes,
                                       .duration_ns = event.end_ns - event.begin_ns});
      continue;
    }
    ProfiledTask profiled = task.profiled;
    for (const TraceEvent& event : task.events) {
      const Interval interval{event.begin_ns, event.end_ns};
      if (profiled.is_collective) {
        profiled.kind = task_kind(event.collective);
        steps.back().parts.push_back(
            {event.bytes, interval.end_ns - interval.begin_ns, event.collective, event.group});
      } else {
        profiled.duration_ns = interval.end_ns - interval.begin_ns;
        profiled.beside_ns = shared_ns(interval, communication);
      }
    }
    steps.back().tasks.push_back(std::move(profiled));
  }
  for (ProfiledStep& whole : steps) renumber_data(whole.tasks);
  return steps;
}

Result<StepDescription> describe_step(std::span<const ProfiledStep> steps) {
  if (steps.empty()) {
    return failure(ErrorCode::invalid_argument,
                   "profile: no step is whole; let a step end after the warm-up");
  }
  std::vector<const ProfiledStep*> serial, overlapped;
  for (const ProfiledStep& step : steps) {
    HOCKET_TRY(check_equal(steps.front(), step));
    (beside_ns(step) == 0 ? serial : overlapped).push_back(&step);
  }
  const auto& placed_from = steps.front().placed_from;
  if (placed_from && placed_from->tasks.size() != steps.front().tasks.size()) {
    return failure(ErrorCode::invalid_argument,
                   "profile: the steps are not those that they are said to be placed from");
  }
  StepDescription description = placed_from ? *placed_from : structure_of(steps.front());
  auto durations_ns = median_durations(serial.empty() ? overlapped : serial);
  if (!serial.empty() && !overlapped.empty()) {
    description.compute_slowdown = fit_slowdown(overlapped, durations_ns);
    // Communication does not speed up computation: something else disturbed the serial steps.
    if (description.compute_slowdown == 0) durations_ns = median_durations(overlapped);
  }
  for (std::size_t i = 0; i < durations_ns.size(); ++i)
    description.tasks[i].duration_ns = std::llround(durations_ns[i]);
  description.collective = fit_part_cost(overlapped.empty() ? serial : overlapped,
                                         collectives_in(CollectiveGroup::world));
  if (placed_from) set_placed_times(steps, description);
  if (auto ok = validate(description); !ok) return failure(ok.error().in("profile"));
  return description;
}

StepDescription with_unique_names(StepDescription step) {
  UniqueNames of_tasks, of_data;
  for (StepTask& task : step.tasks) task.name = of_tasks.next(task.name);
  for (std::string& name : step.data) name = of_data.next(name);
  return step;
}

Result<StepDescription> with_piece_costs(StepDescription step, const ScheduleConfig& config,
                                         std::span<const ProfiledStep> divided) {
  const auto measured = describe_step(divided);
  if (!measured) return measured;
  const auto partitioned = partition_step(step, config);
  HOCKET_TRY(partitioned);
  // Names are not compared: pieces of tasks with equal names are numbered differently.
  const auto same = [](const StepTask& a, const StepTask& b) {
    return a.collective == b.collective && a.bytes == b.bytes && a.priority == b.priority &&
           a.accesses.size() == b.accesses.size();
  };
  if (!std::ranges::equal(measured->tasks, partitioned->step.tasks, same)) {
    return failure(ErrorCode::invalid_argument,
                   "profile: the steps with divided computations are not those of the step that "
                   "they were divided from; profile one job");
  }
  std::vector<std::int64_t> pieces(step.tasks.size(), 0), durations_ns(step.tasks.size(), 0);
  for (std::size_t i = 0; i < partitioned->origins.size(); ++i) {
    const std::uint32_t source = partitioned->origins[i].sources.front();
    ++pieces[source];
    durations_ns[source] += measured->tasks[i].duration_ns;
  }
  for (std::size_t i = 0; i < partitioned->origins.size(); ++i) {
    const PieceOrigin& origin = partitioned->origins[i];
    const std::uint32_t source = origin.sources.front();
    StepTask& task = step.tasks[source];
    if (task.collective || pieces[source] < 2) continue;
    task.place.dimensions[origin.dimension].piece_ns =
        std::max<std::int64_t>((durations_ns[source] - task.duration_ns) / (pieces[source] - 1), 0);
  }
  return step;
}

StepDescription with_group_costs(StepDescription step, std::span<const ProfiledStep> grouped) {
  std::vector<const ProfiledStep*> steps;
  for (const ProfiledStep& profiled : grouped) steps.push_back(&profiled);
  const auto cost_in = [&](CollectiveGroup group) -> std::optional<PartCost> {
    if (parts_by_size(steps, collectives_in(group)).empty()) return std::nullopt;
    return fit_part_cost(steps, collectives_in(group));
  };
  step.collective_inside = cost_in(CollectiveGroup::inside);
  step.collective_between = cost_in(CollectiveGroup::between);
  return step;
}

StepDescription with_servers(StepDescription step, std::span<const ProfiledStep> served,
                             std::int64_t servers) {
  std::vector<const ProfiledStep*> steps;
  for (const ProfiledStep& profiled : served) steps.push_back(&profiled);
  const Counts counts = [](const ProfiledPart& part) { return is_served(part.kind); };
  if (parts_by_size(steps, counts).empty()) return step;
  const PartCost cost = fit_part_cost(steps, counts);
  // While all ranks push to one server, each has the share 1 / ranks of the server's link.
  const double rank_bytes_per_second =
      cost.beta_ns_per_byte > 0 ? 1e9 / cost.beta_ns_per_byte : kMaxLinkBytesPerSecond;
  const LinkSpec link{std::clamp(rank_bytes_per_second * static_cast<double>(step.ranks),
                                 kMinLinkBytesPerSecond, kMaxLinkBytesPerSecond),
                      0};
  step.servers = StepServers{.servers = servers,
                             .rank_link = link,
                             .server_link = link,
                             .colocated = false,
                             .alpha_ns = cost.alpha_ns,
                             .overhead_bytes = 0};
  return step;
}

}  // namespace hocket
