#pragma once

// Runs a schedule on the host: compute tasks with a thread per stream, parts of collectives over a
// Collective with a thread per channel. Over parameter servers, a thread per channel pushes parts,
// another one pulls them, and one per server waits for its sums. A step that is placed on a device
// with memory of its own (core/placement/step_placement.h) has a thread more for each of its other
// lanes; so the streams are the device, which this executor emulates.

#include <semaphore.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "core/collective/collective.h"
#include "core/collective/parameter_servers.h"
#include "core/scheduler/executor.h"

namespace hocket {

class HostExecutor final : public Executor {
 public:
  /// `collective`, `clock` and `servers`, which may be null, must outlive the executor.
  HostExecutor(Collective& collective, const Clock& clock, ParameterServers* servers = nullptr)
      : collective_(collective), clock_(clock), servers_(servers) {}
  ~HostExecutor() override;

  void start(WorkSource& source, TraceSink* trace, const LaneCounts& lanes) override;
  void wake(const LaneWakes& wakes) override;
  void stop(bool failed) override;
  bool runs_lanes() const override { return true; }
  int servers() const override { return servers_ ? servers_->servers() : 0; }
  int rank() const override { return collective_.rank(); }
  int world_size() const override { return collective_.world_size(); }
  int ranks_per_host() const override { return collective_.ranks_per_host(); }
  const Mesh* mesh() const override { return &collective_.mesh(); }
  Collective* host_collective() override { return &collective_; }

 private:
  class Semaphore {
   public:
    Semaphore() { sem_init(&semaphore_, 0, 0); }
    ~Semaphore() { sem_destroy(&semaphore_); }
    void acquire();
    void release(std::size_t count);
    void clear();

   private:
    sem_t semaphore_;
  };

  void run_stream(int lane);
  void run_channel(int lane);
  void run_pulls(int lane);
  void await_sums(int server);
  void run_lane(TaskLane lane);
  void run_body(const ComputeWork& task);
  /// Runs a part. `scratch` belongs to the channel.
  Result<void> run_part(const PartWork& part, std::vector<std::byte>& scratch);
  void fail(const PartWork& part, CollectiveKind kind, const Error& error);
  /// Says on the board what a lane begins.
  void show(const TraceEvent& work, std::int32_t peer_rank = kNoPeer);
  void show_waiting(TraceKind kind, int lane);
  TraceEvent part_event(const PartWork& part, CollectiveKind kind, int lane) const;
  /// Shows a part, runs it with `run` and records it.
  template <class Run>
  void carry_out(const PartWork& part, CollectiveKind kind, int lane, const Run& run);
  void run_batch(std::span<ComputeWork> work, int lane);

  Collective& collective_;
  const Clock& clock_;
  ParameterServers* const servers_;
  WorkSource* source_ = nullptr;
  TraceSink* trace_ = nullptr;
  std::unique_ptr<LaneBoard> board_;  // null while stopped, and where there is none
  LaneCounts lanes_;
  std::atomic<bool> stopping_ = false;
  Semaphore stream_leave_, channel_leave_, pull_leave_;
  // by TaskLane; that of streams is unused
  std::array<Semaphore, kTaskLanes> lane_leave_;
  std::vector<std::jthread> threads_;
};

}  // namespace hocket
