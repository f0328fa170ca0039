// What the scheduling core costs: bin/core_benchmark [--benchmark_filter=…]
//
// Tasks: 1e5 empty tasks over 1,024 items, each reading one and updating one, both drawn at random
// with a fixed seed. Deriving the dependencies is part of what is measured, as it is for libgomp's
// `depend` clauses.

#include <benchmark/benchmark.h>
#include <omp.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <vector>

#include "core/bucket_queue.h"
#include "core/host/host_executor.h"
#include "core/host/local_collective.h"
#include "core/plan.h"
#include "core/scheduler.h"

namespace hocket {
namespace {

constexpr int kTasks = 100'000;
constexpr std::uint32_t kItems = 1024;

struct Pair {
  std::uint32_t read, updated;
};

const std::vector<Pair>& task_pairs() {
  static const std::vector<Pair> pairs = [] {
    std::mt19937 random(7);
    const auto item = [&] { return static_cast<std::uint32_t>(random() % kItems); };
    std::vector<Pair> made(kTasks);
    for (auto& pair : made) pair = {item(), item()};
    return made;
  }();
  return pairs;
}

void report_per_task(benchmark::State& state) {
  state.counters["ns_per_task"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kTasks * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// Scheduler and host executor: submit, derive, run on `streams` threads, wait for the last.
void BM_Scheduler(benchmark::State& state) {
  const int streams = static_cast<int>(state.range(0));
  SteadyClock clock;
  LocalGroup group(1);
  const auto collective = group.join(0);
  HostExecutor executor({.streams = streams, .channels = 1}, *collective, clock);
  {
    Scheduler scheduler({.streams = streams}, executor);
    std::vector<DataId> items(kItems);
    for (auto& item : items) item = scheduler.add_data();
    for (auto _ : state) {
      for (const auto& [r, u] : task_pairs())
        scheduler.compute({}, {read(items[r]), update(items[u])}, [] {});
      benchmark::DoNotOptimize(scheduler.synchronize());
    }
  }
  report_per_task(state);
}
BENCHMARK(BM_Scheduler)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

/// The decisions alone, on one thread.
void BM_Plan(benchmark::State& state) {
  Plan plan({.partition_bytes = 1 << 20, .credit_bytes = 1 << 20});
  std::vector<DataId> items(kItems);
  for (auto& item : items) item = plan.add_data();
  for (auto _ : state) {
    for (const auto& [r, u] : task_pairs()) {
      const Access accesses[] = {read(items[r]), update(items[u])};
      plan.submit_compute(0, accesses);
    }
    while (const auto task = plan.next_compute()) plan.finish_compute(*task);
  }
  report_per_task(state);
}
BENCHMARK(BM_Plan)->UseRealTime()->Unit(benchmark::kMillisecond);

/// The same graph as OpenMP tasks.
void BM_LibgompDepend(benchmark::State& state) {
  std::vector<char> items(kItems);
  char* item = items.data();
  for (auto _ : state) {
#pragma omp parallel num_threads(static_cast <int>(state.range(0)))
#pragma omp single
    for (const auto& [r, u] : task_pairs()) {
      // libgomp treats the same address in two clauses as one dependence, so r == u is fine.
#pragma omp task depend(in : item[r]) depend(inout : item[u]) default(none) firstprivate(item)
      benchmark::DoNotOptimize(item);
    }
  }
  report_per_task(state);
}
BENCHMARK(BM_LibgompDepend)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

constexpr std::uint32_t kQueued = 100'000;
constexpr std::uint32_t kPriorities = 1024;

/// Pop the first, push it again with another priority, 1e5 queued.
void BM_BucketQueue(benchmark::State& state) {
  std::mt19937 random(7);
  BucketQueue queue;
  for (std::uint32_t slot = 0; slot < kQueued; ++slot) queue.push(random() % kPriorities, slot);
  std::vector<std::uint32_t> priorities(1 << 16);
  for (auto& priority : priorities) priority = random() % kPriorities;
  std::size_t i = 0;
  for (auto _ : state) queue.push(priorities[i++ % priorities.size()], queue.pop());
}
BENCHMARK(BM_BucketQueue);

/// The peer: the standard heap, same work.
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
