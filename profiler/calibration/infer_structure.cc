#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/statistics.h"
#include "core/base/text.h"
#include "profiler/calibration/step_alignment.h"
#include "profiler/calibration/step_structure.h"

namespace hocket {
namespace {

/// Work that runs one after the other: a stream or a thread.
using LaneKey = std::pair<TraceKind, std::int32_t>;

/// A step's work, as indices in RankTrace::records, sorted by begin.
struct StepWork {
  std::int64_t number = 0;
  std::vector<std::size_t> records;
};

/// The work that the steps have in common.
struct CommonWork {
  /// The records of each step that has all of it, by task.
  std::vector<std::vector<std::size_t>> steps;
  /// Task of each record that is part of it, also of steps that lack some.
  std::vector<std::pair<std::size_t, std::int64_t>> tasks;
  double outside = 0;       ///< mean over the steps of the share of the work's time beside it
  double most_outside = 0;  ///< median over the steps
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

/// Returns the work of each step that a later one follows.
std::vector<StepWork> work_of(const RankTrace& trace) {
  std::map<std::int64_t, StepWork> steps;
  for (std::size_t i = 0; i + 1 < trace.step_starts.size(); ++i) {
    const std::int64_t number = trace.step_starts[i].step;
    steps[number].number = number;
  }
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    const auto step = steps.find(trace.records[i].step);
    if (is_work(trace.records[i]) && step != steps.end()) step->second.records.push_back(i);
  }
  std::vector<StepWork> work;
  for (auto& [number, step] : steps) work.push_back(std::move(step));
  return work;
}

/// Finds what most steps have in common: a task for each record of a typical step that a majority
/// of the steps, those most like it, has at the same place of the same lane.
class CommonWorkFinder {
 public:
  /// With `by_group`, the communication of each group of ranks counts as one lane: backends on the
  /// host hand their operations to whichever thread is free.
  CommonWorkFinder(const RankTrace& trace, const std::vector<StepWork>& steps, bool by_group)
      : trace_(trace), steps_(steps), by_group_(by_group) {
    std::map<std::tuple<TraceKind, std::uint32_t, std::int64_t>, std::uint32_t> numbers;
    items_.resize(trace.records.size());
    for (const StepWork& step : steps) {
      for (const std::size_t i : step.records) {
        const TraceRecord& record = trace.records[i];
        const auto next = static_cast<std::uint32_t>(numbers.size());
        items_[i] =
            numbers.try_emplace({record.kind, record.name, record.bytes}, next).first->second;
      }
    }
  }

  CommonWork find() {
    count_work();
    const StepWork& reference = steps_[typical_step()];
    CommonWork best;
    constexpr int kRounds = 4;
    for (int round = 0; round < kRounds; ++round) {
      auto tasks = match(reference);
      const bool is_done = !forget_wandering(tasks);
      CommonWork common = number(std::move(tasks), reference.records.size());
      if (round == 0 || common.outside < best.outside) best = std::move(common);
      if (is_done) break;
    }
    return best;
  }

 private:
  using Places = std::map<LaneKey, std::vector<std::size_t>>;  ///< in StepWork::records, by begin

  /// Returns the tasks of each step's records, counted as the reference's records.
  std::vector<std::vector<std::int64_t>> match(const StepWork& reference) const {
    const auto of_reference = by_lane(reference);
    std::vector<std::vector<std::int64_t>> tasks;
    for (const StepWork& step : steps_) tasks.push_back(tasks_of(step, reference, of_reference));
    return tasks;
  }

  /// Work that steps do at other places may have taken the place of more important work. Takes the
  /// shorter half of the steady work that did not match everywhere for unsteady, if there is some.
  bool forget_wandering(const std::vector<std::vector<std::int64_t>>& tasks) {
    std::map<std::pair<LaneKey, std::uint32_t>, double> wandering;
    for (std::size_t s = 0; s < tasks.size(); ++s) {
      for (std::size_t k = 0; k < tasks[s].size(); ++k) {
        const std::size_t i = steps_[s].records[k];
        const std::pair work(lane_of(trace_.records[i]), items_[i]);
        if (tasks[s][k] == kNoTask && steady_.contains(work)) wandering.try_emplace(work);
      }
    }
    for (const StepWork& step : steps_) {
      for (const std::size_t i : step.records) {
        const TraceRecord& record = trace_.records[i];
        const auto work = wandering.find({lane_of(record), items_[i]});
        if (work == wandering.end()) continue;
        work->second += static_cast<double>(record.end_ns - record.begin_ns);
      }
    }
    using Timed = std::pair<double, std::pair<LaneKey, std::uint32_t>>;
    std::vector<Timed> by_time;
    for (const auto& [work, ns] : wandering) by_time.emplace_back(ns, work);
    std::ranges::sort(by_time);
    by_time.resize((by_time.size() + 1) / 2);
    for (const auto& [ns, work] : by_time) steady_.erase(work);
    return !by_time.empty();
  }

  CommonWork number(std::vector<std::vector<std::int64_t>> tasks, std::size_t records) const {
    const std::vector<bool> is_common = common_tasks(tasks, records);
    std::vector<std::int64_t> numbers(records, kNoTask);
    std::int64_t count = 0;
    for (std::size_t task = 0; task < records; ++task) {
      if (is_common[task]) numbers[task] = count++;
    }
    for (auto& of_step : tasks) {
      for (std::int64_t& task : of_step) {
        if (task != kNoTask) task = numbers[static_cast<std::size_t>(task)];
      }
    }
    return collect(tasks, static_cast<std::size_t>(count));
  }

  LaneKey lane_of(const TraceRecord& record) const {
    const bool is_group = by_group_ && record.kind == TraceKind::communication;
    return {record.kind, is_group ? record.group : record.lane};
  }

  Places by_lane(const StepWork& step) const {
    Places places;
    for (std::size_t k = 0; k < step.records.size(); ++k)
      places[lane_of(trace_.records[step.records[k]])].push_back(k);
    return places;
  }

  /// Counts each work on each lane by step. It is steady if most steps have it equally often.
  void count_work() {
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      for (const std::size_t i : steps_[s].records) {
        auto& of_steps = counts_[{lane_of(trace_.records[i]), items_[i]}];
        of_steps.resize(steps_.size());
        ++of_steps[s];
      }
    }
    for (const auto& [work, of_steps] : counts_) {
      const std::int64_t middle = middle_of(of_steps);
      const auto equal = static_cast<std::size_t>(std::ranges::count(of_steps, middle));
      if (middle > 0 && 2 * equal > of_steps.size()) steady_.insert(work);
    }
  }

  static std::int64_t middle_of(std::vector<std::int64_t> counts) {
    const auto middle = counts.begin() + std::ssize(counts) / 2;
    std::ranges::nth_element(counts, middle);
    return *middle;
  }

  /// Returns the step whose numbers of each work are closest to their medians over the steps. The
  /// first step is a poor choice, since what ran before the recording is missing in it.
  std::size_t typical_step() const {
    std::vector<std::int64_t> distances(steps_.size());
    for (const auto& [work, of_steps] : counts_) {
      const std::int64_t middle = middle_of(of_steps);
      for (std::size_t s = 0; s < steps_.size(); ++s)
        distances[s] += std::abs(of_steps[s] - middle);
    }
    std::size_t best = steps_.size() - 1;
    for (std::size_t s = steps_.size(); s-- > 0;) {
      if (distances[s] < distances[best] || (s > 0 && distances[s] == distances[best])) best = s;
    }
    return best;
  }

  /// Places of one lane's records whose work is steady, or is not, in StepWork::records.
  struct LaneWork {
    std::vector<std::size_t> places;
    std::vector<std::uint32_t> items;
    std::vector<std::size_t> anchors;  ///< number of matched steady records before each
  };

  LaneWork part_of(const StepWork& step, const LaneKey& lane,
                   const std::vector<std::size_t>& places, bool is_steady,
                   const std::vector<std::size_t>& matched) const {
    LaneWork part;
    for (const std::size_t place : places) {
      const std::uint32_t item = items_[step.records[place]];
      if (steady_.contains({lane, item}) != is_steady) continue;
      part.places.push_back(place);
      part.items.push_back(item);
      part.anchors.push_back(
          static_cast<std::size_t>(std::ranges::lower_bound(matched, place) - matched.begin()));
    }
    return part;
  }

  /// Matches steady work first: work that comes and goes may be equal at different places. Then the
  /// rest, between the same steady records.
  std::vector<std::int64_t> tasks_of(const StepWork& step, const StepWork& reference,
                                     const Places& of_reference) const {
    std::vector<std::int64_t> tasks(step.records.size(), kNoTask);
    for (const auto& [lane, places] : by_lane(step)) {
      const auto same = of_reference.find(lane);
      if (same == of_reference.end()) continue;
      std::vector<std::size_t> matched, matched_reference;
      for (const bool is_steady : {true, false}) {
        const LaneWork mine = part_of(step, lane, places, is_steady, matched);
        const LaneWork its = part_of(reference, lane, same->second, is_steady, matched_reference);
        const auto partners = align_sequences(its.items, mine.items);
        for (std::size_t k = 0; k < partners.size(); ++k) {
          if (partners[k] == kNoPartner) continue;
          const auto partner = static_cast<std::size_t>(partners[k]);
          if (mine.anchors[k] != its.anchors[partner]) continue;
          tasks[mine.places[k]] = static_cast<std::int64_t>(its.places[partner]);
          if (!is_steady) continue;
          matched.push_back(mine.places[k]);
          matched_reference.push_back(its.places[partner]);
        }
      }
    }
    return tasks;
  }

  /// Returns the tasks that all of the majority have.
  static std::vector<bool> common_tasks(const std::vector<std::vector<std::int64_t>>& tasks,
                                        std::size_t count) {
    std::vector<std::tuple<std::int64_t, bool, std::size_t>> by_lack;
    for (std::size_t s = 0; s < tasks.size(); ++s) {
      const auto lack = std::ssize(tasks[s]) == 0
                            ? std::numeric_limits<std::int64_t>::max()
                            : static_cast<std::int64_t>(count) -
                                  std::ranges::count_if(tasks[s], [](auto t) { return t >= 0; });
      by_lack.emplace_back(lack, s == 0, s);
    }
    std::ranges::sort(by_lack);
    by_lack.resize(tasks.size() / 2 + 1);
    std::vector<std::size_t> have(count);
    for (const auto& [lack, is_first, s] : by_lack) {
      for (const std::int64_t task : tasks[s]) {
        if (task != kNoTask) ++have[static_cast<std::size_t>(task)];
      }
    }
    std::vector<bool> is_common(count);
    for (std::size_t task = 0; task < count; ++task) is_common[task] = have[task] == by_lack.size();
    return is_common;
  }

  CommonWork collect(const std::vector<std::vector<std::int64_t>>& tasks, std::size_t count) const {
    CommonWork common;
    double all_ns = 0, all_outside_ns = 0;
    std::vector<double> shares;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      std::vector<std::size_t> by_task(count);
      std::size_t found = 0;
      double ns = 0, outside_ns = 0;
      for (std::size_t k = 0; k < tasks[s].size(); ++k) {
        const TraceRecord& record = trace_.records[steps_[s].records[k]];
        const auto duration = static_cast<double>(record.end_ns - record.begin_ns);
        ns += duration;
        if (tasks[s][k] == kNoTask) {
          outside_ns += duration;
          continue;
        }
        common.tasks.emplace_back(steps_[s].records[k], tasks[s][k]);
        by_task[static_cast<std::size_t>(tasks[s][k])] = steps_[s].records[k];
        ++found;
      }
      if (found == count) common.steps.push_back(std::move(by_task));
      // Calibration leaves the first step out, too.
      if (s == 0 && steps_.size() > 2) continue;
      all_ns += ns;
      all_outside_ns += outside_ns;
      shares.push_back(ns > 0 ? outside_ns / ns : 0);
    }
    common.outside = all_ns > 0 ? all_outside_ns / all_ns : 0;
    common.most_outside = median(std::move(shares));
    return common;
  }

  const RankTrace& trace_;
  const std::vector<StepWork>& steps_;
  const bool by_group_;
  std::vector<std::uint32_t> items_;  ///< equal for equal work, by record
  std::map<std::pair<LaneKey, std::uint32_t>, std::vector<std::int64_t>> counts_;  ///< by step
  std::set<std::pair<LaneKey, std::uint32_t>> steady_;
};

/// Largest share of the time of a typical step's work that its structure may leave out.
constexpr double kMostOutside = 0.15;

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

Result<StepStructure> infer_structure(RankTrace& trace, double* outside) {
  find_steps(trace);
  for (TraceRecord& record : trace.records) record.task = kNoTask;
  const auto refuse = [&](const std::string& why) {
    return failure(ErrorCode::invalid_argument,
                   "trace of rank " + std::to_string(trace.rank) + ": " + why);
  };
  const bool has_messages = std::ranges::any_of(trace.records, [](const TraceRecord& record) {
    return record.collective &&
           (is_message(*record.collective) || *record.collective == CollectiveKind::shift);
  });
  if (has_messages) {
    return refuse(
        "it sends or receives messages, or shifts values by a distance that it does not say; a "
        "step is predicted from a profile only when all ranks take part in everything");
  }
  const std::vector<StepWork> steps = work_of(trace);
  if (steps.empty()) {
    return refuse("it has no whole step; a step is predicted only when most steps repeat it");
  }
  CommonWork common = CommonWorkFinder(trace, steps, false).find();
  if (common.outside > 0) {
    CommonWork by_group = CommonWorkFinder(trace, steps, true).find();
    if (by_group.outside < common.outside) common = std::move(by_group);
  }
  if (common.steps.empty() || common.steps.front().empty() || common.most_outside > kMostOutside) {
    return refuse("its steps differ: " + percent(common.most_outside) +
                  " of the time of their work is beside what most of them have in common, and more "
                  "than " +
                  percent(kMostOutside) +
                  " is too much to predict from; a step is predicted only when most steps repeat "
                  "it");
  }
  for (const auto& [record, task] : common.tasks) trace.records[record].task = task;
  if (outside) *outside = common.outside;
  return structure_of(trace, common.steps);
}

}  // namespace hocket
