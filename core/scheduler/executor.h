#pragma once

// The seam between deciding and doing. A WorkSource (the scheduler) hands out work that may run
// now; an Executor runs it and says when it is done. Executors pull, so a thread that finishes one
// task goes on with the next without a hand-over.
//
// An executor that issues ahead (Executor::issues_ahead()) gives work to queues that keep an order
// of their own, those of a device, and need not wait for its end. For it
//  - to be finished means to be issued: take_compute() and take_part() get what was put into the
//    queues, and hand out what waited for that, so no dependency costs a return to the host;
//  - work comes with its accesses. Tasks that conflict are handed out in their order, each after
//    the one before was issued; that they run in this order is the executor's duty;
//  - what has run is told by completed(), from which credits and the ends of steps follow.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/step/task.h"
#include "core/step/task_body.h"
#include "core/trace/trace_sink.h"

namespace hocket {

struct StepWork;  // core/scheduler/whole_step_order.h

/// A compute task that may run now. `body` stays valid until the task is reported finished.
struct ComputeWork {
  TaskId task;
  TaskBody* body = nullptr;
  const std::string_view* name = nullptr;  ///< valid as long
  std::int64_t step = 0;
  /// The task will not run again: its body is to be destroyed when it has run.
  bool once = true;
  /// What the task accesses, for an executor that issues ahead; valid as long as the body.
  std::span<const Access> accesses = {};
  /// If not null: in place of the body, all of this; for an executor that runs whole steps, which
  /// traces it as one task. Valid as long.
  const StepWork* whole_step = nullptr;
};

/// One part of a collective that may run now.
struct PartWork {
  TaskId task;
  /// The collective to perform; `index` counts started parts, from 0.
  CollectiveWork collective;
  /// If not empty, the part's values are these, one after the other, and `collective.values` is
  /// empty. Valid until the part is reported.
  std::span<const std::span<float>> bucket = {};
  /// Counts against the credit window.
  std::int64_t bytes = 0;
  std::string_view name;
  std::int64_t step = 0;
  /// For an executor that issues ahead: what the collective accesses, its parts each a piece of it;
  /// valid until the part is reported.
  std::span<const Access> accesses = {};
  /// Nothing to run: inputs_arrived(task) is to be called when all is computed that the collective
  /// would wait for. Nor is it reported finished. Only for an executor that issues ahead.
  bool asks_for_inputs = false;
};

/// What a device has run: a compute task or a part.
struct CompletedWork {
  std::int64_t step = 0;
  bool is_part = false;
  std::int64_t part_bytes = 0;
};

/// In place of a collective's number: nothing more will start until the executor starts again.
inline constexpr std::uint64_t kEndOfOrder = ~std::uint64_t{0};

/// Thread-safe. A take that returns nothing makes the caller owe a sleep: it must wait until the
/// executor's wake() gives it leave, then take again.
class WorkSource {
 public:
  virtual ~WorkSource() = default;

  /// Reports `finished` tasks, then moves up to `work.size()` ready tasks, most urgent first, to
  /// `work`; returns how many. It gives fewer when other streams want a share.
  virtual std::size_t take_compute(std::span<const TaskId> finished,
                                   std::span<ComputeWork> work) = 0;

  /// Reports the part `finished` (none if null), then takes the next one into `work`, which may be
  /// the same object; false when there is none.
  virtual bool take_part(const PartWork* finished, PartWork& work) = 0;

  /// Whether the order of collectives is rank 0's, told to the others while they run. Does not
  /// change while the executor runs.
  virtual bool order_is_announced() const = 0;
  /// On rank 0, blocks until parts have started since the last call, at most `timeout_ns`, and
  /// gives their collectives in order, for the others; kEndOfOrder last when nothing more will
  /// start. False after a failure: there is nothing to tell.
  virtual bool wait_for_started(std::int64_t timeout_ns,
                                std::vector<std::uint64_t>& collectives) = 0;
  /// On the others: rank 0 started these.
  virtual void announce(std::span<const std::uint64_t> collectives) = 0;

  /// Of an executor that issues ahead: this has run. A part was reported to take_part() before.
  virtual void completed(std::span<const CompletedWork> work) = 0;
  /// The answer to PartWork::asks_for_inputs.
  virtual void inputs_arrived(TaskId collective) = 0;

  /// Something that cannot be carried out. The first error wins: nothing more is handed out, and
  /// the submitter gets it.
  virtual void fail(Error error) = 0;
};

/// How much an executor runs at once; each at least 1.
struct Lanes {
  int streams = 1;   ///< compute tasks
  int channels = 1;  ///< parts of collectives
};

class Executor {
 public:
  virtual ~Executor() = default;

  /// Begins to pull from `source`, which outlives the executor's work. Called by one source, and
  /// again only after stop().
  virtual void start(WorkSource& source, TraceSink* trace, const Lanes& lanes) = 0;

  /// Lets that many sleeping streams and channels take again. Called without the source's lock.
  virtual void wake(std::size_t streams, std::size_t channels) = 0;

  /// Ends all threads, once what they are running is done; no leave that wake() gave is left. After
  /// a failure what is blocked is aborted. Harmless when stopped.
  virtual void stop(bool failed) = 0;

  /// Whether it takes work before what this waits for has run (at the top of this file). Does not
  /// change.
  virtual bool issues_ahead() const { return false; }

  /// Whether it can take captured steps as a whole, the same ones again and again (StepWork); the
  /// configuration says whether it gets them so. Does not change.
  virtual bool runs_whole_steps() const { return false; }

  /// This process's place among the ranks.
  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  /// As RankGrid has it; 1 where hosts mean nothing to collectives.
  virtual int ranks_per_host() const { return 1; }
};

}  // namespace hocket
