// Trains a model that is not GPT-2 with everything that the library does around it.

#include "job/run/job_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/tape/tape.h"
#include "store/open.h"
#include "tests/core/host/ranks.h"
#include "tests/job/toy_model.h"
#include "tests/scoped_environment.h"
#include "tests/store/fixtures.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kRanks = 2;

struct RankRun {
  FinishedRun run;
  float weight = 0;
  std::vector<std::int64_t> done;
  std::string warned, said;
};

/// Trains on all ranks; every rank has the same options.
std::array<RankRun, kRanks> train_toy(const RunOptions& options,
                                      const ScheduleConfig& config = {}) {
  std::array<RankRun, kRanks> ranks;
  run_local_ranks(kRanks, [&](int rank, Collective& collective) {
    RankRun& own = ranks[static_cast<std::size_t>(rank)];
    ToyModel model(collective.grid());
    const SteadyClock clock;
    const Training training{.model = model,
                            .collective = collective,
                            .clock = clock,
                            .step_done = [&](std::int64_t step) { own.done.push_back(step); }};
    RunReport report;
    report.workload.name = "toy";
    report.config = config;
    const auto run =
        train_job(options, {.report = report, .fetched = {}, .before = {}, .kind = {}}, training,
                  {.warn = [&](const std::string& line) { own.warned += line; },
                   .say = [&](const std::string& line) { own.said += line; }});
    ASSERT_TRUE(run) << run.error().message;
    own.run = *run;
    own.weight = model.weight();
  });
  return ranks;
}

TEST(JobRun, TrainsEveryStepOnceAndTracesIt) {
  for (const RankRun& rank : train_toy({.steps = 4, .warmup = 1})) {
    EXPECT_EQ(rank.weight, 4.0f * kRanks);
    EXPECT_THAT(rank.done, ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(rank.run.warmup, 1);
    EXPECT_EQ(std::ranges::count(rank.run.events, "low.update", &TraceEvent::name), 4);
    EXPECT_EQ(rank.warned, "");
  }
}

TEST(JobRun, WritesTheTimesOfIterationsForAStudy) {
  const TemporaryFolder folder;
  const std::string path = folder.file("iterations");
  const ScopedEnvironment file("HOCKET_ITERATIONS", path.c_str());
  train_toy({.steps = 6, .warmup = 2});
  const auto text = read_file(path);
  ASSERT_TRUE(text);
  EXPECT_EQ(std::ranges::count(*text, '\n'), 3) << "two of warm-up, and the last has no end";
}

TEST(JobRun, RecordsATapeWithTheNameOfTheProgram) {
  const TemporaryFolder folder;
  train_toy({.program = "toy", .steps = 3, .record = folder.file("run.tape")},
            {.partition_bytes = 8192});
  for (const char* name : {"run.tape", "run.tape.1"}) {
    const std::string bytes = read_file(folder.file(name)).value();
    const auto tape = TapeReader::open(bytes);
    ASSERT_TRUE(tape) << tape.error().message;
    EXPECT_EQ(tape->header().name, "toy");
    EXPECT_EQ(tape->header().ranks, kRanks);
    EXPECT_EQ(tape->header().plan.partition_bytes, 8192);
  }
}

TEST(JobRun, SavesAProfileOfAllRanks) {
  const TemporaryFolder folder;
  const std::string path = folder.file("hocket.db");
  const ScopedEnvironment store_path("HOCKET_STORE", path.c_str());
  const auto ranks =
      train_toy({.steps = 12, .profiled = {.first_step = 2, .steps = 3, .interleave = 0}});
  EXPECT_THAT(ranks[0].said, HasSubstr("3 iterations"));
  EXPECT_EQ(ranks[0].warned + ranks[1].warned, "");
  const auto rows = must(must(open_store(path))->profiles());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].ranks.size(), std::size_t{kRanks});
}

TEST(JobRun, FindsAStaticOrderFromTheWarmup) {
  const auto ranks = train_toy({.steps = 6, .warmup = 3}, {.order = CollectiveOrder::static_order});
  for (const RankRun& rank : ranks) {
    EXPECT_EQ(rank.weight, 6.0f * kRanks);
    EXPECT_EQ(rank.warned, "");
    EXPECT_THAT(rank.done, ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_EQ(rank.run.warmup, 1) << "a phase of its own follows the warm-up";
  }
}

TEST(JobRun, SaysThatAHostRunsTasks) {
  const auto ranks = train_toy({.steps = 5}, {.step_issue = StepIssue::graph});
  EXPECT_THAT(ranks[0].warned, HasSubstr("steps go task by task"));
  EXPECT_EQ(ranks[1].warned, "");
}

TEST(JobRun, AJobThatListensTrainsAsOneThatDoesNot) {
  const TemporaryFolder folder;
  const std::string path = folder.file("hocket.db");
  const ScopedEnvironment store_path("HOCKET_STORE", path.c_str());
  const ScheduleConfig config{.streams = 2};
  for (const RankRun& rank : train_toy({.steps = 6, .profile_on_request = true}, config)) {
    EXPECT_EQ(rank.run.config, config);
    EXPECT_EQ(rank.weight, 6.0f * kRanks);
    EXPECT_EQ(rank.warned, "");
    EXPECT_EQ(rank.run.explored, 0);
  }
}

TEST(JobRun, ABallotHasNoPlaceInTheOrderOfPartitionedSteps) {
  const TemporaryFolder folder;
  const std::string path = folder.file("hocket.db");
  const ScopedEnvironment store_path("HOCKET_STORE", path.c_str());
  const auto ranks = train_toy({.steps = 6, .profile_on_request = true},
                               {.order = CollectiveOrder::static_order, .bucket_bytes = 1 << 20});
  EXPECT_THAT(ranks[0].warned, HasSubstr("the order is negotiated"));
  EXPECT_EQ(ranks[0].weight, 6.0f * kRanks);
}

}  // namespace
}  // namespace hocket
