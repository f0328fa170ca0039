#pragma once

// The front of the core: submits the tasks of a step without waiting for them. The scheduler
// derives dependencies from what tasks read and write, and an executor runs tasks as they become
// ready.
//
//   Scheduler scheduler(config, executor);
//   DataId x = scheduler.add_data(), gradient = scheduler.add_data();
//   scheduler.compute({.name = "backward", .priority = 3}, {read(x), write(gradient)}, [&] { … });
//   scheduler.all_reduce({.name = "gradient", .priority = 3}, gradient, values);
//   auto ok = scheduler.end_step();   // The next step may be submitted at once.
//
// A step that repeats can be captured once and launched many times, which derives no dependencies
// again:
//
//   scheduler.begin_capture();
//   … submit the step …
//   auto step = scheduler.end_capture();
//   for (…) auto ok = scheduler.launch(step);
//
// If the configuration partitions steps (core/partitioning/step_partition.h), the first step runs
// as it is submitted and is recognised from then on: the tasks of the partitioned step run in its
// place. A step that differs from it runs as it is submitted, after everything submitted before.
//
// If the job names the memory of a device (SchedulerOptions::memory), each step is placed on it and
// its host (core/placement/step_placement.h) and runs when it has ended: tasks that update a layer
// may run beside the device, and copies run between the two.
//
// If the configuration says so and the executor has parameter servers, sums over all ranks are
// pushed to them and pulled (core/collective/parameter_servers.h) instead of all-reduced. A step
// with other collectives is then refused.
//
// One thread submits. Tasks that access the same data run as if one after the other in the order of
// submission; all others may run at once. Every rank must submit the same collectives in the same
// order.
//
// Ranks may also run different programs, in which they communicate in groups of some axes of the
// mesh, or two of them by a message. Each must then submit its communications in an order that is
// part of one order of the whole job, or have them started in such an order (order=static): the
// ranks wait for each other otherwise, until a collective has timed out (core/plan/job_order.h).
// check() compares the captured steps of all ranks before they run, and says which tasks of which
// ranks contradict each other:
//
//   auto step = scheduler.end_capture();
//   if (auto ok = scheduler.check(step); !ok) …   // On all ranks.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/collective/optimizer_step.h"
#include "core/plan/plan.h"
#include "core/scheduler/executor.h"
#include "core/step/rank_grid.h"
#include "core/step/schedule_config.h"
#include "core/step/task.h"
#include "core/step/task_body.h"
#include "core/trace/trace_sink.h"

namespace hocket {

struct CommunicationProgram;
class Dispatch;
class OffloadMemory;
struct Schedule;
class StepCapture;
class StepForm;
class TaskSink;

struct SchedulerOptions {
  /// Receives a record of what ran, if not null.
  TraceSink* trace = nullptr;
  /// Receives what the plan decided, if not null. Called under the scheduler's lock.
  PlanObserver* observer = nullptr;
  /// For order=static: the collectives of a step, one entry per part, in the order in which parts
  /// start (core/sim/simulator.h, static_order()): the same on all ranks, or its part of the job's,
  /// which is empty where a rank communicates with no other. Absent on all ranks: order=static is
  /// order=negotiated.
  std::optional<std::vector<std::uint32_t>> static_order = {};
  /// If not null, steps are placed on a device with this memory and on its host
  /// (core/placement/step_placement.h), as offload_k and prefetch_layers say. The executor must run
  /// lanes.
  OffloadMemory* memory = nullptr;
};

/// A rank's side of an all-to-all. Everything must stay valid until the task has run, and the
/// counts are read when it does: a task before that writes the data may compute them. They are in
/// the host's memory; on a device, that task copies them there. An executor that issues ahead waits
/// with the all-to-all until the device has run such tasks, and with the communications after it.
struct AllToAll {
  /// The values for the members of the group in order, and how many there are for each; more than
  /// their sum are left unused.
  ValueSpan sent;
  std::span<const std::size_t> sent_counts;
  /// Likewise those from each member, as many as it sends.
  ValueSpan received;
  std::span<const std::size_t> received_counts;
  /// A bound on how many values one member sends to another, which is the same on all ranks. All
  /// ranks make the same parts of it; values beyond it travel in the last one.
  std::size_t most_values = 0;
};

class Scheduler final {
 public:
  /// Starts `executor`. `config` must be valid and equal on all ranks; one that wants parameter
  /// servers where there are none makes the first step fail. The executor and the objects that
  /// `options` points to must outlive the scheduler.
  Scheduler(const ScheduleConfig& config, Executor& executor, SchedulerOptions options = {});

  /// Waits for everything submitted (or for the failure), then stops the executor.
  ~Scheduler();

  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Returns a new piece of data, which no task has accessed. `place` and `name` matter where steps
  /// are placed on a device; `name` is for messages and traces.
  DataId add_data(const DataPlace& place = {}, std::string_view name = {});

  /// Submits `body`, which runs once, after all earlier tasks that it conflicts with. An exception
  /// from it fails the scheduler.
  void compute(const TaskOptions& options, std::initializer_list<Access> accesses, TaskBody body) {
    compute(options, std::span(accesses.begin(), accesses.size()), std::move(body));
  }
  void compute(const TaskOptions& options, std::span<const Access> accesses, TaskBody body);

  /// Submits a computation that may be divided along any of the dimensions of `options.place`,
  /// which must have at least one. Undivided, it is called once with the whole of the first.
  void compute_pieces(const TaskOptions& options, std::span<const Access> accesses, PieceBody body);

  /// Submits a sum of `values` over all ranks, in place. It updates `data`, which stands for
  /// `values`. They must stay valid until the task has run.
  void all_reduce(const TaskOptions& options, DataId data, ValueSpan values);
  /// Like all_reduce(), but parameter servers make the sum the step of an optimiser, whose state
  /// they keep: what is to be subtracted from the parameters (core/collective/optimizer_step.h).
  /// `step` must have the same values on all ranks; it is read after the tasks before that access
  /// `data`, and stays unchanged until the task has run. Needs communication=parameter_server.
  void optimizer_step(const TaskOptions& options, DataId data, ValueSpan values,
                      const OptimizerStep& step);
  /// Like all_reduce(), but a rank gets the sum only in its own block of `values` (block_range() of
  /// core/step/rank_grid.h); the other blocks hold unspecified values afterwards.
  void reduce_scatter(const TaskOptions& options, DataId data, ValueSpan values);
  /// Like all_reduce(), but copies each rank's block of `values` to all ranks.
  void all_gather(const TaskOptions& options, DataId data, ValueSpan values);

  /// Like the functions of these names among all ranks, but among those of `group`, a whole set of
  /// axes of the executor's mesh. Blocks are those of the group's ranks. Such steps run as they are
  /// submitted: the step fails if the configuration partitions or places it, lets rank 0 decide the
  /// order, or sums over servers, and if the executor has no mesh. Each belongs to the same step on
  /// all of its ranks.
  void all_reduce(const TaskOptions& options, DataId data, ValueSpan values, CollectiveGroup group);
  void reduce_scatter(const TaskOptions& options, DataId data, ValueSpan values,
                      CollectiveGroup group);
  void all_gather(const TaskOptions& options, DataId data, ValueSpan values, CollectiveGroup group);
  /// Submits the sending of `values` to a member of a group, in ascending order of its ranks from 0
  /// and not this rank, under the same conditions. It reads `data`, which stands for `values`. The
  /// n-th send to a rank in a group is the n-th that this receives there from the sender.
  void send(const TaskOptions& options, DataId data, ValueSpan values, CollectiveGroup group,
            std::size_t peer);
  /// The other end: overwrites `data` and the values with as many of the peer's.
  void receive(const TaskOptions& options, DataId data, ValueSpan values, CollectiveGroup group,
               std::size_t peer);

  /// Submits a copy of the values of the member `root` to all others, under the same conditions. It
  /// reads `data`, which stands for `values`, on the root, and overwrites it on the others.
  void broadcast(const TaskOptions& options, DataId data, ValueSpan values, CollectiveGroup group,
                 std::size_t root);
  /// Submits a shift under the same conditions: each member of the group sends `values` to the one
  /// that is `distance` places behind it, round the end, and overwrites `received_values` with as
  /// many of the member as many places before. The distance is the same on all ranks and below the
  /// number of members; with 0 the values are copied. It reads `sent`, which stands for `values`,
  /// and overwrites `received`. Unlike a send and a receive, in which each waits for the other's
  /// turn, all members may submit it alike.
  void shift(const TaskOptions& options, DataId sent, ValueSpan values, DataId received,
             ValueSpan received_values, CollectiveGroup group, std::size_t distance);
  /// Submits an all-to-all under the same conditions. It reads `sent`, which stands for
  /// `exchange.sent`, and overwrites `received`, which stands for `exchange.received`.
  void all_to_all(const TaskOptions& options, DataId sent, DataId received,
                  const AllToAll& exchange, CollectiveGroup group);

  /// Ends the step. Blocks while more than kStepsAhead steps are unfinished. Returns the error if
  /// any rank or task has failed; after that submissions are ignored.
  Result<void> end_step();

  /// Keeps what is submitted until end_capture() instead of running it. No step may end meanwhile.
  void begin_capture();
  using Capture = StepCapture;
  std::shared_ptr<Capture> end_capture();

  /// Compares the step that this rank has captured with those of all other ranks: a collective of
  /// all ranks, which all of them call between the same two steps, each with its own. Nothing runs
  /// of the steps. Returns nothing, on every rank, if the job can launch them under the present
  /// configuration, whatever the times and however few communications can be under way: if every
  /// communication has the same kind, type, bytes and root on all of its ranks, every message its
  /// other end, and if what each rank begins is its part of one order of the job. Otherwise
  /// invalid_argument, on every rank the same, which names the ranks and the tasks. Counts of an
  /// all-to-all are known only when it runs.
  ///
  /// Waits for everything submitted. Also invalid_argument, without a word to other ranks, where
  /// the executor has no collectives of hosts; timed_out or unavailable if a rank does not call it.
  Result<void> check(const std::shared_ptr<Capture>& step);

  /// Submits a captured step as a step of its own and ends it like end_step(). Its bodies run once
  /// per launch; two runs of a body that only reads may overlap. Waits for tasks that were
  /// submitted in another way.
  ///
  /// With step_issue=graph an executor that runs whole steps gets the step as a whole, unless the
  /// order of collectives is negotiated between ranks or there is an observer. Then bodies run only
  /// as often as StepWork says; a step begins when the one before has ended; launching another
  /// step, or under another configuration, waits for all before. A trace has one compute event per
  /// step, named "step", of kWholeStep (core/trace/task_marker.h). Otherwise steps are launched
  /// task by task, and so are steps with an all-to-all, whose counts are read each time it runs,
  /// and the first one where the configuration partitions steps.
  Result<void> launch(const std::shared_ptr<Capture>& step);

  /// Blocks until everything submitted has run. For the end of a job, not for use inside a step.
  Result<void> synchronize();

  /// Changes the configuration; call it between steps, and after the same step on every rank.
  /// `static_order` is as in SchedulerOptions, for parts of the new size. If only partition_bytes,
  /// credit_bytes or step_issue change, nothing waits, unless steps are or were launched as a whole
  /// or partitioned: later submissions are divided anew, tasks under way stay as they are.
  /// Otherwise everything submitted is waited for, and the executor restarts if lanes or order
  /// change. Returns invalid_argument as validate() does, which changes nothing, or the scheduler's
  /// error.
  Result<void> reconfigure(const ScheduleConfig& config,
                           std::optional<std::vector<std::uint32_t>> static_order = {});

  int rank() const { return executor_.rank(); }
  int world_size() const { return executor_.world_size(); }
  RankGrid grid() const { return {executor_.world_size(), executor_.ranks_per_host()}; }

  /// Number of unfinished steps that end_step() lets run before it blocks.
  static constexpr std::int64_t kStepsAhead = 1;

 private:
  void submit_collective(const TaskOptions& options, DataId data, ValueSpan values,
                         CollectiveKind kind, const OptimizerStep* optimizer = nullptr);
  /// Submits a collective of which `divided_bytes` are divided into parts; those of the values if
  /// absent.
  void submit_of_some(const TaskOptions& options, std::span<const Access> accesses,
                      const CollectiveWork& work,
                      std::optional<std::int64_t> divided_bytes = std::nullopt);
  /// Returns why steps with communication of some ranks cannot run as they are configured, if so.
  std::optional<Error> why_not_some() const;
  /// Returns what this rank has to show of the step to others; a refusal if
  /// `state` is an error.
  CommunicationProgram program_of(StepCapture& step, const Mesh& mesh,
                                  const Result<void>& state) const;
  /// Returns the form of steps under `schedule`.
  StepForm& form_of(const Schedule& schedule);
  bool launches_whole_steps(const Schedule& schedule) const;
  Schedule schedule_of(const ScheduleConfig& config,
                       std::optional<std::vector<std::uint32_t>> static_order) const;

  // All used by the submitter's thread only. dispatch_ has the threads' common state.
  Executor& executor_;
  const bool is_observed_;
  std::shared_ptr<Capture> capturing_;
  std::unique_ptr<Dispatch> dispatch_;
  // The forms that configurations have chosen so far; each keeps what it knows of the job's steps.
  std::unique_ptr<StepForm> plain_, partitioned_;
  /// These launch plain and partitioned steps as a whole.
  std::unique_ptr<StepForm> whole_plain_, whole_partitioned_;
  /// Null unless steps are placed.
  std::unique_ptr<StepForm> placed_;
  /// The one that the configuration chooses.
  StepForm* form_ = nullptr;
  /// Gets submissions: the form, or what is being captured.
  TaskSink* sink_ = nullptr;
};

}  // namespace hocket
