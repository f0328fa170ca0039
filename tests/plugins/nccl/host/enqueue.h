#pragma once

// The steps of a workload as NCCL 2.28.9 enqueues them: groups, captures and replays, decisions and
// the profiler's events of the host. For the rank's main thread.

#include <memory>
#include <vector>

#include "tests/plugins/nccl/host/device.h"

namespace hocket::nccl_host {

class Enqueuer {
 public:
  Enqueuer(RankContext& context, std::vector<std::unique_ptr<Communicator>>& communicators,
           Device& device);

  /// Runs steps [0, end) of `steps`. Throws Aborted.
  void run(const std::vector<Step>& steps, std::size_t end);

 private:
  /// NCCL's state of a thread. The handle of the collective's call is never cleared.
  struct ApiState {
    enum class Group { none, started, entered };
    int mask = 0, depth = 0;
    Group group = Group::none;
    void *group_event = nullptr, *collective_event = nullptr;
  };
  struct Pending {
    Communicator* communicator;
    std::vector<Task> tasks;
  };

  void run(const Step& step);
  void call(const Step& step);
  void enter_group();
  void leave_group(bool simulates);
  void append(Communicator& communicator, const Task& task);
  Pending& join(Communicator& communicator);
  void start_group_event(Communicator& communicator);
  void start_collective_event(Communicator& communicator, const Task& task);
  void record_group_state(int state, ApiState::Group from, ApiState::Group to);
  void launch_group(bool simulates);
  std::shared_ptr<Plan> decide(const Pending& pending);
  void simulate_alone(Communicator& communicator, const Shape& shape, int pipe_ops);
  void launch(const std::shared_ptr<Plan>& plan);
  void replay(int graph);
  void start_plan_events(Plan& plan);
  void stop_plan_events(Plan& plan);
  void report_launch(const Plan& plan);

  RankContext& context_;
  std::vector<std::unique_ptr<Communicator>>& communicators_;
  Device& device_;
  LoadedProfiler& profiler_;
  ApiState api_;
  int depth_ = 0;  ///< of groups
  bool captures_ = false;
  int graph_ = 0;  ///< that is being captured
  std::vector<Pending> pending_;
  std::vector<std::vector<std::shared_ptr<Plan>>> graphs_;
  /// CUDA's thread for host functions; made with the first replay that needs it.
  std::unique_ptr<Worker> callbacks_;
};

}  // namespace hocket::nccl_host
