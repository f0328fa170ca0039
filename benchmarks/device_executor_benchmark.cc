// Benchmarks the host's own work for a task on a device: bin/device_executor_benchmark
// [--benchmark_filter=…]. Needs no GPU: the driver's calls do nothing and all work has run at once,
// so what remains is placement, memory, events and reports.
//
// Issue: one thread puts steps of 512 tasks into streams and polls once a step. Each stream has a
// chain of tasks, each of which reads the results of the two before. memory:1 means that the
// results are memory that lives within the step, traced:1 that the times of tasks are recorded.
//
// Parts: a step of 128 all-reduces of one part each, whose exchange does nothing, from its launch
// to its end. With ranks:1 the executor's thread puts them into streams itself, with ranks:2 a
// thread of their own does (exchange_thread.h).
//
// Executor: a captured step of the same tasks, from its launch to its end, with the executor's
// thread and the plan.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/check.h"
#include "core/cuda/collectives/device_groups.h"
#include "core/cuda/executor/device_executor.h"
#include "core/cuda/executor/task_issue.h"
#include "core/cuda/streams/device_queues.h"
#include "core/host/local_collective.h"
#include "core/scheduler/scheduler.h"

namespace hocket {
namespace {

constexpr int kTasks = 512;

/// A driver whose calls do nothing.
class IdleDriver final : public DeviceDriver {
 public:
  Result<void> use_device() override { return {}; }
  Result<void> take_launch_error() override { return {}; }
  Result<DeviceStream> create_stream(StreamPriority) override { return DeviceStream{next()}; }
  void destroy_stream(DeviceStream) override {}
  Result<void> synchronize(DeviceStream) override { return {}; }
  Result<DeviceEvent> create_event(EventTiming) override { return DeviceEvent{next()}; }
  void destroy_event(DeviceEvent) override {}
  Result<void> record(DeviceEvent, DeviceStream) override { return {}; }
  Result<void> wait(DeviceStream, DeviceEvent) override { return {}; }
  Result<bool> has_run(DeviceEvent) override { return true; }
  Result<std::int64_t> elapsed_ns(DeviceEvent, DeviceEvent) override { return 1; }
  Result<void*> allocate(std::size_t, DeviceStream) override { return next(); }
  Result<void> free(void*, DeviceStream) override { return {}; }
  Result<void*> allocate_host(std::size_t) override { return next(); }
  void free_host(void*) override {}
  Result<void> copy(void*, const void*, std::size_t, DeviceStream) override { return {}; }
  Result<void> fill_zero(void*, std::size_t, DeviceStream) override { return {}; }
  Result<void> run_on_host(DeviceStream, void (*function)(void*), void* argument) override {
    function(argument);
    return {};
  }
  Result<std::string> bus_id() override { return std::string(); }
  Result<std::int64_t> memory_bytes() override { return std::int64_t{1} << 32; }
  Result<void> begin_capture(DeviceStream) override { return {}; }
  Result<DeviceGraph> end_capture(DeviceStream) override { return DeviceGraph{next()}; }
  Result<void> launch(DeviceGraph, DeviceStream) override { return {}; }
  void destroy_graph(DeviceGraph) override {}

 private:
  void* next() { return reinterpret_cast<void*>(++last_); }

  std::uintptr_t last_ = 0;
};

class IdleTrace final : public TraceSink {
 public:
  void record(const TraceEvent&) override {}
};

/// A step of kTasks tasks in `chains` independent chains. Each task writes a piece of data of its
/// own and reads those of the two tasks before it in its chain.
class ChainedStep {
 public:
  explicit ChainedStep(int chains) {
    for (int i = 0; i < kTasks; ++i) {
      const auto at = [](int task) { return DataId{static_cast<std::uint32_t>(task)}; };
      std::vector<Access>& accesses = accesses_.emplace_back(1, write(at(i)));
      for (int before = 1; before <= 2 && i - before * chains >= 0; ++before)
        accesses.push_back(read(at(i - before * chains)));
    }
  }

  const std::vector<std::vector<Access>>& accesses() const { return accesses_; }
  /// Makes all data live within the step.
  void add_to(DeviceMemory& memory) const {
    std::vector<std::uint32_t> uses(kTasks);
    for (const auto& of_task : accesses_)
      for (const Access& access : of_task) ++uses[access.data.index];
    for (std::uint32_t i = 0; i < kTasks; ++i) memory.add({i}, 4096, uses[i]);
  }

 private:
  std::vector<std::vector<Access>> accesses_;
};

void report_per_task(benchmark::State& state) {
  state.counters["ns_per_task"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kTasks * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void Issue(benchmark::State& state) {
  const int streams = static_cast<int>(state.range(0));
  IdleDriver driver;
  IdleTrace trace;
  const SteadyClock clock;
  SoleRankCollective alone;
  DeviceGroups groups(alone, {});
  DeviceMemory memory(driver);
  const ChainedStep step(streams);
  if (state.range(1) != 0) step.add_to(memory);
  const auto queues = DeviceQueues::open(driver, {.streams = streams, .channels = 1},
                                         state.range(2) != 0 ? &trace : nullptr, clock)
                          .value();
  TaskIssue issue(driver, *queues, memory, groups);
  std::vector<CompletedWork> completed;
  TaskBody body([] {});
  for (auto _ : state) {
    for (const auto& accesses : step.accesses()) {
      DeviceWork work{{TraceKind::compute, 0, "task", 0, 0, 0, 0, {}}};
      HOCKET_CHECK(issue.compute(accesses, body, &work), "a task is issued");
    }
    completed.clear();
    HOCKET_CHECK(queues->poll(completed), "the device answers");
  }
  report_per_task(state);
}
BENCHMARK(Issue)->ArgNames({"streams", "memory", "traced"})->ArgsProduct({{1, 4}, {0, 1}, {0, 1}});

void Executor(benchmark::State& state) {
  const int streams = static_cast<int>(state.range(0));
  IdleDriver driver;
  IdleTrace trace;
  const SteadyClock clock;
  SoleRankCollective alone;
  DeviceGroups groups(alone, {});
  LocalGroup group(1);
  const auto messages = group.join(0);
  DeviceMemory memory(driver);
  const ChainedStep tasks(streams);
  if (state.range(1) != 0) tasks.add_to(memory);
  DeviceExecutor executor(driver, groups, memory, *messages, clock);
  Scheduler scheduler({.streams = streams}, executor,
                      {.trace = state.range(2) != 0 ? &trace : nullptr});
  for (int i = 0; i < kTasks; ++i) scheduler.add_data();
  scheduler.begin_capture();
  for (const auto& accesses : tasks.accesses())
    scheduler.compute({.name = "task"}, accesses, [] {});
  const auto step = scheduler.end_capture();
  for (auto _ : state) {
    HOCKET_CHECK(scheduler.launch(step), "a step is launched");
    HOCKET_CHECK(scheduler.synchronize(), "a step ends");
  }
  report_per_task(state);
}
BENCHMARK(Executor)
    ->ArgNames({"streams", "memory", "traced"})
    ->ArgsProduct({{1, 4}, {0, 1}, {0, 1}})
    ->UseRealTime();

/// Rank 0 of some ranks, which exchange nothing.
class IdleCollective final : public DeviceCollective {
 public:
  explicit IdleCollective(int ranks) : ranks_(ranks) {}
  int rank() const override { return 0; }
  int world_size() const override { return ranks_; }
  Result<void> open(int) override { return {}; }
  Result<void> exchange(CollectiveKind, std::span<const DevicePiece>, int, DeviceStream) override {
    return {};
  }
  Result<void> exchange_messages(std::span<const DeviceMessage>, int, DeviceStream) override {
    return {};
  }
  Result<std::unique_ptr<DeviceCollective>> split(int) override {
    return std::make_unique<IdleCollective>(1);
  }
  Result<void> health() override { return {}; }
  void abort() override {}

 private:
  const int ranks_;
};

void Parts(benchmark::State& state) {
  constexpr int kParts = 128;
  const int ranks = static_cast<int>(state.range(0));
  IdleDriver driver;
  const SteadyClock clock;
  IdleCollective collective(ranks);
  LocalGroup group(ranks);
  const auto messages = group.join(0);
  DeviceGroups groups(collective, messages->mesh());
  DeviceMemory memory(driver);
  DeviceExecutor executor(driver, groups, memory, *messages, clock);
  Scheduler scheduler({}, executor);
  std::vector<float> values(1024);
  scheduler.begin_capture();
  for (int i = 0; i < kParts; ++i)
    scheduler.all_reduce({.name = "gradient"}, scheduler.add_data(), values);
  const auto step = scheduler.end_capture();
  for (auto _ : state) {
    HOCKET_CHECK(scheduler.launch(step), "a step is launched");
    HOCKET_CHECK(scheduler.synchronize(), "a step ends");
  }
  state.counters["ns_per_part"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kParts * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(Parts)->ArgName("ranks")->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace hocket
