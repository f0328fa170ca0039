// Benchmarks the simulator: bin/simulator_benchmark [--benchmark_filter=…]
//
// `events` counts ends of tasks, begins and ends of transfers, and ends of parts over all simulated
// ranks; `ns_per_event` is real time divided by that.

#include <benchmark/benchmark.h>

#include <iterator>
#include <string>

#include "core/base/json.h"
#include "core/sim/partition_search/partition_search.h"
#include "core/sim/simulator.h"
#include "examples/steps/pipelines.h"

namespace hocket {
namespace {

void run(benchmark::State& state, const StepDescription& step, const SimulationOptions& options) {
  std::int64_t events = 0;
  for (auto _ : state) {
    const auto result = simulate(step, options);
    if (!result) return state.SkipWithError(result.error().message.c_str());
    events += result->events;
  }
  state.counters["events"] = static_cast<double>(events) / static_cast<double>(state.iterations());
  state.counters["ns_per_event"] =
      benchmark::Counter(static_cast<double>(events) * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// Returns a step of layers that each compute and communicate for about the same time.
StepDescription chain(std::int64_t layers) {
  StepDescription step;
  for (std::int64_t i = 0; i < layers; ++i)
    step.layers.push_back({"layer", 1 << 20, 40'000, 80'000});
  step.collective = {2000, 0.1, 5000};
  return step;
}

/// Chooses the number of parts such that four iterations have about range(0) events.
void BM_Events(benchmark::State& state) {
  constexpr std::int64_t kLayers = 10, kIterations = 4, kEventsAPart = 3;
  auto step = chain(kLayers);
  const std::int64_t parts = state.range(0) / (kEventsAPart * kIterations * kLayers);
  SimulationOptions options;
  options.iterations = kIterations;
  options.config.partition_bytes = 65'536;
  options.config.credit_bytes = 1 << 20;
  options.config.order = CollectiveOrder::negotiated;
  for (StepLayer& layer : step.layers) layer.parameter_bytes = parts * 65'536;
  run(state, step, options);
}
BENCHMARK(BM_Events)
    ->RangeMultiplier(10)
    ->Range(1000, 10'000'000)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

/// Steps of range(0) computations without communication.
void BM_Computations(benchmark::State& state) {
  StepDescription step;
  for (std::int64_t i = 0; i < state.range(0) / 2; ++i)
    step.layers.push_back({"layer", 0, 1000, 2000});
  run(state, step, {});
}
BENCHMARK(BM_Computations)->Arg(1000)->Arg(100'000)->UseRealTime()->Unit(benchmark::kMicrosecond);

/// VGG16 of examples/steps on range(0) identical ranks.
void BM_FoldedVgg16(benchmark::State& state) {
  const auto text = read_file(HOCKET_STEPS "/vgg16.json");
  if (!text) return state.SkipWithError(text.error().message.c_str());
  auto step = parse_step_description(*text);
  if (!step) return state.SkipWithError(step.error().message.c_str());
  step->ranks = state.range(0);
  step->ranks_per_host = 8;
  step->cluster = Cluster{{3e10, 2000}, {1.25e9, 10'000}, CollectiveAlgorithm::automatic};
  SimulationOptions options;
  options.config.order = CollectiveOrder::negotiated;
  run(state, *step, options);
}
BENCHMARK(BM_FoldedVgg16)->Arg(16)->Arg(65'536)->UseRealTime()->Unit(benchmark::kMicrosecond);

/// range(0) ranks that all differ, with 8,000 operations each: 3,500 forward passes, 3,500 backward
/// passes and 1,000 all-reduces.
void BM_HeterogeneousRanks(benchmark::State& state) {
  StepDescription step;
  for (int i = 0; i < 3500; ++i)
    step.layers.push_back({"layer", i % 7 < 2 ? 1 << 20 : 0, 100'000, 200'000});
  step.collective = {1000, 0.1, 500};
  step.ranks = state.range(0);
  for (std::int64_t rank = 0; rank < step.ranks; ++rank) {
    // Spreads the scales over the ranks in no order: 7 and 1,024 have no common factor.
    step.rank_compute_scale.push_back(1 + 1e-4 * static_cast<double>(rank * 7 % step.ranks));
  }
  run(state, step, {});
}
BENCHMARK(BM_HeterogeneousRanks)
    ->Arg(16)
    ->Arg(1024)
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// 1,024 ranks: eight replicas of a pipeline of 16 stages with 64 micro-batches, each stage on the
/// eight ranks of a host. Each computation is followed by an all-reduce on that host, and each step
/// by one among the replicas. range(0): the number of ranks that are slower, each by its own share.
void BM_Pipelines(benchmark::State& state) {
  constexpr PipelineShape kShape{.stages = 16, .micro_batches = 64};
  StepDescription step;
  step.mesh = {{"pipeline", kShape.stages}, {"data", 8}, {"tensor", 8}};
  step.ranks = 1024;
  step.ranks_per_host = 8;
  step.cluster = Cluster{{3e11, 1000}, {5e10, 5000}, CollectiveAlgorithm::ring};
  add_pipeline(step, kShape, {1'000'000, 2'000'000}, 8 << 20, 256 << 20);
  if (state.range(0) != 0) {
    step.rank_compute_scale.resize(1024, 1);
    for (std::size_t i = 0; i < static_cast<std::size_t>(state.range(0)); ++i)
      step.rank_compute_scale[i * 7 % 1024] += 1e-4 * static_cast<double>(i + 1);
  }
  SimulationOptions options;
  options.config.order = CollectiveOrder::static_order;
  run(state, step, options);
}
BENCHMARK(BM_Pipelines)->Arg(0)->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);

/// Chooses the partitioning of a step of 1,002 tasks on two hosts, where no configuration hides all
/// communication: the search uses up its events. range(0): whether the costs of collectives come
/// from links.
void BM_ChoosePartition(benchmark::State& state) {
  auto step = chain(334);
  for (std::size_t i = 0; i < step.layers.size(); ++i)
    step.layers[i].parameter_bytes = static_cast<std::int64_t>(i % 7 + 1) << 20;
  step.collective = {2000, 0.04, 5000};
  step.ranks = 16;
  step.ranks_per_host = 8;
  if (state.range(0) != 0)
    step.cluster = Cluster{{3e11, 1000}, {3e10, 10'000}, CollectiveAlgorithm::automatic};
  std::int64_t events = 0, considered = 0;
  for (auto _ : state) {
    const auto choice = choose_partition(step, {});
    if (!choice) return state.SkipWithError(choice.error().message.c_str());
    events = choice->events;
    considered = std::ssize(choice->rejected) + 1;
  }
  state.counters["events"] = static_cast<double>(events);
  state.counters["considered"] = static_cast<double>(considered);
}
BENCHMARK(BM_ChoosePartition)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hocket
