#pragma once

// Runs a schedule on a device: compute tasks on its streams, parts of collectives on a stream a
// channel. It issues ahead (core/scheduler/executor.h): a task is put into a stream as soon as
// those that it waits for are in theirs, behind waits for these where they are on other streams
// (stream_mapping.h). So a dependency costs the device an event and the host nothing; the host
// hears of what has run later, by asking, and tells the source for its credits and steps. A step
// that comes as a whole is launched as a graph (step_graph.h), and is one task to all of this.
//
// Bodies run on the one thread that puts everything into streams, in the order in which the source
// hands it out, and must not wait for the device (device_task.h). Values of collectives are in the
// device's memory and stay there while the step runs: they must not be of data in DeviceMemory.
//
// Under order=negotiated rank 0 chooses among collectives whose inputs the device has computed; the
// other orders are known beforehand, and put into streams ahead like everything else.
//
// When nothing at all has run for the limit while something should, a rank or the device is taken
// for dead: the collectives are aborted and the source fails.

#include <condition_variable>
#include <cstdint>
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

struct DeviceExecutorOptions {
  /// Told what is put onto the device, and whose it is; may be null. Outlives the executor.
  TaskMarker* marker = nullptr;
};

class DeviceExecutor final : public Executor {
 public:
  /// All must outlive the executor. `messages` carries rank 0's order between the hosts, and has
  /// the ranks of `groups`; nothing can run for longer than its limit.
  DeviceExecutor(DeviceDriver& driver, DeviceGroups& groups, DeviceMemory& memory,
                 Collective& messages, const Clock& clock,
                 const DeviceExecutorOptions& options = {});
  ~DeviceExecutor() override;

  /// Failures to make streams and to open the collective are the source's. `trace` gets the times
  /// of the device, once it is known that something has run; lanes are streams and channels.
  void start(WorkSource& source, TraceSink* trace, const Lanes& lanes) override;
  void wake(std::size_t streams, std::size_t channels) override;
  void stop(bool failed) override;
  bool issues_ahead() const override { return true; }
  bool runs_whole_steps() const override { return true; }
  int rank() const override { return groups_.rank(); }
  int world_size() const override { return messages_.world_size(); }
  int ranks_per_host() const override { return messages_.ranks_per_host(); }

 private:
  /// The issuing thread.
  Result<void> run(const Lanes& lanes);
  /// Takes what wake() has told into `may_take_…`; when neither is set, waits for it, while the
  /// device runs a short moment or not at all. False when it is time to stop.
  bool listen(bool device_runs, int idle_looks, bool& may_take_compute, bool& may_take_parts);

  DeviceDriver& driver_;
  DeviceGroups& groups_;
  DeviceMemory& memory_;
  Collective& messages_;
  const Clock& clock_;
  const DeviceExecutorOptions options_;
  WorkSource* source_ = nullptr;
  TraceSink* trace_ = nullptr;

  std::mutex mutex_;
  // Guarded by mutex_: what wake() and stop() tell the issuing thread.
  bool streams_woken_ = false, channels_woken_ = false;
  bool stopping_ = false;
  std::condition_variable told_;

  std::vector<std::jthread> threads_;
};

}  // namespace hocket
