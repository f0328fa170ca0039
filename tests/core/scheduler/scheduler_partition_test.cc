// Schedulers whose configuration partitions steps: a job computes the same values under any
// configuration. All values are small integers, so sums do not depend on their order.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "tests/core/host/ranks.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kRows = 96, kColumns = 32;  // shape of a layer's parameters
constexpr std::size_t kLayerValues = kRows * kColumns;

/// Work of a job; the same on every rank.
struct LayeredSteps {
  int layers = 4, steps = 5, ranks_per_host = 1;
  int micro_batches = 1;
  /// Gradients are scattered, and each rank updates its block of the parameters.
  bool shards = false;
  bool captures = false;
  /// Step before which the configuration changes.
  int change_before = -1;
  ScheduleConfig changed = {};
  /// Step with an additional task, and step without its last layer.
  int other_step = -1, short_step = -1;
};

TaskPlace place_of(const std::string& region, std::uint32_t micro_batch,
                   std::vector<Dimension> dimensions = {}) {
  return {region, micro_batch, std::move(dimensions)};
}

/// One rank of the job.
class RankOfSteps {
 public:
  RankOfSteps(const LayeredSteps& job, const ScheduleConfig& config, Collective& collective)
      : job_(job), executor_(collective, clock_), scheduler_(config, executor_) {
    for (int i = 0; i < job.layers; ++i) add_layer(i);
    activation_ = scheduler_.add_data();
  }

  Result<void> run() {
    if (job_.captures) {
      scheduler_.begin_capture();
      submit(job_.layers);
      const auto step = scheduler_.end_capture();
      for (int i = 0; i < job_.steps; ++i) {
        if (auto ok = change(i); !ok) return ok;
        if (auto ok = scheduler_.launch(step); !ok) return ok;
      }
      return scheduler_.synchronize();
    }
    for (int i = 0; i < job_.steps; ++i) {
      if (auto ok = change(i); !ok) return ok;
      if (i == job_.other_step) other_ = true;
      submit(i == job_.short_step ? job_.layers - 1 : job_.layers);
      other_ = false;
      if (auto ok = scheduler_.end_step(); !ok) return ok;
    }
    return scheduler_.synchronize();
  }

  std::vector<float> parameters() const {
    std::vector<float> all;
    for (const Layer& layer : layers_)
      all.insert(all.end(), layer.parameters.begin(), layer.parameters.end());
    return all;
  }
  Scheduler& scheduler() { return scheduler_; }

 private:
  struct Layer {
    std::vector<float> parameters = std::vector<float>(kLayerValues, 1);
    std::vector<float> gradients = std::vector<float>(kLayerValues, 0);
    DataId parameters_id, gradients_id;
    std::string name;
    std::deque<TaskPlace> backward;  // by micro-batch
    TaskPlace forward, update, collective;
  };

  void add_layer(int i) {
    Layer& layer = layers_.emplace_back();
    layer.parameters_id = scheduler_.add_data();
    layer.gradients_id = scheduler_.add_data();
    layer.name = std::to_string(i);
    const auto size = static_cast<std::int64_t>(sizeof(float));
    for (int m = 0; m < job_.micro_batches; ++m) {
      const auto batch = job_.micro_batches > 1 ? static_cast<std::uint32_t>(m) : kNoMicroBatch;
      layer.backward.push_back(place_of(
          "backward_" + layer.name, batch,
          {{"rows", DimensionKind::outer, kRows, {{layer.gradients_id, 0, kColumns * size}}}}));
    }
    layer.forward = place_of("forward_" + layer.name, kNoMicroBatch);
    layer.collective = place_of("backward_" + layer.name, kNoMicroBatch);
    const BlockRange block = own_block();
    layer.update =
        place_of("update_" + layer.name, kNoMicroBatch,
                 {{"values",
                   DimensionKind::outer,
                   job_.shards ? std::max((block.end - block.begin) / size, std::int64_t{1})
                               : static_cast<std::int64_t>(kLayerValues),
                   {{layer.gradients_id, 0, size, 0, job_.shards},
                    {layer.parameters_id, 0, size, 0, job_.shards}}}});
  }

  BlockRange own_block() const {
    return block_range(kLayerValues * sizeof(float), scheduler_.grid(), scheduler_.rank());
  }

  Result<void> change(int step) {
    return step == job_.change_before ? scheduler_.reconfigure(job_.changed) : Result<void>();
  }

  void submit(int layers) {
    const auto n = static_cast<std::size_t>(layers);
    for (std::size_t i = 0; i < n; ++i) submit_forward(layers_[i], static_cast<std::uint32_t>(i));
    if (other_) scheduler_.compute({.name = "other"}, {update(activation_)}, [] {});
    for (int m = 0; m < job_.micro_batches; ++m) {
      for (std::size_t i = n; i-- > 0;) {
        submit_backward(layers_[i], i, m);
        if (m == job_.micro_batches - 1) submit_update(layers_[i], i);
      }
    }
  }

  void submit_forward(Layer& layer, std::uint32_t priority) {
    scheduler_.compute({.name = layer.name, .priority = priority, .place = &layer.forward},
                       {read(layer.parameters_id), update(activation_)}, [this, &layer] {
                         for (const float value : layer.parameters) seen_ += value;
                       });
  }

  void submit_backward(Layer& layer, std::size_t place, int micro_batch) {
    const bool first = micro_batch == 0;
    const auto factor = static_cast<float>(1 + scheduler_.rank() + 2 * place + micro_batch);
    scheduler_.compute_pieces(
        {.name = layer.name,
         .priority = static_cast<std::uint32_t>(place),
         .place = &layer.backward[static_cast<std::size_t>(micro_batch)]},
        std::array{read(layer.parameters_id),
                   first ? write(layer.gradients_id) : update(layer.gradients_id)},
        [&layer, factor, first](const TaskPiece& piece) {
          for (auto i = static_cast<std::size_t>(piece.begin * kColumns);
               i < static_cast<std::size_t>(piece.end * kColumns); ++i) {
            const float gradient = layer.parameters[i] + factor;
            layer.gradients[i] = gradient + (first ? 0 : layer.gradients[i]);
          }
        });
  }

  void submit_update(Layer& layer, std::size_t place) {
    const auto priority = static_cast<std::uint32_t>(place);
    const TaskOptions collective{
        .name = layer.name, .priority = priority, .place = &layer.collective};
    job_.shards ? scheduler_.reduce_scatter(collective, layer.gradients_id, layer.gradients)
                : scheduler_.all_reduce(collective, layer.gradients_id, layer.gradients);
    const auto begin =
        job_.shards ? static_cast<std::size_t>(own_block().begin) / sizeof(float) : 0;
    const auto end =
        job_.shards ? static_cast<std::size_t>(own_block().end) / sizeof(float) : kLayerValues;
    scheduler_.compute_pieces(
        {.name = layer.name, .priority = priority, .place = &layer.update},
        std::array{read(layer.gradients_id), hocket::update(layer.parameters_id)},
        [&layer, begin, end](const TaskPiece& piece) {
          const std::size_t last = std::min(begin + static_cast<std::size_t>(piece.end), end);
          for (std::size_t i = begin + static_cast<std::size_t>(piece.begin); i < last; ++i) {
            // Keeps the values small integers.
            layer.parameters[i] =
                static_cast<float>(static_cast<int>(layer.parameters[i] + layer.gradients[i]) % 61);
          }
        });
    if (job_.shards) scheduler_.all_gather(collective, layer.parameters_id, layer.parameters);
  }

  const LayeredSteps job_;
  SteadyClock clock_;
  std::deque<Layer> layers_;
  DataId activation_;
  double seen_ = 0;
  bool other_ = false;
  HostExecutor executor_;
  Scheduler scheduler_;
};

/// Runs the job; returns its final parameters, which must agree on all ranks, or an error.
Result<std::vector<float>> run_steps(const LayeredSteps& job, const ScheduleConfig& config,
                                     int ranks) {
  std::vector<std::vector<float>> parameters(static_cast<std::size_t>(ranks));
  std::vector<Result<void>> results(static_cast<std::size_t>(ranks));
  run_local_ranks(
      ranks,
      [&](int rank, Collective& collective) {
        RankOfSteps own(job, config, collective);
        results[static_cast<std::size_t>(rank)] = own.run();
        parameters[static_cast<std::size_t>(rank)] = own.parameters();
      },
      60'000'000'000, job.ranks_per_host);
  for (const auto& result : results) {
    HOCKET_TRY(result);
  }
  for (const auto& other : parameters) EXPECT_EQ(other, parameters.front());
  return parameters.front();
}

ScheduleConfig random_partition(std::mt19937_64& random, const LayeredSteps& job) {
  const auto draw = [&](std::uint64_t count) { return static_cast<int>(random() % count); };
  const bool divides = random() % 2 == 0;
  ScheduleConfig config;
  config.partition_bytes = 4096;
  config.credit_bytes = std::int64_t{4096} << draw(4);
  config.streams = 1 + draw(3);
  config.comm_channels = 1 + draw(3);
  config.order = draw(2) == 0 ? CollectiveOrder::fifo : CollectiveOrder::negotiated;
  config.bucket_bytes = divides ? 0 : draw(3) * 20000;
  config.primitive = static_cast<CollectivePrimitive>(draw(2));
  config.group_ranks = draw(2) == 0 ? 1 : job.ranks_per_host;
  config.launch = static_cast<CollectiveLaunch>(draw(2));
  config.compute_parts = divides ? 1 + draw(5) : 1;
  config.compute_order = static_cast<ComputeOrder>(draw(2));
  config.micro_batches_kept = 1 + draw(3);
  if (draw(2) == 0) {
    RegionOverrides& region = config.regions["backward_1"];
    if (divides) region.compute_parts = 2;
    region.primitive = CollectivePrimitive::reduce_scatter_all_gather;
    region.launch = CollectiveLaunch::deferred;
  }
  if (draw(2) == 0) {
    config.regions["forward_0"].streams = 1;
    config.regions["update_2"].priority = 3;
  }
  return config;
}

TEST(SchedulerPartition, JobsComputeTheSameWhateverTheConfiguration) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    LayeredSteps job{.micro_batches = 1 + static_cast<int>(random() % 3),
                     .shards = random() % 2 == 0,
                     .captures = random() % 4 == 0};
    const int ranks = 1 << random() % 3;
    job.ranks_per_host = ranks == 1 ? 1 : 1 + static_cast<int>(random() % 2);
    const auto expected = run_steps(job, {}, ranks);
    ASSERT_TRUE(expected) << expected.error().message;
    const auto found = run_steps(job, random_partition(random, job), ranks);
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(*found, *expected);
  }
}

TEST(SchedulerPartition, ConfigurationsChangeWhileItRuns) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    LayeredSteps job{
        .ranks_per_host = 2, .shards = random() % 2 == 0, .captures = random() % 3 == 0};
    const auto expected = run_steps(job, {}, 2);
    ASSERT_TRUE(expected) << expected.error().message;
    job.change_before = 1 + static_cast<int>(random() % 4);
    const bool ends = random() % 2 == 0;
    if (!ends) job.changed = random_partition(random, job);
    const auto found = run_steps(
        job, ends || random() % 2 == 0 ? random_partition(random, job) : ScheduleConfig{}, 2);
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(*found, *expected);
  }
}

TEST(SchedulerPartition, StepsMayDifferFromTheFirst) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    LayeredSteps job{.steps = 6, .ranks_per_host = 1, .shards = random() % 2 == 0};
    job.other_step = static_cast<int>(random() % 6);
    job.short_step = static_cast<int>(random() % 6);
    const auto expected = run_steps(job, {}, 2);
    ASSERT_TRUE(expected) << expected.error().message;
    const auto found = run_steps(job, random_partition(random, job), 2);
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(*found, *expected);
  }
}

TEST(SchedulerPartition, RefusesWhatDoesNotFitTheStep) {
  ScheduleConfig config;
  config.regions["backward_9"].launch = CollectiveLaunch::deferred;
  // With several ranks, a rank may learn of another rank's end before it reports this error.
  const auto unknown = run_steps({}, config, 1);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(unknown.error().message, HasSubstr("backward_9"));
  EXPECT_THAT(unknown.error().message, HasSubstr("backward_"));
}

TEST(SchedulerPartition, AConfigurationThatDoesNotFitChangesNothing) {
  ScheduleConfig start;
  start.primitive = CollectivePrimitive::reduce_scatter_all_gather;
  LayeredSteps job;
  job.change_before = 2;
  job.changed.group_ranks = 3;
  const auto refused = run_steps(job, start, 2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr("group_ranks"));

  run_local_ranks(1, [&](int, Collective& collective) {
    LayeredSteps again;
    RankOfSteps own(again, start, collective);
    ASSERT_TRUE(own.run());
    ScheduleConfig bad = start;
    bad.regions["nowhere"].streams = 1;
    EXPECT_FALSE(own.scheduler().reconfigure(bad));
    EXPECT_TRUE(own.run());
  });
}

}  // namespace
}  // namespace hocket
