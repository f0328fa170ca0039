#pragma once

// The seam between deciding and running. A WorkSource (the scheduler) hands out work that may run
// now; an Executor runs it and reports when it is done. Executors pull, so a thread that finishes
// one task takes the next without a hand-over.
//
// An executor that issues ahead (Executor::issues_ahead()) puts work into the queues of a device,
// which keep an order of their own, and need not wait for its end. One thread of it takes. For it
//  - finished means issued: take_compute() and take_part() are told what was put into the queues,
//    and hand out the work that waited for it, so no dependency costs a return to the host;
//  - work comes with its accesses. Tasks that conflict are handed out in their order, each after
//    the one before was issued; the executor must make them run in this order;
//  - completed() reports what has run; credit and the ends of steps follow from it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/collective/parameter_servers.h"
#include "core/scheduler/order_source.h"
#include "core/step/task.h"
#include "core/step/task_body.h"
#include "core/trace/lane_board.h"
#include "core/trace/trace_sink.h"

namespace hocket {

struct StepWork;  // core/scheduler/whole_step_order.h

/// A compute task that may run now. Everything that it points to stays valid until the task is
/// reported finished.
struct ComputeWork {
  TaskId task;
  TaskBody* body = nullptr;
  const std::string_view* name = nullptr;
  std::int64_t step = 0;
  /// The task will not run again: destroy its body when it has run.
  bool once = true;
  /// Accesses of the task; empty unless the executor issues ahead.
  std::span<const Access> accesses = {};
  /// If not null, run this whole step instead of the body, and trace it as one task. Only for an
  /// executor that runs whole steps.
  const StepWork* whole_step = nullptr;
  /// Bytes of a copy; 0 for other tasks.
  std::int64_t bytes = 0;
};

/// One part of a collective that may run now.
struct PartWork {
  TaskId task;
  /// The collective to perform; `index` counts started parts, from 0.
  CollectiveWork collective;
  /// If not empty, the part's values are these, of one type, one after the other, and
  /// `collective.values` is empty. Valid until the part is reported.
  std::span<const ValueSpan> bucket = {};
  /// Counts against the credit window.
  std::int64_t bytes = 0;
  std::string_view name;
  std::int64_t step = 0;
  /// TraceEvent::sequence.
  std::int64_t sequence = kNoSequence;
  /// The part for a parameter server, where the sum goes over those: values are pushed, or pulled
  /// into `collective.values`.
  ServedPart served = {};
  /// The server makes this step of the sum, for the parameters of this number; null: it only sums.
  std::uint32_t tensor = 0;
  const OptimizerStep* optimizer = nullptr;
  /// Accesses of the collective, of which every part is a piece; empty unless the executor issues
  /// ahead. Valid until the part is reported.
  std::span<const Access> accesses = {};
  /// Number of the part in its step, from 0, among those that its ranks count together: the same on
  /// all of them, also where some launch the step as a whole.
  std::uint64_t number = 0;
  /// There is nothing to run: call inputs_arrived(task) when everything is computed that the
  /// collective would wait for. Do not report it finished. Only for an executor that issues ahead,
  /// which is asked before rank 0 chooses the collective, and before an all-to-all's counts are
  /// read.
  bool asks_for_inputs = false;
};

/// A compute task or part that a device has run.
struct CompletedWork {
  std::int64_t step = 0;
  bool is_part = false;
  std::int64_t part_bytes = 0;
};

/// Thread-safe. After a take that returns nothing, the caller must wait until the executor's wake()
/// lets it take again.
class WorkSource : public OrderSource {
 public:
  /// Reports `finished` tasks, then moves up to `work.size()` ready tasks, most urgent first, to
  /// `work`. Returns their number, which is smaller when other streams need a share.
  virtual std::size_t take_compute(std::span<const TaskId> finished,
                                   std::span<ComputeWork> work) = 0;

  /// Reports the task `finished` of a lane other than the streams' (none if null), then takes the
  /// lane's next one into `work`, which may be the same object. Returns false when there is none.
  /// Only for an executor that runs lanes.
  virtual bool take_lane(TaskLane lane, const ComputeWork* finished, ComputeWork& work) = 0;

  /// Reports the part `finished` (none if null), then takes the next one into `work`, which may be
  /// the same object. Returns false when there is none.
  virtual bool take_part(const PartWork* finished, PartWork& work) = 0;

  /// Like take_part() for parts to pull from parameter servers; take_part() then hands out parts to
  /// push. Only for an executor that has servers.
  virtual bool take_pull(const PartWork* finished, PartWork& work) = 0;

  /// Says that a server has the sum of a part that was handed out to be pushed. Errors: fail().
  virtual void summed(const ServedPart& part) = 0;

  /// Returns whether rank 0 decides the order of collectives and sends it to the others while they
  /// run. Does not change while the executor runs.
  virtual bool order_is_announced() const = 0;
  /// Reports work that has run, for an executor that issues ahead. A part was reported to
  /// take_part() before.
  virtual void completed(std::span<const CompletedWork> work) = 0;
  /// Answers PartWork::asks_for_inputs.
  virtual void inputs_arrived(TaskId collective) = 0;

  /// Also reports work that cannot be carried out: nothing more is handed out, and the submitter
  /// gets the error.
  void fail(Error error) override = 0;
};

/// Numbers of compute tasks (streams) and of parts of collectives (channels) that an executor runs
/// at once; each at least 1.
struct LaneCounts {
  int streams = 1;
  int channels = 1;
  /// There are tasks for the other lanes too, each of which runs one at a time.
  bool is_placed = false;
  /// Parts are pushed to parameter servers and pulled, by as many channels each way.
  bool is_served = false;
};

/// The lanes that only a placed step has.
inline constexpr TaskLane kOtherLanes[] = {TaskLane::host, TaskLane::to_device, TaskLane::to_host};

/// Returns the number of such a lane in traces, where each kind has numbers of its own: the host
/// follows the `streams`, copies to the device are lane 0, copies to the host lane 1.
constexpr std::int32_t traced_lane(TaskLane lane, int streams) {
  return lane == TaskLane::host ? streams : lane == TaskLane::to_device ? 0 : 1;
}

/// Returns the lanes that traces have of such an executor.
constexpr BoardLanes board_lanes(const LaneCounts& lanes) {
  return {.compute = lanes.streams + (lanes.is_placed ? 1 : 0),
          .communication = lanes.channels * (lanes.is_served ? 2 : 1),
          .copy = lanes.is_placed ? 2 : 0};
}

/// Returns the rank at the other end of a message, kNoPeer for other work. `rank` is this one.
inline std::int32_t peer_rank_of(const CollectiveWork& work, const Mesh& mesh, int rank) {
  if (!is_message(work.kind)) return kNoPeer;
  return static_cast<std::int32_t>(
      mesh.rank_at(work.group.axes, rank, static_cast<std::int64_t>(work.peer)));
}

/// Numbers of sleeping streams, channels and channels of pulls to wake, and whether to wake the
/// other lanes, by TaskLane.
struct LaneWakes {
  std::size_t streams = 0, channels = 0, pulls = 0;
  std::array<bool, kTaskLanes> lanes = {};

  bool empty() const { return streams + channels + pulls == 0 && lanes == decltype(lanes){}; }
};

class Executor {
 public:
  virtual ~Executor() = default;

  /// Starts to pull from `source`, which outlives the executor's work. Requires that the executor
  /// was not started, or was stopped since.
  virtual void start(WorkSource& source, TraceSink* trace, const LaneCounts& lanes) = 0;

  /// Lets those that sleep take again. Called without the source's lock.
  virtual void wake(const LaneWakes& wakes) = 0;

  /// Ends all threads when they have finished what they are running; earlier calls of wake() have
  /// no effect afterwards. After a failure, aborts what is blocked. Does nothing when stopped.
  virtual void stop(bool failed) = 0;

  /// Returns whether the executor takes work before its predecessors have run (at the top of this
  /// file). Does not change.
  virtual bool issues_ahead() const { return false; }

  /// Returns whether the executor can run captured steps as a whole (StepWork) and launch the same
  /// ones again; the configuration decides whether it gets them so. Does not change.
  virtual bool runs_whole_steps() const { return false; }

  /// Returns whether the executor runs the lanes of a placed step beside its streams. Does not
  /// change.
  virtual bool runs_lanes() const { return false; }

  /// Returns the number of parameter servers that the executor can sum over; 0: none. Does not
  /// change.
  virtual int servers() const { return 0; }

  /// Place of this process among the ranks.
  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  /// As in RankGrid; 1 where hosts make no difference to collectives.
  virtual int ranks_per_host() const { return 1; }
  /// Returns the axes of the ranks, where the executor runs collectives in groups of them and
  /// messages between two; null otherwise. Does not change.
  virtual const Mesh* mesh() const { return nullptr; }
  /// Returns the collective over which the scheduler may exchange values in the hosts' memory while
  /// the executor runs nothing; null where there is none. Does not change.
  virtual Collective* host_collective() { return nullptr; }
};

}  // namespace hocket
