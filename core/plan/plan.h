#pragma once

// What to run next: one deterministic state machine without threads, clocks or streams. The same
// sequence of calls gives the same decisions, so a simulated, a real and a replayed run decide
// alike. Not thread-safe.
//
// A compute task is handed out when all it depends on is finished, most urgent first. A collective
// is cut into parts; parts start within the credit window in one of three orders:
//  - fifo: the order of submission, so ranks that submit alike start alike;
//  - priority: the most urgent collective that is ready, looked at anew for each part, so that a
//    more urgent one overtakes at a part's boundary (ByteScheduler, SOSP 2019, section 4.2);
//  - announced: as told by announce(): what another rank decided, or an order made before.
//
// A step that repeats can be captured and launched: the same decisions without deriving its
// dependencies again. Launches of a captured step and single submissions do not mix: each begins
// when the other is finished.
//
// Invariants:
//  1. a part starts only when in_flight_bytes() with it is ≤ credit_bytes, or when it is alone in
//  flight. So in_flight_bytes() ≤ credit_bytes, except while a single part larger than the window
//  is alone in flight, and while parts are that started before configure() made the window smaller;
//  2. no collective starts before an earlier one of its order has handed out the part it is due;
//  3. a part is handed out once; a collective is finished when all its parts are.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/plan/captured_launches.h"
#include "core/plan/captured_step.h"
#include "core/plan/dependency_graph.h"
#include "core/plan/plan_observer.h"
#include "core/plan/priority_queue.h"
#include "core/step/task.h"

namespace hocket {

enum class PartOrder { fifo, priority, announced };

struct PlanOptions {
  std::int64_t partition_bytes = 0;  ///< > 0
  std::int64_t credit_bytes = 0;     ///< > 0
  PartOrder order = PartOrder::fifo;

  bool operator==(const PlanOptions&) const = default;
};

/// One part of a collective, to be started now.
struct PartDecision {
  TaskId task;
  /// Which collective, counted in order of submission from 0: the same number on every rank.
  std::uint64_t collective = 0;
  std::int64_t offset_bytes = 0;
  std::int64_t bytes = 0;

  bool operator==(const PartDecision&) const = default;
};

class Plan {
 public:
  explicit Plan(const PlanOptions& options) { configure(options); }

  DataId add_data() { return graph_.add_data(); }

  const PlanOptions& options() const { return options_; }
  /// Takes other options: collectives from now on are cut by the new partition, those before stay
  /// as they are cut; the window is the new one at once. Changing the order needs unfinished() to
  /// be 0, and nothing announced that has not started.
  void configure(const PlanOptions& options);

  /// Tells `observer` (null: nobody) what this plan is told and decides from now on.
  void observe(PlanObserver* observer) { observer_ = observer; }

  TaskId submit_compute(const TaskOptions& options, std::span<const Access> accesses);
  TaskId submit_collective(const TaskOptions& options, std::span<const Access> accesses,
                           std::int64_t bytes);

  /// Whether launch(step) may be called: nothing that was submitted or launched otherwise is
  /// unfinished, and at most one launch of this step is.
  bool may_launch(const CapturedStep& step) const;
  /// Submits all tasks of `step`, in its order; task i gets the id step->id_of(i, result).
  TaskId launch(const std::shared_ptr<const CapturedStep>& step);

  /// The next compute task to run, or nothing.
  std::optional<TaskId> next_compute();
  /// The next part to start, or nothing: none is ready, the window is full, or it is not its turn.
  std::optional<PartDecision> next_part();

  void finish_compute(TaskId task);
  /// The same for many tasks, faster than one by one.
  void finish_computes(std::span<const TaskId> tasks);
  /// A part of `bytes` is done and its credit returns; true when it was the collective's last.
  bool finish_part(TaskId task, std::int64_t bytes);

  /// In place of finish_part(), for an executor that issues ahead (core/scheduler/executor.h): a
  /// part was put into a queue of the device, which keeps the order of what accesses the same data.
  /// True when it was the collective's last: those that wait for the collective may follow.
  bool issue_part(TaskId task);
  /// A part that was issued has run, and its credit returns.
  void return_credit(std::int64_t bytes);
  /// From now on, PartOrder::priority chooses among collectives whose inputs have arrived only:
  /// where the tasks before it are issued ahead, a collective is ready long before it could run,
  /// and the most urgent one would hold up those that can. Call it before anything is submitted.
  void await_inputs() { awaits_inputs_ = true; }
  /// A collective that is ready, and whose inputs have not arrived; each once.
  std::optional<TaskId> next_awaiting_inputs();
  void inputs_arrived(TaskId collective);

  /// For PartOrder::announced: the collectives whose parts start next, one entry a part. They may
  /// be announced before they are submitted.
  void announce(std::span<const std::uint64_t> collectives);

  std::size_t ready_computes() const { return ready_computes_.size(); }
  std::int64_t in_flight_bytes() const { return in_flight_bytes_; }
  /// Tasks submitted and not finished.
  std::size_t unfinished() const { return replay_ ? replay_->live() : graph_.live(); }
  /// Collectives submitted so far, which is the number that the next one gets.
  std::uint64_t submitted_collectives() const { return submitted_collectives_; }
  std::int64_t parts_in_flight() const { return parts_in_flight_; }

 private:
  static constexpr std::uint32_t kCompute = ~std::uint32_t{0};

  /// Kept small: there are many, and most are compute tasks.
  struct Task {
    std::uint32_t priority = 0;
    std::uint32_t collective = kCompute;  ///< index into collectives_, or kCompute
    std::uint32_t next_ready = 0;         ///< the ready queue's
  };
  struct Collective {
    std::uint64_t number = 0;
    bool ready = false;
    std::int64_t bytes = 0;
    std::int64_t part_bytes = 0;
    std::int64_t next_offset = 0;
    std::int64_t parts_to_start = 0;
    std::int64_t parts_unfinished = 0;  ///< or not issued
  };

  TaskId submit(const TaskOptions& options, std::span<const Access> accesses,
                std::optional<std::int64_t> collective_bytes);
  void begin_replay(const std::shared_ptr<const CapturedStep>& step);
  void reset_collective(std::uint32_t index, std::int64_t bytes);
  TaskId id_of(std::uint32_t slot) const {
    return replay_ ? replay_->id_of(slot) : graph_.id_of(slot);
  }
  bool is_live(TaskId task) const {
    return replay_ ? replay_->is_live(task) : graph_.is_live(task);
  }
  void finish(TaskId task);
  /// True when `id` has no more parts.
  bool end_part(TaskId id);
  /// The links of the ready queues.
  auto next_ready() {
    return [this](std::uint32_t slot) -> std::uint32_t& { return task(slot).next_ready; };
  }
  void became_ready(std::uint32_t slot);
  Task& task(std::uint32_t slot) { return replay_ ? replay_->fields(slot) : graph_.fields(slot); }
  Collective& collective(std::uint32_t slot) { return collectives_[task(slot).collective]; }
  /// The collective whose part is due, whether or not it may start yet.
  std::optional<std::uint32_t> due_collective() const;
  void part_was_taken(std::uint32_t slot);

  PlanOptions options_;
  PlanObserver* observer_ = nullptr;
  DependencyGraph<Task> graph_;
  // While there is one, slots are its slots and the graph is empty.
  std::optional<StepReplay<Task>> replay_;
  std::vector<Collective> collectives_;
  std::vector<std::uint32_t> free_collectives_;
  BucketQueue ready_computes_;
  BucketQueue ready_collectives_;  // PartOrder::priority
  // For fifo and announced: collectives from number first_waiting_ on. An exhausted one stays until
  // those before it are exhausted too; its slot may then belong to another task.
  struct Waiting {
    std::uint32_t slot = 0;
    bool exhausted = false;
  };
  std::deque<Waiting> waiting_;
  std::uint64_t first_waiting_ = 0;
  std::uint64_t submitted_collectives_ = 0;
  std::deque<std::uint64_t> announced_;
  std::int64_t in_flight_bytes_ = 0;
  std::int64_t parts_in_flight_ = 0;
  bool awaits_inputs_ = false;
  std::deque<TaskId> awaiting_inputs_;
};

}  // namespace hocket
