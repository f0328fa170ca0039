#include "core/programs/simulated_timeline.h"

#include <algorithm>
#include <tuple>

#include "core/description/step_programs.h"
#include "core/trace/communication_groups.h"
#include "core/trace/message_ends.h"

namespace hocket {
namespace {

CapturedStep captured(const std::vector<StepTask>& tasks) {
  std::vector<CapturedStep::Task> captured;
  for (const StepTask& task : tasks) {
    captured.push_back({task.name, task.priority, task.collective.has_value(), task.bytes,
                        task.accesses, task.lane});
  }
  return CapturedStep(std::move(captured));
}

/// Returns the ends of `task`, a message of `rank`.
MessageEnds ends_of(const Mesh& mesh, std::int64_t rank, const StepTask& task) {
  std::int64_t index = task.peer->index;
  if (task.peer->is_relative) {
    const std::int64_t size = mesh.size_of(task.group);
    index = (mesh.index_in(task.group.axes, rank) + index + size) % size;
  }
  return message_ends(mesh, rank, *task.collective, task.group, index);
}

}  // namespace

SimulatedTimeline::SimulatedTimeline(const StepDescription& step, std::int64_t rank)
    : mesh_(mesh_of(step)) {
  trace_.rank = rank;
  trace_.ranks = step.ranks;
  trace_.host = "simulated";
  trace_.source = "simulator";
  trace_.clock_samples = {{0, 0}};
  if (!takes_part_by_rank(step)) return;
  const auto programs = programs_of_ranks(step);
  // The simulation refuses such a step.
  if (!programs) return;
  std::vector<StepTask> tasks =
      program_steps(step)[(*programs)[static_cast<std::size_t>(rank)]].tasks;
  CapturedStep order = captured(tasks);
  program_.emplace(Program{std::move(tasks), std::move(order)});
}

void SimulatedTimeline::record(const TraceEvent& event) {
  TraceRecord record;
  record.kind = event.kind;
  record.lane = event.lane;
  record.name = names_.number(event.name);
  record.begin_ns = event.begin_ns;
  record.end_ns = event.end_ns;
  record.step = event.step;
  record.bytes = event.bytes;
  const StepTask* task = nullptr;
  if (program_) {
    record.task = program_->captured.index_of(event.task);
    task = &program_->tasks[static_cast<std::size_t>(record.task)];
  }
  if (event.kind == TraceKind::communication) {
    record.collective = event.collective;
    record.sequence = event.sequence;
    record.group = group_of(event, task);
  }
  const auto [start, is_new] = starts_.try_emplace(event.step, event.begin_ns);
  if (!is_new) start->second = std::min(start->second, event.begin_ns);
  trace_.records.push_back(record);
}

std::int32_t SimulatedTimeline::group_of(const TraceEvent& event, const StepTask* task) {
  if (task && is_message(*task->collective))
    return number_of(message_group(ends_of(mesh_, trace_.rank, *task)));
  auto group = trace_group(mesh_, trace_.rank, event.group);
  return group ? number_of(std::move(*group)) : kAllRanks;
}

std::int32_t SimulatedTimeline::number_of(TraceGroup group) {
  const auto [at, is_new] = groups_.try_emplace({group.name, group.ranks},
                                                static_cast<std::int32_t>(trace_.groups.size()));
  if (is_new) trace_.groups.push_back(std::move(group));
  return at->second;
}

void SimulatedTimeline::number_parts() {
  std::vector<TraceRecord*> parts;
  for (TraceRecord& record : trace_.records)
    if (record.kind == TraceKind::communication) parts.push_back(&record);
  std::ranges::stable_sort(parts, {}, [](const TraceRecord* part) {
    // A simulated part ends at one time on all of its ranks, where it may begin at several.
    return std::tuple(part->step, part->task, part->end_ns, part->bytes, part->begin_ns);
  });
  std::map<std::int32_t, std::int64_t> numbers;
  for (TraceRecord* const part : parts) part->sequence = numbers[part->group]++;
}

RankTrace SimulatedTimeline::take() {
  trace_.names = names_.texts();
  put_in_order(trace_);
  if (program_) number_parts();
  // Steps of a short run may begin together.
  for (const auto& [step, begin_ns] : starts_) {
    if (trace_.step_starts.empty() || begin_ns > trace_.step_starts.back().begin_ns)
      trace_.step_starts.push_back({step, begin_ns});
  }
  return std::move(trace_);
}

}  // namespace hocket
