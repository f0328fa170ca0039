#pragma once

// Random plans and their tapes, reproducible by seed. Not thread-safe.

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/captured_step.h"
#include "core/plan/plan.h"
#include "core/tape/tape.h"
#include "tests/set_clock.h"

namespace hocket {

/// Runs a plan with random tasks: some steps are submitted task by task, some captured and
/// launched, and the options change from time to time. Submissions and their cuts depend on
/// `submissions` alone, times of events on `timing`.
class RandomPlan {
 public:
  RandomPlan(std::uint64_t submissions, std::uint64_t timing, const PlanOptions& options,
             PlanObserver* observer, SetClock* clock)
      : submissions_(submissions), timing_(timing), plan_(options), clock_(clock) {
    plan_.observe(observer);
    const auto kinds = 1 + submissions_() % 2;
    for (std::size_t i = 0; i < kinds; ++i) steps_.push_back(random_step());
  }

  /// Runs the plan to its end. For PartOrder::announced: `order` is announced in small pieces.
  void run(std::vector<std::uint64_t> order = {}) {
    to_announce_ = std::move(order);
    for (auto phases = 1 + submissions_() % 4; phases > 0; --phases) {
      if (submissions_() % 2) {
        submit_tasks();
      } else {
        launch(steps_[submissions_() % steps_.size()]);
      }
      while (plan_.unfinished() > 0) advance();
    }
  }

  /// Returns the collective of each started part, in order.
  const std::vector<std::uint64_t>& started() const { return started_; }

 private:
  /// Changes the options, mostly while tasks run. Announced order stays announced.
  void configure() {
    PlanOptions options = plan_.options();
    options.partition_bytes = static_cast<std::int64_t>(1 + submissions_() % 600);
    options.credit_bytes = static_cast<std::int64_t>(1 + submissions_() % 1200);
    const auto servers = static_cast<int>(submissions_() % 4);
    const auto pull_credit_bytes = static_cast<std::int64_t>(1 + submissions_() % 1200);
    if (submissions_() % 4 == 0) {
      while (plan_.unfinished() > 0) advance();
      if (options.order != PartOrder::announced) {
        options.order = options.order == PartOrder::fifo ? PartOrder::priority : PartOrder::fifo;
        options.servers = servers;
      }
    }
    options.pull_credit_bytes = options.servers > 0 ? pull_credit_bytes : 0;
    pass_time();
    plan_.configure(options);
  }

  CapturedStep::Task random_task() {
    static const std::string kNames[] = {"forward", "backward", "", "all-reduce \xff\n", "a"};
    CapturedStep::Task task;
    task.name = kNames[submissions_() % std::size(kNames)];
    task.priority = static_cast<std::uint32_t>(submissions_() % 300);
    task.is_collective = submissions_() % 2;
    if (task.is_collective) task.bytes = static_cast<std::int64_t>(submissions_() % 1000);
    if (task.is_collective && submissions_() % 2) task.communication = random_communication();
    for (auto n = submissions_() % 4; n > 0; --n) {
      task.accesses.push_back({{static_cast<std::uint32_t>(submissions_() % kData)},
                               static_cast<AccessMode>(submissions_() % 3)});
    }
    return task;
  }

  TaskCommunication random_communication() {
    constexpr CollectiveKind kKinds[] = {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                                         CollectiveKind::all_gather, CollectiveKind::broadcast,
                                         CollectiveKind::all_to_all, CollectiveKind::send,
                                         CollectiveKind::receive};
    constexpr AxisSet kAxes[] = {
        {}, AxisSet::of(0), AxisSet::of(1), AxisSet::of(0).with(AxisSet::of(1))};
    TaskCommunication communication{.kind = kKinds[submissions_() % std::size(kKinds)],
                                    .group = {kAxes[submissions_() % std::size(kAxes)],
                                              kGroupTiers[submissions_() % kGroupTiers.size()]}};
    if (!is_message(communication.kind)) return communication;
    communication.peer = static_cast<std::int32_t>(submissions_() % 7) - 3;
    communication.is_relative = submissions_() % 2;
    return communication;
  }

  std::shared_ptr<const CapturedStep> random_step() {
    std::vector<CapturedStep::Task> tasks;
    for (auto n = submissions_() % 12; n > 0; --n) tasks.push_back(random_task());
    return std::make_shared<const CapturedStep>(std::move(tasks));
  }

  void submit_tasks() {
    while (data_ < kData) data_ = plan_.add_data().index + 1;
    for (auto n = submissions_() % 30; n > 0; --n) {
      if (submissions_() % 16 == 0) configure();
      const auto task = random_task();
      pass_time();
      const TaskOptions options{.name = task.name, .priority = task.priority};
      if (task.is_collective) {
        plan_.submit_collective(options, task.accesses, task.bytes, task.communication);
      } else {
        plan_.submit_compute(options, task.accesses);
      }
      for (auto steps = timing_() % 4; steps > 0; --steps) advance();
    }
  }

  void launch(const std::shared_ptr<const CapturedStep>& step) {
    for (auto n = 1 + submissions_() % 4; n > 0; --n) {
      if (submissions_() % 4 == 0) configure();
      while (!plan_.may_launch(*step)) advance();
      pass_time();
      plan_.launch(step);
      for (auto steps = timing_() % 20; steps > 0; --steps) advance();
    }
  }

  void pass_time() {
    now_ns_ += static_cast<std::int64_t>(timing_() % 3 * (timing_() % 1000));
    if (clock_) clock_->now = now_ns_;
  }

  /// Lets one random possible event happen.
  void advance() {
    pass_time();
    switch (timing_() % 8) {
      case 0:
        if (const auto task = plan_.next_compute()) running_.push_back(*task);
        break;
      case 1:
        if (const auto part = plan_.next_part()) {
          in_flight_.push_back(*part);
          started_.push_back(part->collective);
          if (plan_.options().servers > 0) unsummed_.push_back(*part);
        }
        break;
      case 2:
        if (!running_.empty()) plan_.finish_compute(take(running_));
        break;
      case 3:
        if (!in_flight_.empty()) {
          const PartDecision part = take(in_flight_);
          plan_.options().servers > 0 ? plan_.finish_push(part)
                                      : plan_.finish_part(part.task, part.bytes);
        }
        break;
      case 4:
        if (const auto part = plan_.next_pull()) pulled_.push_back(*part);
        break;
      case 6:
        if (!unsummed_.empty()) plan_.summed(take(unsummed_));
        break;
      case 5:
        if (!pulled_.empty()) plan_.finish_pull(take(pulled_));
        break;
      default:
        announce();
    }
  }

  void announce() {
    const std::size_t count = std::min(to_announce_.size() - announced_, timing_() % 4);
    if (count == 0) return;
    plan_.announce(std::span(to_announce_).subspan(announced_, count));
    announced_ += count;
  }

  template <class T>
  T take(std::vector<T>& from) {
    std::swap(from[timing_() % from.size()], from.back());
    const T taken = from.back();
    from.pop_back();
    return taken;
  }

  static constexpr std::uint32_t kData = 5;

  std::mt19937_64 submissions_, timing_;
  Plan plan_;
  SetClock* clock_;
  std::int64_t now_ns_ = 0;
  std::uint32_t data_ = 0;
  std::vector<std::shared_ptr<const CapturedStep>> steps_;
  std::vector<TaskId> running_;
  std::vector<PartDecision> in_flight_, unsummed_, pulled_;
  std::vector<std::uint64_t> started_, to_announce_;
  std::size_t announced_ = 0;
};

inline PlanOptions random_plan_options(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  PlanOptions options{.partition_bytes = static_cast<std::int64_t>(1 + random() % 600),
                      .credit_bytes = static_cast<std::int64_t>(1 + random() % 1200),
                      .order = static_cast<PartOrder>(seed % 3)};
  if (options.order != PartOrder::announced) options.servers = static_cast<int>(seed / 3 % 4);
  if (options.servers > 0)
    options.pull_credit_bytes = static_cast<std::int64_t>(1 + random() % 1200);
  return options;
}

/// Runs the random plan of `seed` under `observer`.
inline void run_random_plan(std::uint64_t seed, PlanObserver* observer, SetClock* clock) {
  const PlanOptions options = random_plan_options(seed);
  std::vector<std::uint64_t> order;
  if (options.order == PartOrder::announced) {
    PlanOptions leader = options;
    leader.order = PartOrder::priority;
    RandomPlan decides(seed, seed + 1, leader, nullptr, nullptr);
    decides.run();
    order = decides.started();
  }
  RandomPlan(seed, seed + 2, options, observer, clock).run(std::move(order));
}

inline TapeHeader random_tape_header(std::uint64_t seed) {
  return {.plan = random_plan_options(seed),
          .rank = static_cast<std::int64_t>(seed % 4),
          .ranks = 4,
          .virtual_time = true,
          .name = "seed " + std::to_string(seed),
          .axes = seed % 2 == 0 ? std::vector<MeshAxis>{{"data", 2}, {"tensor", 2}}
                                : std::vector<MeshAxis>{},
          .ranks_per_host = seed % 3 == 0 ? 2 : 1};
}

inline std::string random_tape(std::uint64_t seed) {
  std::string tape;
  SetClock clock(0);
  {
    TapeWriter writer(random_tape_header(seed), clock,
                      [&tape](std::string_view bytes) { tape += bytes; });
    run_random_plan(seed, &writer, &clock);
  }
  return tape;
}

/// Records that can be read from a tape, and the error that ends it.
struct TapeContents {
  std::vector<TapeRecord> records;
  std::string error;  ///< empty for a complete tape
};

inline TapeContents read_tape(std::string_view bytes) {
  TapeContents contents;
  auto reader = TapeReader::open(bytes);
  if (!reader) {
    contents.error = reader.error().message;
    return contents;
  }
  while (true) {
    auto record = reader->next();
    if (!record) contents.error = record.error().message;
    if (!record || !*record) return contents;
    contents.records.push_back(std::move(**record));
  }
}

/// Writes a tape of `records`, even if no plan could decide so; keeps their times.
inline std::string tape_of(const TapeHeader& header, const std::vector<TapeRecord>& records) {
  std::string tape;
  SetClock clock(0);
  TapeWriter writer(header, clock, [&tape](std::string_view bytes) { tape += bytes; });
  std::vector<std::unique_ptr<const CapturedStep>> steps;
  std::vector<TaskId> ids;  // by number
  // A damaged tape may name tasks that were never submitted.
  const auto id = [&ids](std::uint64_t number) { return ids.at(number); };
  const auto next_id = [&ids] { return TaskId{static_cast<std::uint32_t>(ids.size()), 0}; };
  for (const TapeRecord& record : records) {
    clock.now = record.time_ns;
    switch (record.kind) {
      case TapeKind::configured:
        writer.configured(record.plan);
        break;
      case TapeKind::submitted: {
        const TapeTask& task = record.tasks.front();
        ids.push_back(next_id());
        writer.submitted({ids.back(), task.name, task.priority, task.accesses, task.is_collective,
                          task.bytes, task.lane, task.communication});
        break;
      }
      case TapeKind::captured: {
        std::vector<CapturedStep::Task> step;
        for (const TapeTask& task : record.tasks) {
          step.push_back({task.name, task.priority, task.is_collective, task.bytes, task.accesses,
                          task.lane, task.communication});
        }
        steps.push_back(std::make_unique<const CapturedStep>(std::move(step)));
        break;
      }
      case TapeKind::launched: {
        const CapturedStep& step = *steps[record.number];
        const TaskId first = next_id();
        for (std::uint32_t i = 0; i < step.size(); ++i) ids.push_back(step.id_of(i, first));
        writer.launched(step, first);
        break;
      }
      case TapeKind::announced:
        writer.announced(record.collectives);
        break;
      case TapeKind::ready:
        writer.ready(id(record.number));
        break;
      case TapeKind::started:
        writer.started(id(record.number));
        break;
      case TapeKind::started_part:
        writer.started_part(id(record.number), record.offset_bytes, record.bytes);
        break;
      case TapeKind::finished:
        writer.finished(id(record.number));
        break;
      case TapeKind::finished_part:
        writer.finished_part(id(record.number), record.bytes);
        break;
      case TapeKind::finished_push:
        writer.finished_push(id(record.number), record.offset_bytes, record.bytes);
        break;
      case TapeKind::started_pull:
        writer.started_pull(id(record.number), record.offset_bytes, record.bytes);
        break;
      case TapeKind::summed:
        writer.summed(id(record.number), record.offset_bytes, record.bytes);
        break;
      case TapeKind::finished_pull:
        writer.finished_pull(id(record.number), record.bytes);
        break;
    }
  }
  return tape;
}

}  // namespace hocket
