#pragma once

// Random jobs whose ranks run different programs, submitted to schedulers, and the same jobs
// computed one task after the other.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/description/step_programs.h"
#include "core/host/host_executor.h"
#include "core/scheduler/scheduler.h"
#include "core/sim/simulator.h"
#include "tests/core/scheduler/job_of_ranks.h"

namespace hocket {

inline constexpr int kStepsOfRanks = 3;

/// The values of a rank's data, and what its tasks do with them.
struct RankData {
  std::vector<std::vector<float>> items;

  RankData(std::size_t count, std::int64_t rank) {
    for (std::size_t item = 0; item < count; ++item) {
      auto& values = items.emplace_back();
      for (std::size_t i = 0; i < kItemValues; ++i)
        values.push_back(static_cast<float>(rank) + 0.5f * static_cast<float>(item * i % 7));
    }
  }

  std::span<float> range(const StepTask& task) {
    return std::span(items[task.accesses.front().data.index])
        .first(static_cast<std::size_t>(task.bytes) / sizeof(float));
  }
  std::span<float> received(const StepTask& task) { return items[task.accesses.back().data.index]; }

  void compute(const StepTask& task) {
    for (std::size_t i = 0; i < kItemValues; ++i) {
      float sum = 1;
      for (const Access& access : task.accesses)
        if (access.mode != AccessMode::write) sum += 0.125f * items[access.data.index][i];
      for (const Access& access : task.accesses)
        if (access.mode != AccessMode::read) items[access.data.index][i] = sum;
    }
  }
};

/// Computes the job one task after the other.
class SerialJob {
 public:
  explicit SerialJob(const StepDescription& step)
      : mesh_(mesh_of(step)), programs_(program_steps(step)) {
    const auto program_of = programs_of_ranks(step).value();
    for (std::int64_t rank = 0; rank < step.ranks; ++rank) {
      program_of_.push_back(&programs_[program_of[static_cast<std::size_t>(rank)]]);
      data.emplace_back(program_of_.back()->data.size(), rank);
    }
  }

  void run_step() {
    next_.assign(data.size(), 0);
    while (advance()) {
    }
    for (std::size_t rank = 0; rank < data.size(); ++rank) ASSERT_EQ(task_of(rank), nullptr);
  }

  std::vector<RankData> data;

 private:
  const StepTask* task_of(std::size_t rank) const {
    const auto& tasks = program_of_[rank]->tasks;
    return next_[rank] < tasks.size() ? &tasks[next_[rank]] : nullptr;
  }

  bool advance() {
    bool has_advanced = false;
    for (std::size_t rank = 0; rank < data.size(); ++rank) {
      for (const StepTask* task; (task = task_of(rank)) && !task->collective; ++next_[rank]) {
        data[rank].compute(*task);
        has_advanced = true;
      }
      if (const StepTask* const task = task_of(rank)) has_advanced |= communicate(rank, *task);
    }
    return has_advanced;
  }

  /// Carries out what all of its ranks have come to.
  bool communicate(std::size_t rank, const StepTask& task) {
    const auto members = mesh_.ranks_of(task.group, static_cast<std::int64_t>(rank));
    if (is_message(*task.collective)) {
      if (*task.collective == CollectiveKind::receive) return false;
      const auto to =
          static_cast<std::size_t>(members[peer_of(task, mesh_, static_cast<std::int64_t>(rank))]);
      const StepTask* const other = task_of(to);
      if (!other || other->collective != CollectiveKind::receive || other->group != task.group ||
          std::cmp_not_equal(members[peer_of(*other, mesh_, static_cast<std::int64_t>(to))], rank))
        return false;
      std::ranges::copy(data[rank].range(task), data[to].range(*other).begin());
      ++next_[rank];
      ++next_[to];
      return true;
    }
    std::vector<std::span<float>> ranges, received;
    for (const std::int64_t member : members) {
      const auto at = static_cast<std::size_t>(member);
      const StepTask* const other = task_of(at);
      if (!other || other->collective != task.collective || other->group != task.group)
        return false;
      ranges.push_back(data[at].range(*other));
      received.push_back(data[at].received(*other));
    }
    if (task.collective == CollectiveKind::all_to_all) {
      exchange(task, ranges, received);
    } else if (task.collective == CollectiveKind::shift) {
      for (std::size_t m = 0; m < members.size(); ++m)
        std::ranges::copy(ranges[m], received[peer_of(task, mesh_, members[m])].begin());
    } else if (task.collective == CollectiveKind::broadcast) {
      const std::span<float> root = ranges[root_of(task, ranges.size())];
      for (const std::span<float> range : ranges)
        if (range.data() != root.data()) std::ranges::copy(root, range.begin());
    } else {
      sum(ranges);
    }
    for (const std::int64_t member : members) ++next_[static_cast<std::size_t>(member)];
    return true;
  }

  static void sum(const std::vector<std::span<float>>& ranges) {
    for (std::size_t i = 0; i < ranges.front().size(); ++i) {
      float sum = ranges.front()[i];
      for (std::size_t m = 1; m < ranges.size(); ++m) sum += ranges[m][i];
      for (const std::span<float> range : ranges) range[i] = sum;
    }
  }

  static void exchange(const StepTask& task, const std::vector<std::span<float>>& sent,
                       const std::vector<std::span<float>>& received) {
    const std::size_t members = sent.size();
    std::vector<std::size_t> next(members);
    for (std::size_t from = 0; from < members; ++from) {
      std::size_t begin = 0;
      for (std::size_t to = 0; to < members; ++to) {
        const std::size_t count = exchanged(task, members, from, to);
        std::ranges::copy(sent[from].subspan(begin, count),
                          received[to].begin() + static_cast<std::ptrdiff_t>(next[to]));
        begin += count;
        next[to] += count;
      }
    }
  }

  const Mesh mesh_;
  const std::vector<StepDescription> programs_;
  std::vector<const StepDescription*> program_of_;
  std::vector<std::size_t> next_;
};

/// The counts of the all-to-alls of a step, which a task of the step computes.
using Counts = std::deque<std::vector<std::size_t>>;

/// Submits a rank's program on `data`. Bodies call `run(accesses, effect)`, with the accesses as
/// the program has them. An all-to-all has counts only while it runs: a task before it sets them,
/// and one after it sets them to 0.
void submit_program(Scheduler& scheduler, const StepDescription& program, const Mesh& mesh,
                    std::span<const DataId> ids, RankData& data, Counts& counts, const auto& run) {
  const auto compute = [&](const TaskOptions& options, const std::vector<Access>& accesses,
                           const auto& effect) {
    std::vector<Access> own;
    for (const Access& access : accesses) own.push_back({ids[access.data.index], access.mode});
    scheduler.compute(options, own, [run, accesses, effect] { run(accesses, effect); });
  };
  for (const StepTask& task : program.tasks) {
    const TaskOptions options{.name = task.name, .priority = task.priority};
    if (!task.collective) {
      compute(options, task.accesses, [&data, &task] { data.compute(task); });
      continue;
    }
    const DataId id = ids[task.accesses.front().data.index];
    const std::span<float> values = data.range(task);
    const auto members = mesh.ranks_of(task.group, scheduler.rank());
    if (*task.collective == CollectiveKind::all_reduce) {
      scheduler.all_reduce(options, id, values, task.group);
    } else if (*task.collective == CollectiveKind::broadcast) {
      scheduler.broadcast(options, id, values, task.group, root_of(task, members.size()));
    } else if (*task.collective == CollectiveKind::all_to_all) {
      const auto own =
          static_cast<std::size_t>(std::ranges::find(members, scheduler.rank()) - members.begin());
      auto& sent = counts.emplace_back(members.size());
      auto& received = counts.emplace_back(members.size());
      const DataId from = task.accesses.front().data, to = task.accesses.back().data;
      compute({.name = "count"}, {update(from)}, [&task, &sent, &received, own] {
        std::ranges::copy(exchanged_counts(task, sent.size(), own, false), sent.begin());
        std::ranges::copy(exchanged_counts(task, sent.size(), own, true), received.begin());
      });
      scheduler.all_to_all(options, id, ids[to.index],
                           {.sent = values,
                            .sent_counts = sent,
                            .received = data.received(task),
                            .received_counts = received,
                            .most_values = values.size() / members.size()},
                           task.group);
      compute({.name = "forget"}, {update(from), update(to)}, [&sent, &received] {
        std::ranges::fill(sent, 0);
        std::ranges::fill(received, 0);
      });
    } else if (*task.collective == CollectiveKind::shift) {
      const auto size = std::ssize(members);
      scheduler.shift(options, id, values, ids[task.accesses.back().data.index],
                      data.received(task).first(values.size()), task.group,
                      static_cast<std::size_t>((task.peer->index + size) % size));
    } else if (*task.collective == CollectiveKind::send) {
      scheduler.send(options, id, values, task.group, peer_of(task, mesh, scheduler.rank()));
    } else {
      scheduler.receive(options, id, values, task.group, peer_of(task, mesh, scheduler.rank()));
    }
  }
}

/// Ways to submit a rank's steps.
enum class Submits { each_time, captured, captured_and_checked };

/// The number of a rank's steps, and the observers of its scheduler.
struct WatchedSteps {
  int steps = kStepsOfRanks;
  TraceSink* trace = nullptr;
  PlanObserver* observer = nullptr;
  /// Called when all has run, while names of tasks are valid.
  std::function<void()> at_end = {};
};

/// Runs the steps of a rank with `executor`, and returns the first error.
Result<void> run_program(const StepDescription& step, const ScheduleConfig& config, Submits submits,
                         Executor& executor, RankData& data, const auto& run,
                         const WatchedSteps& watched = {}) {
  const bool captures = submits != Submits::each_time;
  const auto rank = static_cast<std::size_t>(executor.rank());
  const auto programs = program_steps(step);
  const StepDescription& program = programs[programs_of_ranks(step).value()[rank]];
  SchedulerOptions options{.trace = watched.trace, .observer = watched.observer};
  if (config.order == CollectiveOrder::static_order)
    options.static_order = static_order(step, config, executor.rank()).value();
  Counts counts;
  Scheduler scheduler(config, executor, std::move(options));
  std::vector<DataId> ids;
  for (std::size_t i = 0; i < program.data.size(); ++i) ids.push_back(scheduler.add_data());
  const auto submit = [&] {
    submit_program(scheduler, program, *executor.mesh(), ids, data, counts, run);
  };
  std::shared_ptr<Scheduler::Capture> capture;
  if (captures) {
    scheduler.begin_capture();
    submit();
    capture = scheduler.end_capture();
    if (submits == Submits::captured_and_checked) HOCKET_TRY(scheduler.check(capture));
  }
  for (int i = 0; i < watched.steps; ++i) {
    if (captures) {
      HOCKET_TRY(scheduler.launch(capture));
    } else {
      submit();
      HOCKET_TRY(scheduler.end_step());
    }
  }
  auto done = scheduler.synchronize();
  if (watched.at_end) watched.at_end();
  return done;
}

/// Runs the steps of a rank on its host, and returns the first error.
inline Result<void> run_rank(const StepDescription& step, const ScheduleConfig& config,
                             Submits submits, Collective& collective, RankData& data,
                             const WatchedSteps& watched = {}) {
  SteadyClock clock;
  HostExecutor executor(collective, clock);
  return run_program(
      step, config, submits, executor, data, [](const auto&, const auto& effect) { effect(); },
      watched);
}

}  // namespace hocket
