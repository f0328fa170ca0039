#pragma once

// One rank's GPU: runs what the main thread enqueues, in order, and meets the other ranks in each
// collective. With run_ahead > 0 that happens on a thread of its own, and the main thread is at
// most so many steps ahead, as with CUDA's streams. Kernels' events are reported by the proxy
// thread. For the rank's main thread.

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tests/plugins/nccl/host/communicator.h"
#include "tests/plugins/nccl/host/model/stream_clocks.h"
#include "tests/plugins/nccl/host/model/task_order.h"
#include "tests/plugins/nccl/host/shared/worker.h"

namespace hocket::nccl_host {

/// A task and the handle of the profiler's event for it.
struct KernelTask {
  Task task;
  void* event = nullptr;
};

/// Collectives that run as one.
struct Launch {
  Shape shape;
  Choice choice;
  std::vector<KernelTask> tasks;
};

/// One group's launch on one communicator. A captured one is launched many times.
struct Plan {
  Communicator* communicator = nullptr;
  std::vector<Launch> launches;
  void* group_event = nullptr;
  bool is_captured = false;
};

class Device {
 public:
  Device(RankContext& context, int communicators);
  /// Runs what is enqueued. All events of kernels have then been reported.
  ~Device();

  /// All functions throw Aborted once the run is aborted.
  void compute(double us);
  /// `before` is called on the device's thread before the plan runs; null: nothing.
  void launch(std::shared_ptr<Plan> plan, std::function<void()> before = nullptr);
  void wait(int communicator);
  void begin_iteration();
  /// Waits for all streams.
  void end_iteration(int iteration);
  /// Waits until all steps have run.
  void synchronize();

 private:
  /// Events of one task's kernel.
  struct KernelEvents {
    void* context;
    void* parent;
    int channels;
    std::uint64_t begin_ns, end_ns;
    std::int64_t not_before_ns;
  };

  void submit(std::function<void()> step);
  void run(Communicator& communicator, const Launch& launch);
  void count(const Communicator& communicator, const Arrival& agreed);
  void report_kernels(const Communicator& communicator, const Launch& launch, double begin_us,
                      double end_us);
  void report_late_kernels(std::size_t remaining);
  void report(const KernelEvents& events);
  void pause_until(double us);
  std::int64_t real_ns(double us) const;
  std::uint64_t gpu_ns(double us) const;

  RankContext& context_;
  std::atomic<bool> is_aborted_{false};

  // For the device's thread.
  StreamClocks clocks_;
  std::vector<std::array<bool, kAlgorithms>> connected_;
  std::vector<std::uint64_t> sequences_;
  std::map<std::pair<Shape, Choice>, int> recorded_;      ///< index in the rank's record
  std::map<std::pair<int, Shape>, Choice> last_choices_;  ///< by communicator and shape
  std::uint64_t computations_ = 0, ran_ = 0;
  std::int64_t anchor_real_ns_ = 0;
  double anchor_us_ = 0;
  std::deque<KernelEvents> late_;

  /// Handles of kernels' events by slot and channel, which NCCL reuses and does not clear. For the
  /// proxy thread.
  std::vector<std::array<void*, 64>> handles_;
  std::size_t next_slot_ = 0;

  std::unique_ptr<Worker> proxy_;
  std::unique_ptr<Worker> stream_;  ///< null: steps run at once
};

}  // namespace hocket::nccl_host
