// Benchmarks the scheduling core: bin/core_benchmark [--benchmark_filter=…]
//
// Tasks: 1e5 (1e6) empty tasks over 1,024 items, each reading one and updating one, both drawn at
// random with a fixed seed. The measurement includes deriving the dependencies, as it does for
// libgomp's `depend` clauses.

#include <benchmark/benchmark.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "core/host/host_executor.h"
#include "core/host/local_collective.h"
#include "core/plan/plan.h"
#include "core/plan/priority_queue.h"
#include "core/scheduler/communication_schedule.h"
#include "core/scheduler/scheduler.h"

namespace hocket {
namespace {

constexpr std::uint32_t kItems = 1024;

struct Pair {
  std::uint32_t read, updated;
};

std::vector<Pair> task_pairs(std::int64_t tasks) {
  std::mt19937 random(7);
  const auto item = [&] { return static_cast<std::uint32_t>(random() % kItems); };
  std::vector<Pair> made(static_cast<std::size_t>(tasks));
  for (auto& pair : made) pair = {item(), item()};
  return made;
}

void report_per_task(benchmark::State& state) {
  state.counters["ns_per_task"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * static_cast<double>(state.range(0)) * 1e-9,
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// A scheduler with `streams` streams and kItems items.
struct Rig {
  explicit Rig(int streams)
      : executor(*collective, clock), scheduler({.streams = streams}, executor) {
    for (auto& item : items) item = scheduler.add_data();
  }
  void submit(const std::vector<Pair>& pairs) {
    for (const auto& [r, u] : pairs)
      scheduler.compute({}, {read(items[r]), update(items[u])}, [] {});
  }

  SteadyClock clock;
  LocalGroup group{1};
  std::unique_ptr<Collective> collective = group.join(0);
  HostExecutor executor;
  Scheduler scheduler;
  std::vector<DataId> items = std::vector<DataId>(kItems);
};

/// Scheduler and host executor: submits, derives, runs on the given number of streams, and waits
/// for the last task.
void BM_Scheduler(benchmark::State& state) {
  const auto pairs = task_pairs(state.range(0));
  Rig rig(static_cast<int>(state.range(1)));
  for (auto _ : state) {
    rig.submit(pairs);
    benchmark::DoNotOptimize(rig.scheduler.synchronize());
  }
  report_per_task(state);
}
BENCHMARK(BM_Scheduler)
    ->Args({100'000, 1})
    ->Args({100'000, 2})
    ->Args({1'000'000, 1})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// Launches the same tasks, captured once.
void BM_SchedulerLaunch(benchmark::State& state) {
  const auto pairs = task_pairs(state.range(0));
  Rig rig(static_cast<int>(state.range(1)));
  rig.scheduler.begin_capture();
  rig.submit(pairs);
  const auto step = rig.scheduler.end_capture();
  for (auto _ : state) {
    benchmark::DoNotOptimize(rig.scheduler.launch(step));
    benchmark::DoNotOptimize(rig.scheduler.synchronize());
  }
  report_per_task(state);
}
BENCHMARK(BM_SchedulerLaunch)
    ->Args({100'000, 1})
    ->Args({100'000, 2})
    ->Args({1'000'000, 1})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// Reconfigures an idle scheduler. With `restarts` it changes the numbers of streams and channels,
/// otherwise the partition and the credit.
void BM_Reconfigure(benchmark::State& state) {
  const bool restarts = state.range(0);
  Rig rig(1);
  ScheduleConfig configs[2];
  if (restarts) {
    configs[1].streams = configs[1].comm_channels = 2;
  } else {
    configs[1].partition_bytes /= 2, configs[1].credit_bytes /= 2;
  }
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(rig.scheduler.reconfigure(configs[++i % 2]));
}
BENCHMARK(BM_Reconfigure)
    ->ArgName("restarts")
    ->Arg(0)
    ->Arg(1)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

/// Takes and finishes tasks in batches, as a stream of tiny tasks does.
void run_all(Plan& plan) {
  std::array<TaskId, 64> batch;
  for (std::size_t taken = 1; taken > 0;) {
    taken = 0;
    while (taken < batch.size()) {
      const auto task = plan.next_compute();
      if (!task) break;
      batch[taken++] = *task;
    }
    plan.finish_computes({batch.data(), taken});
  }
}

/// The plan's decisions alone, on one thread: submits all tasks, then runs all.
void BM_Plan(benchmark::State& state) {
  const auto pairs = task_pairs(state.range(0));
  Plan plan({.partition_bytes = 1 << 20, .credit_bytes = 1 << 20});
  std::vector<DataId> items(kItems);
  for (auto& item : items) item = plan.add_data();
  for (auto _ : state) {
    for (const auto& [r, u] : pairs) {
      const Access accesses[] = {read(items[r]), update(items[u])};
      plan.submit_compute({}, accesses);
    }
    run_all(plan);
  }
  report_per_task(state);
}
BENCHMARK(BM_Plan)->Arg(100'000)->Arg(1'000'000)->UseRealTime()->Unit(benchmark::kMillisecond);

/// The plan's decisions alone, for a captured step.
void BM_PlanLaunch(benchmark::State& state) {
  std::vector<CapturedStep::Task> tasks;
  for (const auto& [r, u] : task_pairs(state.range(0)))
    tasks.push_back({"", 0, false, 0, {read(DataId{r}), update(DataId{u})}});
  const auto step = std::make_shared<const CapturedStep>(std::move(tasks));
  Plan plan({.partition_bytes = 1 << 20, .credit_bytes = 1 << 20});
  for (auto _ : state) {
    plan.launch(step);
    run_all(plan);
  }
  report_per_task(state);
}
BENCHMARK(BM_PlanLaunch)
    ->Arg(100'000)
    ->Arg(1'000'000)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// A framework's step on one thread: every tensor is announced, ready, taken part by part and
/// waited for. Argument: parts of each tensor.
void BM_CommunicationSchedule(benchmark::State& state) {
  constexpr std::uint32_t kTensors = 100;
  constexpr std::int64_t kPartBytes = 1 << 16;
  const SteadyClock clock;
  CommunicationScheduleOptions options{.clock = clock};
  options.config.order = CollectiveOrder::negotiated;
  options.config.partition_bytes = kPartBytes;
  CommunicationSchedule schedule(options);
  for (std::uint32_t i = 0; i < kTensors; ++i)
    (void)schedule.add({std::to_string(i), kPartBytes * state.range(0), i});
  std::int64_t parts = 0;
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < kTensors; ++i) (void)schedule.enqueue(i);
    for (std::uint32_t i = kTensors; i-- > 0;) {
      (void)schedule.notify_ready(i);
      while (const auto part = *schedule.next(0)) {
        (void)schedule.notify_finish(*part);
        ++parts;
      }
    }
    for (std::uint32_t i = 0; i < kTensors; ++i) (void)schedule.wait(i, 0);
    (void)schedule.end_step();
  }
  state.counters["ns_per_part"] = benchmark::Counter(
      static_cast<double>(parts) * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_CommunicationSchedule)->Arg(1)->Arg(16)->UseRealTime()->Unit(benchmark::kMicrosecond);

/// The same dependencies as OpenMP tasks.
void BM_LibgompDepend(benchmark::State& state) {
  const auto pairs = task_pairs(state.range(0));
  std::vector<char> items(kItems);
  char* item = items.data();
  for (auto _ : state) {
#pragma omp parallel num_threads(static_cast <int>(state.range(1)))
#pragma omp single
    for (const auto& [r, u] : pairs) {
      // libgomp treats the same address in two clauses as one dependence, so r == u is fine.
#pragma omp task depend(in : item[r]) depend(inout : item[u]) default(none) firstprivate(item)
      benchmark::DoNotOptimize(item);
    }
  }
  report_per_task(state);
}
BENCHMARK(BM_LibgompDepend)
    ->Args({100'000, 1})
    ->Args({100'000, 2})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

constexpr std::uint32_t kQueued = 100'000;
constexpr std::uint32_t kPriorities = 1024;

/// Pops the first entry and pushes it again with another priority, with 1e5 entries queued.
void BM_BucketQueue(benchmark::State& state) {
  std::mt19937 random(7);
  BucketQueue queue;
  std::vector<std::uint32_t> links(kQueued);
  const auto next = [&](std::uint32_t slot) -> std::uint32_t& { return links[slot]; };
  for (std::uint32_t slot = 0; slot < kQueued; ++slot)
    queue.push(random() % kPriorities, slot, next);
  std::vector<std::uint32_t> priorities(1 << 16);
  for (auto& priority : priorities) priority = random() % kPriorities;
  std::size_t i = 0;
  for (auto _ : state) {
    const std::uint32_t slot = queue.pop(next);
    queue.push(priorities[i++ % priorities.size()], slot, next);
  }
}
BENCHMARK(BM_BucketQueue);

/// Baseline: the standard heap with the same work.
void BM_StdPriorityQueue(benchmark::State& state) {
  std::mt19937 random(7);
  using Entry = std::pair<std::uint32_t, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (std::uint32_t slot = 0; slot < kQueued; ++slot) queue.emplace(random() % kPriorities, slot);
  std::vector<std::uint32_t> priorities(1 << 16);
  for (auto& priority : priorities) priority = random() % kPriorities;
  std::size_t i = 0;
  for (auto _ : state) {
    const auto slot = queue.top().second;
    queue.pop();
    queue.emplace(priorities[i++ % priorities.size()], slot);
  }
}
BENCHMARK(BM_StdPriorityQueue);

}  // namespace
}  // namespace hocket
