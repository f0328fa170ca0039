// Tests the model on ranks that are threads, tuned while it trains.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "job/training/training.h"
#include "tests/client/local_daemon_link.h"
#include "tests/client/parts_of.h"
#include "tests/core/host/ranks.h"
#include "tests/job/graph/language_model.h"

namespace hocket {
namespace {

constexpr int kLiveSteps = 60, kRanks = 2;

struct Trained {
  std::vector<float> losses;
  std::size_t hash = 0;
  std::int64_t settled = 0;  ///< the partition size after tuning settled
};

/// Trains on all ranks; with a link, a configuration is pushed after step 15 is measured.
std::vector<Trained> train(LocalDaemonLink* link) {
  std::vector<Trained> trained(kRanks);
  run_local_ranks(kRanks, [&](int rank, Collective& collective) {
    Trained& result = trained[static_cast<std::size_t>(rank)];
    const SteadyClock clock;
    const LanguageModel model(
        small_gpt2(2, 32, 16),
        {.steps = kLiveSteps, .rank = rank, .grid = {.ranks = kRanks, .ranks_per_host = kRanks}});
    LivePhase live{.options = {.tuning = {.explore = 0.5}}, .link = rank == 0 ? link : nullptr};
    // Iteration times are simulated, constant within 1 %, so that the outcome does not depend on
    // the hardware.
    live.iteration_ns = [&](std::int64_t step) -> std::optional<std::int64_t> {
      if (step == 15) link->push(ConfigMessage{4, parts_of(8192), "a test"});
      return 1'000'000 + step * 7919 % 13 * 1000;
    };
    live.done = [&](const LiveJob& job) { result.settled = job.running().partition_bytes; };
    if (rank > 0) live.iteration_ns = nullptr;
    const TrainingPhase phase{.config = parts_of(4 << 20),
                              .first_step = 0,
                              .end_step = kLiveSteps,
                              .live = link ? &live : nullptr};
    const auto ok = run_phase({*model, collective, clock}, phase);
    EXPECT_TRUE(ok) << ok.error().message;
    result.losses = model.losses();
    result.hash = model.hash();
  });
  return trained;
}

TEST(LiveGraph, LossesAreTheSameWithChangesAsWithout) {
  LocalDaemonLink link;
  const auto live = train(&link), plain = train(nullptr);
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(live[rank].losses, plain[rank].losses);
    EXPECT_EQ(live[rank].hash, plain[rank].hash);
  }
  std::vector<ChangeOutcome> outcomes;
  std::size_t iterations = 0;
  for (const auto& report : link.reports()) {
    outcomes.insert(outcomes.end(), report.outcomes.begin(), report.outcomes.end());
    iterations += report.iteration_ns.size();
  }
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].version, 4);
  EXPECT_GE(outcomes[0].candidate_ns.size(), 4u) << "it ran";
  EXPECT_GE(iterations, 12u);
  EXPECT_EQ(live[0].settled, live[1].settled);
}

}  // namespace
}  // namespace hocket
