#include "profiler/session/communication_profile.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/trace/trace_builder.h"

namespace hocket {
namespace {

/// The kind of a record: its role and tensor.
using Key = std::pair<ScheduledRole, std::uint32_t>;

Key key_of(const TraceEvent& event) {
  return {static_cast<ScheduledRole>(event.task.generation), event.task.slot};
}

struct Step {
  std::vector<const TraceEvent*> computes;  ///< in the order in which they end
  std::int64_t begin_ns = 0;
  bool has_ended = false;

  /// Returns the records' kinds of the step, in a fixed order.
  std::vector<Key> kind() const {
    std::vector<Key> keys;
    for (const TraceEvent* event : computes) keys.push_back(key_of(*event));
    std::ranges::sort(keys);
    return keys;
  }
};

std::map<std::int64_t, Step> steps_of(std::span<const TraceEvent> events) {
  std::map<std::int64_t, Step> steps;
  for (const TraceEvent& event : events) {
    if (event.kind != TraceKind::compute) continue;
    Step& step = steps[event.step];
    step.computes.push_back(&event);
    step.has_ended = step.has_ended || key_of(event).first == ScheduledRole::rest;
  }
  std::erase_if(steps, [](const auto& step) { return !step.second.has_ended; });
  for (auto& [number, step] : steps) {
    std::ranges::stable_sort(step.computes, {}, &TraceEvent::end_ns);
    step.begin_ns = step.computes.front()->begin_ns;
    for (const TraceEvent* event : step.computes)
      step.begin_ns = std::min(step.begin_ns, event->begin_ns);
  }
  return steps;
}

/// Returns the tasks of `step`, and the place of each in the structure.
StepStructure structure_of(const Step& step, std::span<const ScheduledTensor> tensors,
                           std::map<Key, std::int64_t>& places) {
  StepStructure structure;
  const auto data_of = [](std::uint32_t tensor) { return DataId{tensor + 1}; };
  const Access on_stream = update(DataId{0});
  const auto add = [&](Key key, StructureTask task) {
    places[key] = static_cast<std::int64_t>(structure.tasks.size());
    structure.tasks.push_back(std::move(task));
  };
  std::map<std::int64_t, std::uint32_t> communicated;
  for (const TraceEvent* event : step.computes) {
    const auto [role, tensor] = key_of(*event);
    StructureTask task{.name = std::string(event->name),
                       .collective = {},
                       .bytes = 0,
                       .priority = 0,
                       .accesses = {on_stream}};
    if (role == ScheduledRole::backward) task.accesses.push_back(write(data_of(tensor)));
    if (role == ScheduledRole::forward) task.accesses.push_back(read(data_of(tensor)));
    if (role != ScheduledRole::rest) task.priority = tensors[tensor].priority;
    add({role, tensor}, std::move(task));
    if (role == ScheduledRole::backward) communicated.emplace(event->sequence, tensor);
  }
  // In the order in which they were enqueued, which is that of fifo.
  for (const auto& [place, tensor] : communicated) {
    add({ScheduledRole::communication, tensor}, {.name = tensors[tensor].name,
                                                 .collective = CollectiveKind::all_reduce,
                                                 .bytes = tensors[tensor].bytes,
                                                 .priority = tensors[tensor].priority,
                                                 .accesses = {update(data_of(tensor))}});
  }
  number_data(structure);
  return structure;
}

}  // namespace

void CommunicationRecorder::start(std::int64_t first_step, std::int64_t steps) {
  std::lock_guard lock(mutex_);
  events_.clear();
  dropped_ = 0;
  first_step_ = first_step;
  end_step_ = first_step + steps;
}

void CommunicationRecorder::record(const TraceEvent& event) {
  std::lock_guard lock(mutex_);
  if (event.step < first_step_ || event.step >= end_step_) return;
  if (events_.size() < capacity_) {
    events_.push_back(event);
  } else {
    ++dropped_;
  }
}

std::vector<TraceEvent> CommunicationRecorder::take(std::int64_t& dropped) {
  std::lock_guard lock(mutex_);
  end_step_ = first_step_;
  dropped = dropped_;
  return std::exchange(events_, {});
}

Result<CommunicationProfile> communication_profile(std::span<const TraceEvent> events,
                                                   std::span<const ScheduledTensor> tensors,
                                                   RankTrace trace) {
  const std::map<std::int64_t, Step> steps = steps_of(events);
  if (steps.empty())
    return invalid("a profile of a framework's steps: no step has ended while it was recorded");
  std::map<std::vector<Key>, std::int64_t> kinds;
  for (const auto& [number, step] : steps) ++kinds[step.kind()];
  const auto most =
      std::ranges::max_element(kinds, {}, [](const auto& kind) { return kind.second; });
  const auto typical = std::ranges::find_if(
      steps, [&](const auto& step) { return step.second.kind() == most->first; });
  CommunicationProfile profile{std::move(trace), {}};
  std::map<Key, std::int64_t> places;
  profile.structure = structure_of(typical->second, tensors, places);

  // A communication may begin when what makes its tensor ready ends.
  std::map<std::pair<std::int64_t, std::uint32_t>, std::int64_t> ready_ns;
  for (const TraceEvent& event : events)
    if (key_of(event).first == ScheduledRole::backward)
      ready_ns[{event.step, event.task.slot}] = event.end_ns;

  Interner names;
  for (const TraceEvent& event : events) {
    const auto step = steps.find(event.step);
    const auto place = places.find(key_of(event));
    const bool is_typical = step != steps.end() && step->second.kind() == most->first;
    TraceRecord record{.kind = event.kind,
                       .collective = {},
                       .lane = event.lane,
                       .name = names.number(event.name),
                       .begin_ns = event.begin_ns,
                       .end_ns = event.end_ns,
                       .step = event.step,
                       .task = is_typical && place != places.end() ? place->second : kNoTask,
                       .bytes = event.bytes};
    if (event.kind == TraceKind::communication) {
      record.sequence = event.sequence;
      record.collective = event.collective;
      record.ready_ns = ready_ns[{event.step, event.task.slot}];
    }
    profile.trace.records.push_back(record);
  }
  profile.trace.names = names.texts();
  for (const auto& [number, step] : steps)
    profile.trace.step_starts.push_back({number, step.begin_ns});
  put_in_order(profile.trace);
  return profile;
}

}  // namespace hocket
