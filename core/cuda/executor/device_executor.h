#pragma once

// Runs a schedule on a device: compute tasks on its compute streams, and parts of collectives on
// one stream per channel. It issues ahead (core/scheduler/executor.h): it puts a task into a stream
// as soon as its predecessors are in theirs, and makes the stream wait for predecessors in other
// streams (stream_mapping.h). So a dependency costs the device an event and the host nothing. The
// host learns later, by polling, which work has run, and reports it to the source for credit and
// for the ends of steps. A step that the source hands out as a whole is launched as a graph
// (step_graph.h) and counts as one task here. Copies and tasks of the host of a placed step have
// streams of their own; a task of the host runs when its stream reaches it (host_tasks.h).
//
// Ranks may communicate in groups of axes, of which those of `groups` have been made, and by
// messages. Each rank begins its communications in an order that is part of one order of the job
// (core/scheduler/scheduler.h). A part uses the same channel on all of its ranks, so each stream of
// a channel has its parts in the job's order too. Then no stream can wait for another in a circle,
// although a send waits on the device for its receive: the first part in the job's order that has
// not run waits only for computation and parts that were issued before it, and those have run.
// Counts of an all-to-all are read once the device has run the tasks before it.
//
// Bodies run on the one thread that issues tasks, in the order in which the source hands them out;
// parts of collectives are put into their streams by a second one (exchange_thread.h). They must
// not wait for the device (device_task.h). Values of collectives are in the device's memory and
// must stay there during the step: they must not belong to data in DeviceMemory.
//
// Under order=negotiated, rank 0 chooses among collectives whose inputs the device has computed.
// The other orders are known beforehand, so their collectives are issued ahead like all other work.
//
// The rank's board shows of each stream the first work that had not run when the device was last
// asked, which it is while anything is in flight. Of a step that runs as a graph it shows the step.
//
// When work is in flight and none has completed within the limit, a rank or the device is
// considered dead: the collectives are aborted and the source fails.
//
// start(), stop() and the destructor are for the scheduler; wake() may be called by any thread.

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/cuda/collectives/device_groups.h"
#include "core/cuda/driver/device_driver.h"
#include "core/cuda/executor/device_memory.h"
#include "core/scheduler/executor.h"
#include "core/trace/task_marker.h"

namespace hocket {

class Issuer;

struct DeviceExecutorOptions {
  /// Is told about each task whose work is put onto the device; may be null. Must outlive the
  /// executor.
  TaskMarker* marker = nullptr;
};

class DeviceExecutor final : public Executor {
 public:
  /// All must outlive the executor. `messages` carries rank 0's order between the hosts and has the
  /// same ranks as `groups`; its timeout limits how long anything may run.
  DeviceExecutor(DeviceDriver& driver, DeviceGroups& groups, DeviceMemory& memory,
                 Collective& messages, const Clock& clock,
                 const DeviceExecutorOptions& options = {});
  ~DeviceExecutor() override;

  /// Reports failures to create streams and to open the collectives to `source`. `trace` gets
  /// device times, once work is known to have run; lanes are streams and channels.
  void start(WorkSource& source, TraceSink* trace, const LaneCounts& lanes) override;
  void wake(const LaneWakes& wakes) override;
  void stop(bool failed) override;
  bool issues_ahead() const override { return true; }
  bool runs_whole_steps() const override { return true; }
  bool runs_lanes() const override { return true; }
  int rank() const override { return groups_.rank(); }
  int world_size() const override { return messages_.world_size(); }
  int ranks_per_host() const override { return messages_.ranks_per_host(); }
  const Mesh* mesh() const override { return &groups_.mesh(); }
  Collective* host_collective() override { return &messages_; }

 private:
  /// Runs on the issuing thread until stop().
  void run(const LaneCounts& lanes);
  Result<std::unique_ptr<Issuer>> open(const LaneCounts& lanes);
  Result<void> issue(Issuer& issuer);
  /// Kinds of work that the source may have.
  struct MayTake {
    bool compute = false, parts = false;
    std::array<bool, kTaskLanes> lanes = {};

    bool any_lane() const { return lanes != decltype(lanes){}; }
  };
  Result<void> issue_parts(Issuer& issuer, MayTake& may_take, int& idle_looks);
  /// Moves what wake() has reported into `may_take`. When nothing can be taken, it waits for
  /// wake() or stop(): briefly while the device runs or a part is in hand, else without limit.
  /// Returns false when it is time to stop.
  bool listen(const Issuer& issuer, int idle_looks, MayTake& may_take);

  DeviceDriver& driver_;
  DeviceGroups& groups_;
  DeviceMemory& memory_;
  Collective& messages_;
  const Clock& clock_;
  const DeviceExecutorOptions options_;
  WorkSource* source_ = nullptr;
  TraceSink* trace_ = nullptr;
  std::unique_ptr<LaneBoard> board_;  // null while stopped, and where there is none

  std::mutex mutex_;
  // Guarded by mutex_; written by wake() and stop(), read by the issuing thread.
  MayTake woken_;
  bool stopping_ = false;
  std::condition_variable told_;

  std::vector<std::jthread> threads_;
};

}  // namespace hocket
