#pragma once

// Traces of simulated steps, for tests of code that reads traces. One thread.

#include <map>
#include <string>
#include <utility>

#include "core/plan/captured_step.h"
#include "core/sim/simulator.h"
#include "core/trace/rank_trace.h"
#include "profiler/calibration/step_structure.h"

namespace hocket {

/// Builds a RankTrace and a StepStructure from one simulated rank.
class SimulatedTrace final : public PlanObserver, public TraceSink {
 public:
  void launched(const CapturedStep& step, TaskId first) override {
    if (structure.tasks.empty()) {
      for (std::uint32_t i = 0; i < step.size(); ++i) add(step.task(i));
    }
    for (std::uint32_t i = 0; i < step.size(); ++i) task_of_[key(step.id_of(i, first))] = i;
  }

  void record(const TraceEvent& event) override {
    TraceRecord record;
    record.kind = event.kind;
    if (event.kind == TraceKind::communication) record.collective = event.collective;
    record.lane = event.lane;
    const auto next = static_cast<std::uint32_t>(trace.names.size());
    const auto [name, added] = name_of_.try_emplace(std::string(event.name), next);
    if (added) trace.names.push_back(name->first);
    record.name = name->second;
    record.begin_ns = event.begin_ns;
    record.end_ns = event.end_ns;
    record.step = event.step;
    record.task = task_of_.at(key(event.task));
    record.bytes = event.bytes;
    if (event.kind == TraceKind::communication) record.sequence = event.sequence;
    const auto [start, first] = starts_.try_emplace(event.step, event.begin_ns);
    if (!first) start->second = std::min(start->second, event.begin_ns);
    trace.records.push_back(record);
  }

  RankTrace trace;
  StepStructure structure;

  void finish() {
    for (const auto& [step, begin_ns] : starts_) trace.step_starts.push_back({step, begin_ns});
    put_in_order(trace);
    number_data(structure);
  }

 private:
  static std::pair<std::uint32_t, std::uint32_t> key(TaskId task) {
    return {task.slot, task.generation};
  }
  void add(const CapturedStep::Task& task) {
    StructureTask entry;
    entry.name = task.name;
    if (task.is_collective) entry.collective = CollectiveKind::all_reduce;
    entry.bytes = task.bytes;
    entry.priority = task.priority;
    entry.accesses = task.accesses;
    entry.lane = task.lane;
    structure.tasks.push_back(std::move(entry));
  }

  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> task_of_;
  std::map<std::string, std::uint32_t> name_of_;
  std::map<std::int64_t, std::int64_t> starts_;
};

/// Simulates `step` and returns rank `rank`'s trace.
inline SimulatedTrace simulated_trace(const StepDescription& step, SimulationOptions options,
                                      std::int64_t rank = 0) {
  SimulatedTrace simulated;
  simulated.trace.rank = rank;
  simulated.trace.ranks = step.ranks;
  simulated.trace.source = "simulator";
  if (step.servers) simulated.structure.servers = step.servers->servers;
  options.trace = &simulated;
  options.observer = &simulated;
  options.watched_rank = rank;
  (void)simulate(step, options).value();
  if (step.device_memory_bytes > 0) {
    StepDescription& source = simulated.structure.placed_from.emplace(step);
    for (StepTask& task : source.tasks) task.duration_ns = task.host_duration_ns = 0;
    source.to_device = source.to_host = source.collective = {};
  }
  simulated.finish();
  return simulated;
}

}  // namespace hocket
