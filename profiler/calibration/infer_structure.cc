#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "profiler/calibration/step_structure.h"

namespace hocket {
namespace {

/// The properties of a step's records that are the same in every step.
using Signature = std::vector<std::tuple<TraceKind, std::int32_t, std::uint32_t, std::int64_t>>;

/// A step's work, as indices in RankTrace::records, sorted by begin.
struct StepWork {
  std::vector<std::size_t> records;
  Signature signature;
};

bool is_work(const TraceRecord& record) {
  return record.kind == TraceKind::compute || record.kind == TraceKind::communication ||
         record.kind == TraceKind::copy;
}

/// Assigns records without a step to the step in whose window they begin.
void find_steps(RankTrace& trace) {
  auto start = trace.step_starts.begin();
  for (TraceRecord& record : trace.records) {
    while (start != trace.step_starts.end() && start->begin_ns <= record.begin_ns) ++start;
    if (record.step == kNoStep && start != trace.step_starts.begin())
      record.step = std::prev(start)->step;
  }
}

/// Returns the work of each step that a later one follows. It is ordered by lane and then by begin,
/// since streams may start work in another order in each step.
std::map<std::int64_t, StepWork> work_of(const RankTrace& trace) {
  std::map<std::int64_t, StepWork> steps;
  for (std::size_t i = 0; i + 1 < trace.step_starts.size(); ++i) steps[trace.step_starts[i].step];
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    const auto step = steps.find(trace.records[i].step);
    if (is_work(trace.records[i]) && step != steps.end()) step->second.records.push_back(i);
  }
  for (auto& [number, step] : steps) {
    for (const std::size_t i : step.records) {
      const TraceRecord& record = trace.records[i];
      step.signature.emplace_back(record.kind, record.lane, record.name, record.bytes);
    }
    std::ranges::stable_sort(step.signature, [](const auto& a, const auto& b) {
      return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
    });
  }
  return steps;
}

/// Returns the signature that most steps have, and how many have it.
std::pair<Signature, std::int64_t> most_common(const std::map<std::int64_t, StepWork>& steps) {
  std::map<Signature, std::int64_t> counts;
  for (const auto& [number, step] : steps) ++counts[step.signature];
  const auto most = std::ranges::max_element(counts, {}, [](const auto& c) { return c.second; });
  if (most == counts.end()) return {};
  return {most->first, most->second};
}

/// Numbers the tasks of the steps with the signature, by lane in the first step's order, so that
/// task i is the same work in every step. Returns the steps, each with its records by task.
std::vector<std::vector<std::size_t>> number_tasks(RankTrace& trace,
                                                   const std::map<std::int64_t, StepWork>& steps,
                                                   const Signature& signature) {
  using Lane = std::pair<TraceKind, std::int32_t>;
  std::vector<std::vector<std::size_t>> numbered;
  std::map<Lane, std::vector<std::int64_t>> task_of;  // indices by lane, in the order of begin
  for (const auto& [number, step] : steps) {
    if (step.signature != signature) continue;
    const bool is_first = numbered.empty();
    std::map<Lane, std::size_t> seen;
    std::vector<std::size_t> by_task(step.records.size());
    for (std::size_t i = 0; i < step.records.size(); ++i) {
      TraceRecord& record = trace.records[step.records[i]];
      const Lane lane{record.kind, record.lane};
      auto& tasks = task_of[lane];
      if (is_first) tasks.push_back(static_cast<std::int64_t>(i));
      record.task = tasks[seen[lane]++];
      by_task[static_cast<std::size_t>(record.task)] = step.records[i];
    }
    numbered.push_back(std::move(by_task));
  }
  return numbered;
}

constexpr std::int64_t kNowhere = std::numeric_limits<std::int64_t>::min();

/// The compute tasks between which a collective runs. Numbers count tasks from the step's first;
/// those of the next step lie beyond its last.
struct Neighbours {
  std::int64_t before = kNowhere, after = kNowhere;
};

class Dependencies {
 public:
  Dependencies(const RankTrace& trace, const std::vector<std::vector<std::size_t>>& steps)
      : tasks_(static_cast<std::int64_t>(steps.front().size())) {
    for (std::size_t s = 0; s < steps.size(); ++s) {
      for (std::size_t i = 0; i < steps[s].size(); ++i) {
        const TraceRecord& record = trace.records[steps[s][i]];
        const std::int64_t place = static_cast<std::int64_t>(s) * tasks_ + std::int64_t(i);
        if (record.kind == TraceKind::communication) {
          collectives_.push_back({record.begin_ns, record.end_ns, place});
        } else {
          compute_.push_back({record.begin_ns, record.end_ns, place});
        }
      }
    }
    by_end_ = compute_;
    std::ranges::stable_sort(by_end_, {}, &Work::end_ns);
    std::ranges::stable_sort(compute_, {}, &Work::begin_ns);
  }

  /// Returns the neighbours of collective `task` that hold in all steps.
  Neighbours of(std::int64_t task) const {
    Neighbours all;
    for (const Work& work : collectives_) {
      if (work.place % tasks_ != task) continue;
      const std::int64_t step = work.place / tasks_ * tasks_;
      // A collective may start later than its dependencies allow, but never earlier: the minimum
      // over the steps is right.
      const auto ended = std::ranges::upper_bound(by_end_, work.begin_ns, {}, &Work::end_ns);
      if (ended != by_end_.begin()) {
        const std::int64_t place = std::prev(ended)->place - step;
        all.before = all.before == kNowhere ? place : std::min(all.before, place);
      }
      const auto began = std::ranges::lower_bound(compute_, work.end_ns, {}, &Work::begin_ns);
      if (began != compute_.end()) all.after = std::max(all.after, began->place - step);
    }
    return all;
  }

 private:
  struct Work {
    std::int64_t begin_ns = 0, end_ns = 0, place = 0;
  };
  const std::int64_t tasks_;
  std::vector<Work> compute_, by_end_, collectives_;
};

StepStructure structure_of(const RankTrace& trace,
                           const std::vector<std::vector<std::size_t>>& steps) {
  StepStructure structure;
  std::map<std::int32_t, std::uint32_t> lanes;  // one chain for each lane
  for (const std::size_t i : steps.front()) {
    const TraceRecord& record = trace.records[i];
    StructureTask task;
    task.name = trace.names[record.name];
    if (record.kind == TraceKind::communication) {
      task.collective = record.collective.value_or(CollectiveKind::all_reduce);
      task.bytes = record.bytes;
    } else {
      const auto chain = static_cast<std::uint32_t>(lanes.size());
      task.accesses.push_back(update(DataId{lanes.try_emplace(record.lane, chain).first->second}));
    }
    structure.tasks.push_back(std::move(task));
  }
  const Dependencies dependencies(trace, steps);
  const auto tasks = std::ssize(structure.tasks);
  auto data = static_cast<std::uint32_t>(lanes.size());
  for (std::int64_t i = 0; i < tasks; ++i) {
    StructureTask& collective = structure.tasks[static_cast<std::size_t>(i)];
    if (!collective.collective) continue;
    const DataId moved{data++};
    const Neighbours neighbours = dependencies.of(i);
    const auto at = [&](std::int64_t place) -> StructureTask& {
      return structure.tasks[static_cast<std::size_t>((place % tasks + tasks) % tasks)];
    };
    if (neighbours.before != kNowhere) at(neighbours.before).accesses.push_back(write(moved));
    collective.accesses.push_back(update(moved));
    if (neighbours.after == kNowhere) continue;
    if (&at(neighbours.after) != &at(neighbours.before) || neighbours.before == kNowhere)
      at(neighbours.after).accesses.push_back(read(moved));
    const std::int64_t urgency = (neighbours.after % tasks + tasks) % tasks;
    collective.priority =
        static_cast<std::uint32_t>(std::min<std::int64_t>(urgency, kPriorityLevels - 1));
  }
  number_data(structure);
  return structure;
}

}  // namespace

Result<StepStructure> infer_structure(RankTrace& trace) {
  find_steps(trace);
  for (TraceRecord& record : trace.records) record.task = kNoTask;
  const auto steps = work_of(trace);
  const auto [signature, count] = most_common(steps);
  const auto all = std::ssize(steps);
  if (all == 0 || signature.empty() || 2 * count < all) {
    return failure(ErrorCode::invalid_argument,
                   "trace of rank " + std::to_string(trace.rank) + ": " +
                       (all == 0 ? "it has no whole step"
                                 : "its steps differ: of " + std::to_string(all) + " only " +
                                       std::to_string(count) + " have the same work") +
                       "; a step is predicted only when most steps repeat it");
  }
  return structure_of(trace, number_tasks(trace, steps, signature));
}

}  // namespace hocket
