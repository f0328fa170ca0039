#include "job/graph/graph_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "core/graph/graph_builder.h"
#include "core/graph/maths.h"
#include "core/graph/passes.h"
#include "core/host/host_executor.h"
#include "job/step/scheduler_submitter.h"
#include "job/training/training.h"
#include "kernels/host/host_kernels.h"
#include "models/models.h"
#include "tests/core/host/ranks.h"
#include "tests/job/graph/trained_graphs.h"
#include "tests/job/step/submitters.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::HasSubstr;

TEST(GraphModel, EveryAllowedOrderGivesTheSameBits) {
  for (const TrainedCase& of : trained_cases()) {
    SCOPED_TRACE(of.model);
    for (const bool again : {false, true}) {
      PassOptions passes = trained(again ? 2 : 1);
      if (!again) passes.optimiser.clip_norm = 0;  // so that updates are between the derivatives
      if (again) passes.recomputation.regions = {"*"};
      if (again) passes.micro_batches.count = 2;
      std::string expected;
      for (std::uint64_t seed = 0; seed <= rounds(8); ++seed) {
        RecordingSubmitter recorder;
        const auto model =
            model_of(of, passes,
                     {.options = {.grid = {.ranks = again ? 2 : 1},
                                  .steps = kSteps,
                                  .slack_operations = static_cast<std::int64_t>(seed % 2 * 8),
                                  .micro_batches_kept = static_cast<std::int64_t>(1 + seed % 3)}});
        model->attach(recorder);
        for (std::int64_t step = 0; step < kSteps; ++step) {
          model->draw(step);
          model->submit_tasks();
        }
        std::mt19937_64 random(seed);
        recorder.run(
            [&](std::span<const std::size_t> ready) {
              if (seed == 0) return ready.front();
              return seed == 1 ? ready.back() : ready[random() % ready.size()];
            },
            [](std::span<float> values) {
              for (float& value : values) value *= 2;
            });
        const std::string outcome = outcome_of(*model, kSteps);
        if (seed == 0)
          expected = outcome;
        else
          EXPECT_EQ(outcome, expected) << "random order of seed " << seed;
      }
    }
  }
}

TEST(GraphModel, InPiecesTheBitsAreTheSame) {
  for (const TrainedCase& of : trained_cases()) {
    SCOPED_TRACE(of.model);
    std::string expected;
    for (const bool divides : {false, true}) {
      std::mt19937_64 random(7);
      ImmediateSubmitter submitter;
      if (divides) submitter.random = &random;
      const auto model = model_of(of, trained(), {.options = {.steps = kSteps}});
      model->attach(submitter);
      for (std::int64_t step = 0; step < kSteps; ++step) {
        model->draw(step);
        model->submit_tasks();
      }
      EXPECT_GT(submitter.divisible, 20);
      const std::string outcome = outcome_of(*model, kSteps);
      if (divides) {
        EXPECT_EQ(outcome, expected);
      }
      expected = outcome;
    }
  }
}

/// Runs tasks at once, and keeps which of them divide.
class DividedTasks final : public Submitter {
 public:
  RankGrid grid() const override { return {}; }
  DataId add_data(const DataPlace&, std::string_view) override { return {data_++}; }
  void compute(const TaskOptions& options, std::span<const Access>, TaskBody body) override {
    body();
    divided_.emplace_back(options.name, false);
  }
  void compute_pieces(const TaskOptions& options, std::span<const Access>,
                      PieceBody body) override {
    body({0, 0, options.place->dimensions.front().extent});
    divided_.emplace_back(options.name, true);
  }
  void all_reduce(const TaskOptions&, DataId, std::span<float>) override {}
  void reduce_scatter(const TaskOptions&, DataId, std::span<float>) override {}
  void all_gather(const TaskOptions&, DataId, std::span<float>) override {}

  const std::vector<std::pair<std::string, bool>>& divided() const { return divided_; }

 private:
  std::uint32_t data_ = 0;
  std::vector<std::pair<std::string, bool>> divided_;
};

TEST(GraphModel, TasksWithScratchMemoryAreWhole) {
  const auto model = model_of({"gpt2", kGpt2}, trained(), {});
  DividedTasks submitter;
  model->attach(submitter);
  model->draw(0);
  model->submit_tasks();
  std::size_t at = 0, with_scratch = 0;
  while (submitter.divided()[at].first.starts_with("load ")) ++at;
  for (const PreparedGraph::Task& task : model->prepared().tasks()) {
    const auto& [name, divided] = submitter.divided()[at++];
    EXPECT_EQ(divided, task.kernel->units() > 1 && task.scratch == nullptr) << name;
    if (task.scratch != nullptr) ++with_scratch;
  }
  EXPECT_GT(with_scratch, 3U);
}

TEST(GraphModel, WhatAParameterBecomesElsewhereMovesAtTheEnd) {
  // The parameter is used after its update.
  for (std::uint64_t seed = 0; seed < rounds(4); ++seed) {
    GraphBuilder builder;
    const Value w = builder.parameter("w", {});
    const Value one = builder.constant(1);
    builder.output("updated/w", w + one);
    builder.output("old", w * 2.0);
    const auto model = GraphModel::create(builder.build().value(), kernels(), KernelDevice::host,
                                          host_kernel_memory(), {.steps = kSteps});
    ASSERT_TRUE(model) << model.error().message;
    RecordingSubmitter recorder;
    (*model)->attach(recorder);
    for (std::int64_t step = 0; step < kSteps; ++step) {
      (*model)->draw(step);
      (*model)->submit_tasks();
    }
    std::mt19937_64 random(seed);
    recorder.run([&](std::span<const std::size_t> ready) { return ready[random() % ready.size()]; },
                 {});
    for (std::int64_t step = 0; step < kSteps; ++step)
      EXPECT_EQ((*model)->output("old", step), 2.0f * static_cast<float>(step));
  }
}

/// Trains on ranks in memory, and returns the losses of rank 0.
std::vector<float> losses_on(int ranks, const TrainedCase& of, const ScheduleConfig& config,
                             std::int64_t steps) {
  std::vector<float> losses;
  run_local_ranks(ranks, [&](int rank, Collective& collective) {
    const auto model =
        model_of(of, trained(ranks),
                 {.options = {.grid = {.ranks = ranks, .ranks_per_host = ranks}, .steps = steps}});
    const SteadyClock clock;
    const Training training{.model = *model, .collective = collective, .clock = clock};
    const auto ran = run_phase(training, {.config = config, .end_step = steps});
    ASSERT_TRUE(ran) << ran.error().message;
    if (rank != 0) return;
    for (std::int64_t step = 0; step < steps; ++step) losses.push_back(model->output("loss", step));
  });
  return losses;
}

TEST(GraphModel, TrainsOnTheScheduler) {
  for (const TrainedCase& of : trained_cases()) {
    SCOPED_TRACE(of.model);
    ScheduleConfig config;
    config.streams = 3;
    config.partition_bytes = 4096;
    config.compute_parts = 3;
    const auto alone = losses_on(1, of, config, 12);
    ASSERT_EQ(alone.size(), 12U);
    EXPECT_LT(alone.back(), alone.front());
    // Ranks with the same batches have the same mean.
    const auto both = losses_on(2, of, config, 12);
    ASSERT_EQ(both.size(), 12U);
    for (std::size_t i = 0; i < both.size(); ++i) EXPECT_NEAR(both[i], alone[i], 1e-4) << i;
  }
}

TEST(GraphModel, SaysWhatRanksCannotSum) {
  const Graph graph = graph_of({"gpt2", kGpt2}, trained());
  const auto model = GraphModel::create(graph, kernels(), KernelDevice::host, host_kernel_memory(),
                                        {.grid = {.ranks = 2, .ranks_per_host = 2}});
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("no gradient is an output, which ranks would sum"));
}

TEST(GraphModel, AnErrorOfATaskIsThatOfTheStep) {
  run_local_ranks(1, [&](int, Collective& collective) {
    const Graph graph = graph_of({"gpt2", kGpt2}, trained());
    const auto model = GraphModel::create(
        graph, kernels(), KernelDevice::host, host_kernel_memory(),
        {.steps = 2, .draw = [](std::int64_t, std::string_view input, std::span<std::byte> bytes) {
           const std::int32_t wrong = input == "step" ? 1 : 1000;
           for (std::size_t i = 0; i < bytes.size(); i += 4)
             std::memcpy(bytes.data() + i, &wrong, 4);
         }});
    ASSERT_TRUE(model) << model.error().message;
    const SteadyClock clock;
    const Training training{.model = **model, .collective = collective, .clock = clock};
    const auto ran = run_phase(training, {.config = {}, .end_step = 2});
    ASSERT_FALSE(ran);
    EXPECT_THAT(ran.error().message, HasSubstr("embedding in embedding: indices: "));
  });
}

}  // namespace
}  // namespace hocket
