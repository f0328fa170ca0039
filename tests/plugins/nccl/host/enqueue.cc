#include "tests/plugins/nccl/host/enqueue.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace hocket::nccl_host {
namespace {

/// Events that need the event which stands for what they belong to.
constexpr int kBelowCollective = kCollective | kProxyOp | kProxyStep | kKernelChannel | kNetPlugin;
constexpr int kBelowGroup = kBelowCollective | kGroup | kPointToPoint;
constexpr int kBelowCollectiveApi = kBelowCollective | kCollectiveApi;
constexpr int kBelowGroupApi =
    kBelowGroup | kGroupApi | kCollectiveApi | kPointToPointApi | kKernelLaunch;

/// Any address stands for a buffer or stream.
char some_memory;

/// Returns the mask of the first task that has one.
int mask_of(const Plan& plan) {
  for (const Launch& launch : plan.launches) {
    for (const KernelTask& task : launch.tasks) {
      if (task.task.mask != 0) return task.task.mask;
    }
  }
  return 0;
}

}  // namespace

Enqueuer::Enqueuer(RankContext& context, std::vector<std::unique_ptr<Communicator>>& communicators,
                   Device& device)
    : context_(context),
      communicators_(communicators),
      device_(device),
      profiler_(context.profiler),
      graphs_(context.options.workload.graphs) {}

void Enqueuer::run(const std::vector<Step>& steps, std::size_t end) {
  for (std::size_t i = 0; i < end; ++i) run(steps[i]);
}

void Enqueuer::run(const Step& step) {
  switch (step.kind) {
    case StepKind::compute:
      return device_.compute(step.compute_us);
    case StepKind::collective:
      return call(step);
    case StepKind::wait:
      return device_.wait(step.communicator);
    case StepKind::group:
      return enter_group();
    case StepKind::group_end:
      return leave_group(false);
    case StepKind::simulate_end:
      return leave_group(true);
    case StepKind::capture:
      captures_ = true;
      graph_ = step.graph;
      return;
    case StepKind::capture_end:
      captures_ = false;
      return;
    case StepKind::replay:
      return replay(step.graph);
  }
}

void Enqueuer::call(const Step& step) {
  Communicator& communicator = *communicators_[step.communicator];
  if (api_.depth > 0) ++api_.depth;
  enter_group();
  const Task task = task_of(step, communicator.ranks());
  // With one rank NCCL copies, and with nothing to send it returns.
  if (task.count > 0 && communicator.ranks() > 1) append(communicator, task);
  leave_group(false);
}

void Enqueuer::enter_group() {
  ++depth_;
}

void Enqueuer::leave_group(bool simulates) {
  if (api_.depth > 0) --api_.depth;
  if (api_.depth == 0) {
    record_group_state(kGroupEndApiStart, ApiState::Group::entered, ApiState::Group::none);
  }
  if (--depth_ == 0) launch_group(simulates);
  if (api_.group_event != nullptr && api_.depth == 0) {
    profiler_.stop(std::exchange(api_.group_event, nullptr));
  }
}

void Enqueuer::append(Communicator& communicator, const Task& task) {
  start_group_event(communicator);
  record_group_state(kGroupStartApiStop, ApiState::Group::started, ApiState::Group::entered);
  start_collective_event(communicator, task);
  Task& added = join(communicator).tasks.emplace_back(task);
  added.mask = api_.mask;
  added.api_event = api_.collective_event;
  if (api_.collective_event != nullptr) profiler_.stop(api_.collective_event);
}

Enqueuer::Pending& Enqueuer::join(Communicator& communicator) {
  // Communicators of a group ascend by their ids.
  auto at = pending_.begin();
  while (at != pending_.end() && at->communicator->id() < communicator.id()) ++at;
  if (at == pending_.end() || at->communicator != &communicator) {
    at = pending_.insert(at, {&communicator, {}});
  }
  return *at;
}

void Enqueuer::start_group_event(Communicator& communicator) {
  api_.mask = profiler_.mask();
  if (!profiler_.is_loaded() || (api_.mask & kBelowGroupApi) == 0 || api_.depth > 0) return;
  EventV5 event = {};
  event.type = kGroupApi;
  event.group_api = {captures_, depth_};
  profiler_.start(communicator.profiler_context(), &api_.group_event, event);
  api_.depth = depth_;
  api_.group = ApiState::Group::started;
}

void Enqueuer::start_collective_event(Communicator& communicator, const Task& task) {
  if (!profiler_.is_loaded() || (api_.mask & kBelowCollectiveApi) == 0) return;
  EventV5 event = {};
  event.type = kCollectiveApi;
  event.parent = api_.group_event;
  event.collective_api = {.function = function_name(task.function),
                          .count = task.count,
                          .datatype = task.datatype.name,
                          .root = 0,
                          .stream = &some_memory,
                          .captured = captures_};
  profiler_.start(communicator.profiler_context(), &api_.collective_event, event);
}

void Enqueuer::record_group_state(int state, ApiState::Group from, ApiState::Group to) {
  if (api_.group != from) return;
  api_.group = to;
  if (api_.group_event != nullptr) profiler_.record_state(api_.group_event, state, nullptr);
}

void Enqueuer::launch_group(bool simulates) {
  std::vector<std::shared_ptr<Plan>> plans;
  for (const Pending& pending : pending_) plans.push_back(decide(pending));
  pending_.clear();
  if (simulates) {
    for (const auto& plan : plans) context_.record.simulated += plan->launches.size();
    return;
  }
  for (const auto& plan : plans) launch(plan);
}

std::shared_ptr<Plan> Enqueuer::decide(const Pending& pending) {
  Communicator& communicator = *pending.communicator;
  auto plan = std::make_shared<Plan>();
  plan->communicator = &communicator;
  plan->is_captured = captures_;
  const int channels = context_.model.max_channels();
  const int pipe_ops = (static_cast<int>(pending.tasks.size()) + channels - 1) / channels;
  for (const Aggregate& aggregate : aggregates(pending.tasks, communicator.ranks())) {
    Launch launch;
    launch.shape = {aggregate.tasks[0].function, aggregate.bytes, communicator.ranks(),
                    communicator.nodes()};
    simulate_alone(communicator, launch.shape, pipe_ops);
    launch.choice = communicator.decide(launch.shape, pipe_ops);
    for (const Task& task : aggregate.tasks) launch.tasks.push_back({.task = task});
    plan->launches.push_back(std::move(launch));
  }
  return plan;
}

void Enqueuer::simulate_alone(Communicator& communicator, const Shape& shape, int pipe_ops) {
  for (const Fault& fault : context_.options.faults) {
    if (fault.kind != FaultKind::extra_call || fault.rank != context_.rank) continue;
    if (fault.call != context_.record.decisions) continue;
    communicator.decide(shape, pipe_ops);
    ++context_.record.simulated;
  }
}

void Enqueuer::launch(const std::shared_ptr<Plan>& plan) {
  report_launch(*plan);
  if (captures_) {
    graphs_[graph_].push_back(plan);
    return;
  }
  start_plan_events(*plan);
  device_.launch(plan);
  stop_plan_events(*plan);
}

void Enqueuer::report_launch(const Plan& plan) {
  if (!profiler_.is_loaded() || (mask_of(plan) & kKernelLaunch) == 0) return;
  EventV5 event = {};
  event.type = kKernelLaunch;
  event.parent = api_.group_event;
  event.kernel_launch.stream = &some_memory;
  void* handle = nullptr;
  profiler_.start(plan.communicator->profiler_context(), &handle, event);
  if (handle != nullptr) profiler_.stop(handle);
}

void Enqueuer::replay(int graph) {
  for (const auto& plan : graphs_[graph]) {
    context_.record.replayed += plan->launches.size();
    // Only with kernels' events does a replay have host work, which CUDA calls from its own thread.
    // Handles of an earlier replay are not cleared.
    std::function<void()> before;
    if (profiler_.is_loaded() && (mask_of(*plan) & kKernelChannel) != 0) {
      if (callbacks_ == nullptr) callbacks_ = std::make_unique<Worker>();
      before = [this, plan] {
        callbacks_->add([this, plan] {
          start_plan_events(*plan);
          stop_plan_events(*plan);
        });
        callbacks_->wait_until_at_most(0);
      };
    }
    device_.launch(plan, std::move(before));
  }
}

void Enqueuer::start_plan_events(Plan& plan) {
  Communicator& communicator = *plan.communicator;
  if (profiler_.is_loaded() && (mask_of(plan) & kBelowGroup) != 0) {
    EventV5 event = {};
    event.type = kGroup;
    profiler_.start(communicator.profiler_context(), &plan.group_event, event);
  }
  for (Launch& launch : plan.launches) {
    for (KernelTask& task : launch.tasks) {
      const bool reports = profiler_.is_loaded() && (task.task.mask & kBelowCollective) != 0;
      std::atomic<std::uint64_t>& sequence = communicator.sequence(task.task.function);
      if (reports) {
        EventV5 event = {};
        event.type = kCollective;
        event.parent = task.task.api_event;
        event.rank = communicator.rank();
        event.collective = {.sequence = sequence,
                            .function = function_name(task.task.function),
                            .send = &some_memory,
                            .receive = &some_memory,
                            .count = task.task.count,
                            .root = 0,
                            .datatype = task.task.datatype.name,
                            .channels = static_cast<std::uint8_t>(launch.choice.channels),
                            .warps = 16,
                            .algorithm = algorithm_name(launch.choice.algorithm),
                            .protocol = protocol_name(launch.choice.protocol),
                            .parent_group = plan.group_event};
        profiler_.start(communicator.profiler_context(), &task.event, event);
        std::this_thread::sleep_for(
            std::chrono::duration<double, std::micro>(context_.options.event_us));
      }
      if (!plan.is_captured || reports) ++sequence;
    }
  }
}

void Enqueuer::stop_plan_events(Plan& plan) {
  for (Launch& launch : plan.launches) {
    for (KernelTask& task : launch.tasks) {
      if (task.event != nullptr) profiler_.stop(task.event);
    }
  }
  if (plan.group_event != nullptr) profiler_.stop(plan.group_event);
}

}  // namespace hocket::nccl_host
