#pragma once

// Decides what runs next: one deterministic state machine without threads, clocks or streams. The
// same sequence of calls gives the same decisions, so simulated, real and repeated runs decide
// alike. Not thread-safe.
//
// A compute task is handed out when all its dependencies are finished, most urgent first among
// those of its lane. A collective is divided into parts, which start within the credit window in
// one of three orders:
//  - fifo: order of submission, so ranks that submit in the same order start in the same order;
//  - priority: the most urgent ready collective, chosen anew for each part, so that a more urgent
//    one overtakes at a part boundary (ByteScheduler, SOSP 2019, section 4.2);
//  - announced: the order given by announce(), which another rank decided or which was made before.
//
// With parameter servers a part has two ways: it is pushed to its server and, when the server has
// the sum of all ranks, pulled. Each way has a window of its own, so that one part is pushed while
// another is pulled. Pulls start in the order in which the sums were ready (fifo), or the most
// urgent first. A part that waits for other ranks takes no credit: otherwise two ranks whose
// windows are full of parts that the other has not pushed would wait for each other.
//
// A repeating step can be captured and launched: the decisions are the same, without deriving the
// dependencies again. Launches of a captured step and single submissions do not mix: each begins
// only after the other has finished.
//
// Invariants:
//  1. a part starts only if in_flight_bytes() including it is ≤ credit_bytes, or if it is alone in
//     flight. So in_flight_bytes() ≤ credit_bytes, except while a single part larger than the
//     window is alone in flight, and while parts are in flight that started before configure()
//     shrank the window. With servers this holds for pushes and, with pull_credit_bytes, for pulls;
//  2. no collective starts before an earlier one in the order has handed out the part that is due;
//  3. each part is handed out once, with servers once each way; a collective is finished when all
//     its parts are.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/collective/part_sizes.h"
#include "core/plan/captured_launches.h"
#include "core/plan/captured_step.h"
#include "core/plan/credit_window.h"
#include "core/plan/dependency_graph.h"
#include "core/plan/plan_observer.h"
#include "core/plan/priority_queue.h"
#include "core/plan/server_assignment.h"
#include "core/step/task.h"

namespace hocket {

struct ScheduleConfig;  // core/step/schedule_config.h

enum class PartOrder { fifo, priority, announced };

struct PlanOptions {
  /// Maximum bytes of a part; > 0.
  std::int64_t partition_bytes = 0;
  /// Size of the credit window; > 0.
  std::int64_t credit_bytes = 0;
  PartOrder order = PartOrder::fifo;
  /// Parameter servers; 0: collectives run among the ranks. Not with PartOrder::announced, since
  /// servers take the parts in whatever order ranks push them.
  int servers = 0;
  /// Size of the credit window of pulls; > 0 if there are servers.
  std::int64_t pull_credit_bytes = 0;

  bool operator==(const PlanOptions&) const = default;
};

/// Returns the options of the plan of rank `rank` under `config`, with a static order or without,
/// in a job with `servers` parameter servers.
PlanOptions plan_options(const ScheduleConfig& config, bool has_static_order, int rank,
                         int servers = 0);

/// One part of a collective, to start now.
struct PartDecision {
  TaskId task;
  /// Number of the collective in order of submission, from 0: the same on every rank.
  std::uint64_t collective = 0;
  std::int64_t offset_bytes = 0;
  std::int64_t bytes = 0;
  /// The parameter server of the part, the same on every rank; 0 without servers.
  int server = 0;
  /// Number of the data that the collective accesses (ServerAssignment::Place); 0 without servers.
  std::uint32_t tensor = 0;

  bool operator==(const PartDecision&) const = default;
};

class Plan {
 public:
  explicit Plan(const PlanOptions& options) { configure(options); }

  DataId add_data() { return graph_.add_data(); }

  const PlanOptions& options() const { return options_; }
  /// Changes the options. Later collectives are divided by the new `partition_bytes`, earlier ones
  /// keep their parts; new credit windows apply at once. Changing the order or the servers requires
  /// unfinished() == 0 and no announced collective that has not started.
  void configure(const PlanOptions& options);

  /// Reports this plan's inputs and decisions to `observer` from now on; null stops reporting.
  void observe(PlanObserver* observer) { observer_ = observer; }

  TaskId submit_compute(const TaskOptions& options, std::span<const Access> accesses);
  /// Decides nothing by `communication`, which is for the observer.
  TaskId submit_collective(const TaskOptions& options, std::span<const Access> accesses,
                           std::int64_t bytes, const TaskCommunication& communication = {});

  /// Returns whether launch(step) may be called: no other submission or launch is unfinished, and
  /// at most one launch of `step` is.
  bool may_launch(const CapturedStep& step) const;
  /// Submits all tasks of `step` in its order; task i gets the id step->id_of(i, result).
  TaskId launch(const std::shared_ptr<const CapturedStep>& step);

  /// Returns the next compute task that `lane` may run, or nothing.
  std::optional<TaskId> next_compute(TaskLane lane = TaskLane::stream);
  /// Returns the next part to start, or nothing when none is ready, the window is full, or the due
  /// collective cannot start.
  /// With servers it is a part to push.
  std::optional<PartDecision> next_part();
  /// Returns the next part to pull, or nothing when no sum is ready or the window of pulls is full.
  std::optional<PartDecision> next_pull();

  void finish_compute(TaskId task);
  /// Like finish_compute() for many tasks, faster than one by one.
  void finish_computes(std::span<const TaskId> tasks);
  /// Finishes a part of `bytes` and returns its credit; true when it was the collective's last
  /// part.
  bool finish_part(TaskId task, std::int64_t bytes);
  /// Replace finish_part() where there are servers: the part was pushed; was pulled.
  bool finish_push(const PartDecision& part);
  bool finish_pull(const PartDecision& part);
  /// Says that the server has the sum of a part, which may be pulled from now on. It may come
  /// before finish_push() of the part, but not before the part was handed out.
  void summed(const PartDecision& part);

  /// Replaces finish_part() for an executor that issues ahead (core/scheduler/executor.h): the part
  /// was put into a device queue, which keeps the order of accesses to the same data. True when it
  /// was the collective's last part: tasks that wait for the collective may follow.
  bool issue_part(TaskId task);
  /// Returns the credit of an issued part that has run.
  void return_credit(std::int64_t bytes);
  /// Restricts PartOrder::priority to collectives whose inputs have arrived. When the preceding
  /// tasks are issued ahead, a collective is ready long before it can run, and the most urgent one
  /// would block those that can. Must be called before anything is submitted.
  void await_inputs() { awaits_inputs_ = true; }
  /// Returns a collective that is ready but whose inputs have not arrived; each one once.
  std::optional<TaskId> next_awaiting_inputs();
  void inputs_arrived(TaskId collective);

  /// Announces, for PartOrder::announced, the collectives whose parts start next, one entry per
  /// part. They may be announced before they are submitted.
  void announce(std::span<const std::uint64_t> collectives);
  /// Returns whether next_part() would return a part of this collective, which must be submitted
  /// and have parts left, if it were announced next. For PartOrder::announced.
  bool may_start(std::uint64_t collective) const;

  /// Returns the collective whose part is due but which waits for tasks before it; nothing if none
  /// is due, none is submitted or it is ready.
  std::optional<TaskId> due_unready() const;
  /// Returns a collective that is ready and waits for its turn, in fifo or announced order.
  std::optional<TaskId> ready_in_line() const;

  std::size_t ready_computes(TaskLane lane = TaskLane::stream) const {
    return ready_computes_[static_cast<std::size_t>(lane)].size();
  }
  /// Bytes of parts in flight; with servers of those on the way to them.
  std::int64_t in_flight_bytes() const { return credit_.in_flight_bytes(); }
  std::int64_t pulled_in_flight_bytes() const { return pull_credit_.in_flight_bytes(); }
  /// Returns the number of tasks submitted and not finished.
  std::size_t unfinished() const { return captured_ ? captured_->live() : graph_.live(); }
  /// Returns the number of collectives submitted so far, which is the next collective's number.
  std::uint64_t submitted_collectives() const { return submitted_collectives_; }
  /// Parts in flight, both ways.
  std::int64_t parts_in_flight() const {
    return credit_.parts_in_flight() + pull_credit_.parts_in_flight();
  }

 private:
  static constexpr std::uint32_t kCompute = ~std::uint32_t{0};

  /// Kept small: there are many tasks, and most are compute tasks.
  struct Task {
    std::uint32_t priority : 24 = 0;
    TaskLane lane : 8 = TaskLane::stream;
    /// Index into collectives_, or kCompute.
    std::uint32_t collective = kCompute;
    /// Link of the ready queue.
    std::uint32_t next_ready = 0;
  };
  struct Collective {
    std::uint64_t number = 0;
    bool ready = false;
    ServerAssignment::Place place;
    PartCursor parts;  ///< parts that have not started
    /// Parts not finished, each way, or not issued where issue_part() is used.
    std::int64_t parts_unfinished = 0;
  };
  /// A part whose sum is ready and that is not pulled.
  struct SummedPart {
    PartDecision part;
    std::uint32_t next = 0;
  };

  TaskId submit(const TaskOptions& options, std::span<const Access> accesses,
                std::optional<std::int64_t> collective_bytes,
                const TaskCommunication& communication);
  void begin_launches(const std::shared_ptr<const CapturedStep>& step);
  void reset_collective(std::uint32_t index, std::int64_t bytes, std::span<const Access> accesses);
  TaskId id_of(std::uint32_t slot) const {
    return captured_ ? captured_->id_of(slot) : graph_.id_of(slot);
  }
  bool is_live(TaskId task) const {
    return captured_ ? captured_->is_live(task) : graph_.is_live(task);
  }
  void finish(TaskId task);
  /// Ends one part; true when the collective `id` has no more parts.
  bool end_part(TaskId id);
  /// Returns the accessor of the ready queues' links.
  auto next_ready() {
    return [this](std::uint32_t slot) -> std::uint32_t& { return task(slot).next_ready; };
  }
  void became_ready(std::uint32_t slot);
  Task& task(std::uint32_t slot) {
    return captured_ ? captured_->fields(slot) : graph_.fields(slot);
  }
  Collective& collective(std::uint32_t slot) { return collectives_[task(slot).collective]; }
  const Collective& collective(std::uint32_t slot) const {
    return collectives_[task(slot).collective];
  }
  const Task& task(std::uint32_t slot) const {
    return captured_ ? captured_->fields(slot) : graph_.fields(slot);
  }
  /// Returns the collective whose part is due, even if it may not start yet.
  std::optional<std::uint32_t> due_collective() const;
  void part_was_taken(std::uint32_t slot);

  PlanOptions options_;
  PlanObserver* observer_ = nullptr;
  DependencyGraph<Task> graph_;
  // While set, slots are those of the captured step's launches and the graph is empty.
  std::optional<CapturedLaunches<Task>> captured_;
  std::vector<Collective> collectives_;
  std::vector<std::uint32_t> free_collectives_;
  // by lane
  std::array<BucketQueue, kTaskLanes> ready_computes_;
  // Used by PartOrder::priority.
  BucketQueue ready_collectives_;
  // For fifo and announced: collectives from number first_waiting_ on. An exhausted one stays until
  // all before it are exhausted; its slot may then belong to another task.
  struct Waiting {
    std::uint32_t slot = 0;
    bool exhausted = false;
  };
  std::deque<Waiting> waiting_;
  std::uint64_t first_waiting_ = 0;
  std::uint64_t submitted_collectives_ = 0;
  std::deque<std::uint64_t> announced_;
  CreditWindow credit_;
  // Used with servers:
  CreditWindow pull_credit_;
  ServerAssignment server_assignment_;
  std::vector<SummedPart> summed_;
  std::vector<std::uint32_t> free_summed_;
  /// Indices into summed_.
  BucketQueue ready_pulls_;
  bool awaits_inputs_ = false;
  std::deque<TaskId> awaiting_inputs_;
};

}  // namespace hocket
