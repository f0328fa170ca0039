// Updates of graph models in shards and by servers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/collective/optimizer_step.h"
#include "core/graph/passes/optimiser.h"
#include "job/step/scheduler_submitter.h"
#include "job/training/training.h"
#include "tests/core/host/ranks.h"
#include "tests/job/graph/trained_graphs.h"
#include "tests/job/step/submitters.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::HasSubstr;

PassOptions unclipped(std::int64_t ranks) {
  PassOptions passes = trained(ranks);
  passes.optimiser.clip_norm = 0;
  passes.optimiser.sums = true;
  return passes;
}

/// The outcome of ranks that have trained: the parameters of each, without states.
struct Ranks {
  std::vector<std::string> parameters;
  std::vector<float> losses;
  std::vector<std::int64_t> optimiser_bytes;
};

Ranks train_on(int ranks, const TrainedCase& of, const ScheduleConfig& config, bool shards) {
  constexpr std::int64_t kUpdates = 4;
  Ranks trained;
  trained.parameters.resize(static_cast<std::size_t>(ranks));
  trained.optimiser_bytes.resize(static_cast<std::size_t>(ranks));
  run_local_ranks(ranks, [&](int rank, Collective& collective) {
    const auto model = model_of(of, unclipped(ranks),
                                {.options = {.grid = {.ranks = ranks, .ranks_per_host = ranks},
                                             .rank = rank,
                                             .steps = kUpdates,
                                             .shards_optimiser = shards},
                                 .seed = static_cast<std::uint64_t>(rank)});
    const SteadyClock clock;
    const Training training{.model = *model, .collective = collective, .clock = clock};
    const auto ran = run_phase(training, {.config = config, .end_step = kUpdates});
    ASSERT_TRUE(ran) << ran.error().message;
    std::string& parameters = trained.parameters[static_cast<std::size_t>(rank)];
    for (const Operation& operation : model->prepared().graph().operations()) {
      if (operation.kind != OperationKind::parameter || is_optimiser_state(operation.name))
        continue;
      const std::vector<std::byte> bytes = model->read(operation.name).value();
      parameters.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    trained.optimiser_bytes[static_cast<std::size_t>(rank)] = model->optimiser_bytes();
    if (rank != 0) return;
    for (std::int64_t step = 0; step < kUpdates; ++step)
      trained.losses.push_back(model->output("loss", step));
  });
  return trained;
}

TEST(ShardedOptimiser, TrainsWithTheSameBits) {
  for (const TrainedCase& of : trained_cases()) {
    for (const int ranks : {1, 2, 3}) {
      SCOPED_TRACE(std::string(of.model) + " on " + std::to_string(ranks));
      ScheduleConfig config;
      config.streams = 2;
      config.partition_bytes = 1024;
      config.compute_parts = ranks;
      const Ranks whole = train_on(ranks, of, config, false);
      const Ranks shared = train_on(ranks, of, config, true);
      EXPECT_EQ(shared.losses, whole.losses);
      std::int64_t together = 0;
      for (std::size_t rank = 0; rank < shared.parameters.size(); ++rank) {
        EXPECT_EQ(shared.parameters[rank], whole.parameters[0]) << rank;
        together += shared.optimiser_bytes[rank];
        EXPECT_EQ(shared.optimiser_bytes[rank]<whole.optimiser_bytes[rank], ranks> 1);
      }
      EXPECT_EQ(together, whole.optimiser_bytes[0]);
    }
  }
}

TEST(ShardedOptimiser, EveryAllowedOrderGivesTheSameBits) {
  // The gathered parameters are this rank's own, as if the others had not changed theirs.
  for (const TrainedCase& of : trained_cases()) {
    SCOPED_TRACE(of.model);
    std::string expected;
    for (std::uint64_t seed = 0; seed <= rounds(8); ++seed) {
      RecordingSubmitter recorder;
      const auto model = model_of(
          of, unclipped(2),
          {.options = {
               .grid = {.ranks = 2}, .rank = 1, .steps = kSteps, .shards_optimiser = true}});
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
            for (float& value : values) value *= 1.5F;
          });
      const std::string outcome = outcome_of(*model, kSteps);
      if (seed == 0)
        expected = outcome;
      else
        EXPECT_EQ(outcome, expected) << "random order of seed " << seed;
    }
  }
}

TEST(ShardedOptimiser, TakesGradientsAsTheyAre) {
  const Graph graph = graph_of({"gpt2", kGpt2}, trained(2));
  const auto model =
      GraphModel::create(graph, kernels(), KernelDevice::host, host_kernel_memory(),
                         {.grid = {.ranks = 2, .ranks_per_host = 2}, .shards_optimiser = true});
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("train without clipping"));
}

/// A server that keeps the optimiser's states of all data, and runs everything at once.
class ServedSubmitter final : public Submitter {
 public:
  RankGrid grid() const override { return {}; }
  DataId add_data(const DataPlace&, std::string_view) override { return {data_++}; }
  void compute(const TaskOptions&, std::span<const Access>, TaskBody body) override { body(); }
  void compute_pieces(const TaskOptions& options, std::span<const Access>,
                      PieceBody body) override {
    body({0, 0, options.place->dimensions.front().extent});
  }
  void all_reduce(const TaskOptions&, DataId, std::span<float>) override { FAIL(); }
  void optimizer_step(const TaskOptions&, DataId data, std::span<float> values,
                      const OptimizerStep& step) override {
    auto& [first, second] = moments_[data.index];
    first.resize(values.size());
    second.resize(values.size());
    apply_optimizer_step(step, values, first, second);
    updates.push_back(step.update);
  }
  void reduce_scatter(const TaskOptions&, DataId, std::span<float>) override { FAIL(); }
  void all_gather(const TaskOptions&, DataId, std::span<float>) override { FAIL(); }

  std::vector<std::int64_t> updates;

 private:
  std::uint32_t data_ = 0;
  std::map<std::uint32_t, std::pair<std::vector<float>, std::vector<float>>> moments_;
};

TEST(ServedUpdates, TrainAsTheRanksWould) {
  for (const TrainedCase& of : trained_cases()) {
    SCOPED_TRACE(of.model);
    const auto own = model_of(of, unclipped(1), {.options = {.steps = kSteps}});
    ImmediateSubmitter immediate;
    own->attach(immediate);
    PassOptions passes = unclipped(1);
    // The rate of draw_input().
    passes.optimiser.method = OptimiserMethod::served;
    passes.optimiser.served_rate = 0.01;
    const OptimizerStep step{.kind = OptimizerKind::adamw,
                             .learning_rate = 0.01,
                             .beta1 = passes.optimiser.beta1,
                             .beta2 = passes.optimiser.beta2,
                             .epsilon = passes.optimiser.epsilon};
    const auto served = model_of(of, passes, {.options = {.steps = kSteps, .served = step}});
    ServedSubmitter server;
    served->attach(server);
    for (std::int64_t i = 0; i < kSteps; ++i) {
      for (GraphModel* const model : {own.get(), served.get()}) {
        model->draw(i);
        model->submit_tasks();
      }
      EXPECT_EQ(server.updates.back(), i + 1);
    }
    EXPECT_EQ(served->optimiser_bytes(), 0);
    std::size_t compared = 0;
    for (const Operation& operation : served->prepared().graph().operations()) {
      if (operation.kind != OperationKind::parameter) continue;
      const auto mine = own->read(operation.name).value(),
                 theirs = served->read(operation.name).value();
      for (std::size_t i = 0; i < mine.size(); i += sizeof(float)) {
        float one = 0, other = 0;
        std::memcpy(&one, &mine[i], sizeof one);
        std::memcpy(&other, &theirs[i], sizeof other);
        ASSERT_NEAR(one, other, 2e-5) << operation.name << " " << i / sizeof(float);
        ++compared;
      }
    }
    EXPECT_GT(compared, 100U);
  }
}

}  // namespace
}  // namespace hocket
