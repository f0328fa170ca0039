// Tests the simulator on jobs whose ranks run different programs: against a plain model of the
// whole job, against closed forms of pipelines, and against the same job without folding.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

#include "core/sim/simulator.h"
#include "core/sim/step_bound.h"
#include "examples/steps/pipelines.h"
#include "tests/core/random_job.h"
#include "tests/core/sim/job_model.h"
#include "tests/core/sim/random_steps.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ScheduleConfig config_of(CollectiveOrder order, int channels = 4) {
  ScheduleConfig config;
  config.partition_bytes = 1 << 30;
  config.credit_bytes = std::int64_t{16} << 30;
  config.comm_channels = channels;
  config.order = order;
  return config;
}

constexpr auto kFifo = CollectiveOrder::fifo;
constexpr auto kStatic = CollectiveOrder::static_order;

/// A pipeline whose stages end a step together, on one host, with messages that take no time.
StepDescription pipeline(const PipelineShape& shape, const StageTimes& times,
                         StageSchedule (*schedule)(const PipelineShape&, std::int64_t)) {
  StepDescription step;
  step.ranks = step.ranks_per_host = shape.stages;
  step.mesh = {{"pipeline", shape.stages}};
  step.message = PartCost{};
  for (std::int64_t stage = 0; stage < shape.stages; ++stage) {
    StageProgram program(shape, stage, times, 1);
    for (const StageTask& task : schedule(shape, stage)) program.add(task);
    program.collective("flush", CollectiveGroup::world, 1);
    step.programs.push_back(program.take());
  }
  return step;
}

Result<Simulation> simulated(const StepDescription& step, CollectiveOrder order) {
  return simulate(step, {.config = config_of(order)});
}

std::int64_t iteration_ns(const StepDescription& step, CollectiveOrder order) {
  const auto result = simulated(step, order);
  EXPECT_TRUE(result) << result.error().message;
  return result ? result->iteration_ns : -1;
}

TEST(Pipelines, HaveTheBubbleOf1F1B) {
  for (const auto& [stages, micro_batches] :
       {std::pair{1, 3}, {2, 1}, {2, 5}, {4, 4}, {4, 9}, {8, 32}}) {
    const StageTimes times{300, 700, 0};
    const std::int64_t expected = (micro_batches + stages - 1) * 1000;
    EXPECT_EQ(
        iteration_ns(pipeline({stages, micro_batches}, times, one_forward_one_backward), kStatic),
        expected)
        << stages << " stages, " << micro_batches << " micro-batches";
  }
}

TEST(Pipelines, HaveTheBubbleOfInterleavedStages) {
  for (const PipelineShape& shape : {PipelineShape{2, 4, 2}, {4, 8, 2}, {4, 8, 3}, {8, 16, 4}}) {
    // A stage's blocks take as long as one block of a pipeline without interleaving would.
    const StageTimes times{300, 700, 0};
    const std::int64_t expected = (shape.micro_batches * shape.chunks + shape.stages - 1) * 1000;
    EXPECT_EQ(iteration_ns(pipeline(shape, times, interleaved), kStatic), expected)
        << shape.stages << " stages of " << shape.chunks;
  }
}

TEST(Pipelines, HaveTheBubbleOfZeroBubbleSchedules) {
  for (const PipelineShape& shape : {PipelineShape{2, 4}, {4, 8}, {4, 13}, {8, 32}}) {
    const StageTimes times{500, 500, 500};
    // (stages − 1) · (forward + backward − weights): Qi et al., table 2.
    const std::int64_t expected = shape.micro_batches * 1500 + (shape.stages - 1) * 500;
    EXPECT_EQ(iteration_ns(pipeline(shape, times, zero_bubble), kStatic), expected)
        << shape.stages << " stages";
  }
}

// Its launches would otherwise have no end, at one time.
TEST(Pipelines, ARankThatWaitsForNobodyAndTakesNoTimeIsHeldBack) {
  StepDescription step = pipeline({2, 4}, {300, 700, 0}, one_forward_one_backward);
  const std::int64_t expected = iteration_ns(step, kStatic);
  step.ranks = step.ranks_per_host = 3;
  step.mesh = {{"pipeline", 3}};
  for (RankProgram& program : step.programs)
    std::erase_if(program.tasks, [](const StepTask& task) {
      return task.collective && !is_message(*task.collective);
    });
  RankProgram& alone = step.programs.emplace_back(step.programs.back());
  alone.at.front().indices = {2};
  std::erase_if(alone.tasks, [](const StepTask& task) { return task.collective.has_value(); });
  for (StepTask& task : alone.tasks) task.duration_ns = 0;
  EXPECT_LE(iteration_ns(step, kStatic), expected);
  EXPECT_GE(iteration_ns(step, kStatic), 4 * 1000);
}

TEST(Pipelines, InNaiveOrderAreRefusedWithTheTasksThatWait) {
  const StepDescription step = pipeline({4, 8}, {300, 700, 0}, one_forward_one_backward);
  const auto refused = simulated(step, kFifo);
  ASSERT_FALSE(refused);
  EXPECT_THAT(
      refused.error().message,
      AllOf(HasSubstr("ranks wait for each other in a circle: rank "),
            HasSubstr(" begins \"send for forward "), HasSubstr(" before \"receive for backward "),
            HasSubstr("submit them in one order on all ranks")));
}

TEST(Pipelines, ThatWaitForEachOthersResultsAreRefusedInAnyOrder) {
  StepDescription step;
  step.ranks = step.ranks_per_host = 2;
  step.mesh = {{"pipeline", 2}};
  step.message = PartCost{};
  for (std::int64_t own = 0; own < 2; ++own) {
    RankProgram program{.name = "", .at = {{"pipeline", {own}}}, .data = {"x"}, .tasks = {}};
    const auto message = [&](CollectiveKind kind, const std::string& name) {
      StepTask& task = program.tasks.emplace_back();
      task.name = name;
      task.collective = kind;
      task.bytes = 8;
      task.accesses = {update({0})};
      task.peer = MessagePeer{1 - own, false};
    };
    message(CollectiveKind::receive, "receive on " + std::to_string(own));
    program.tasks.push_back(computation("compute", 5));
    message(CollectiveKind::send, "send from " + std::to_string(own));
    step.programs.push_back(std::move(program));
  }
  for (const CollectiveOrder order : {kFifo, kStatic}) {
    const auto refused = simulated(step, order);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("in a circle"));
  }
  EXPECT_THAT(simulated(step, kStatic).error().message,
              AllOf(HasSubstr("on rank 0 \"send from 0\" (send of 8 bytes in world) waits for "
                              "\"receive on 0\""),
                    HasSubstr("on rank 1 \"send from 1\"")));
}

TEST(Pipelines, ARingThatAllBeginBySendingIsRefused) {
  StepDescription step;
  step.ranks = step.ranks_per_host = 4;
  step.message = PartCost{10, 1, 0};
  for (const auto kind : {CollectiveKind::send, CollectiveKind::receive}) {
    StepTask& task = step.tasks.emplace_back();
    task.name = to_string(kind);
    task.collective = kind;
    task.bytes = 8;
    task.peer = MessagePeer{kind == CollectiveKind::send ? 1 : -1, true};
  }
  for (const CollectiveOrder order : {kFifo, kStatic}) {
    const auto refused = simulated(step, order);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message,
                AllOf(HasSubstr("send to each other: rank 0 has \"send\""),
                      HasSubstr("\"receive\""), HasSubstr("in one shift")));
  }
}

TEST(Programs, ThatShiftShareTheLinkOfTheirHost) {
  // Two stages of four ranks, each on two hosts of two; a byte takes 1 ns between hosts.
  StepDescription step;
  step.ranks = 8;
  step.ranks_per_host = 4;
  step.mesh = {{"context", 4}, {"pipeline", 2}};
  step.cluster = Cluster{{1e10, 0}, {1e9, 0}};
  step.message = PartCost{10, 1, 5};
  step.channel_split = 0;
  const auto iteration_of = [&](std::int64_t first_distance, std::int64_t last_distance) {
    step.programs.clear();
    for (const auto& [index, distance] :
         {std::pair<std::int64_t, std::int64_t>{0, first_distance}, {1, last_distance}}) {
      RankProgram& program = step.programs.emplace_back();
      program.at = {{"pipeline", {index}}};
      program.data = {"x"};
      StepTask& task = program.tasks.emplace_back();
      task.collective = CollectiveKind::shift;
      task.bytes = 1000;
      task.group = {AxisSet::of(0), GroupTier::whole};
      task.peer = MessagePeer{distance, true};
      task.accesses = {update({0})};
    }
    return iteration_ns(step, kFifo);
  };
  // One rank of each stage sends to the other host, or two.
  EXPECT_EQ(iteration_of(1, 1), 10 + 2 * 1000 + 5);
  EXPECT_EQ(iteration_of(1, -1), 10 + 2 * 1000 + 5);
  EXPECT_EQ(iteration_of(2, -2), 10 + 4 * 1000 + 5);
  EXPECT_EQ(iteration_of(0, 2), 10 + 2 * 1000 + 5);
}

/// Makes every rank a class of its own.
StepDescription unfolded(StepDescription step) {
  auto& scales = step.rank_compute_scale;
  scales.resize(static_cast<std::size_t>(step.ranks), 1);
  for (std::size_t rank = 0; rank < scales.size(); ++rank)
    scales[rank] *= 1 + 1e-12 * static_cast<double>(rank);
  return step;
}

TEST(RandomJobs, AgreeWithAPlainModelOfAllRanks) {
  std::int64_t folded = 0;
  const std::uint64_t jobs = rounds(1500);
  for (std::uint64_t seed = 1; seed <= jobs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const StepDescription step = RandomJob(seed).make();
    const int channels = 1 + static_cast<int>(seed % 3);
    const auto simulation = simulate(step, {.config = config_of(kFifo, channels), .iterations = 3});
    ASSERT_TRUE(simulation) << simulation.error().message;
    folded += step.ranks - simulation->simulated_ranks;
    // Launches after these do not overlap with them.
    const std::vector<double> ends = JobModel(step, 6, channels).run();
    double before_ns = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const double expected_ns = ends[i] - std::exchange(before_ns, ends[i]);
      ASSERT_NEAR(static_cast<double>(simulation->iterations_ns[i]), expected_ns,
                  20 + 1e-5 * ends[i])
          << "launch " << i;
    }
  }
  EXPECT_GT(folded, static_cast<std::int64_t>(jobs));
}

TEST(RandomJobs, TakeAsLongWithoutFolding) {
  for (std::uint64_t seed = 1; seed <= rounds(500); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const StepDescription step = RandomJob(seed).make();
    const auto whole = simulate(unfolded(step), {.config = config_of(kFifo), .iterations = 4});
    const auto folded = simulate(step, {.config = config_of(kFifo), .iterations = 4});
    ASSERT_TRUE(whole && folded);
    ASSERT_EQ(whole->simulated_ranks, step.ranks);
    for (std::size_t i = 0; i < 4; ++i)
      ASSERT_NEAR(static_cast<double>(whole->iterations_ns[i]),
                  static_cast<double>(folded->iterations_ns[i]), 20);
  }
}

TEST(RandomJobs, EndInAnOrderOfUrgencyAndNoneIsBelowTheBound) {
  for (std::uint64_t seed = 1; seed <= rounds(1000); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    StepDescription step = RandomJob(seed).make();
    if (seed % 4 == 0) step.jitter = {JitterKind::uniform, 0.3, seed};
    ScheduleConfig config = config_of(seed % 2 ? kStatic : kFifo, 1 + static_cast<int>(seed % 3));
    config.partition_bytes = 4096;
    config.credit_bytes = 16'384;
    const auto result = simulate(step, {.config = config});
    ASSERT_TRUE(result) << result.error().message;
    if (seed % 4 != 0) {
      ASSERT_GE(result->iteration_ns, result->bound_ns);
    }
  }
}

TEST(Programs, OneForAllRanksTakesAsLongAsAStepWithout) {
  for (std::uint64_t seed = 1; seed <= rounds(300); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    StepDescription step = random_training_step(random);
    step.device_memory_bytes = 0;
    step.data_places.clear();
    StepDescription programs = step;
    programs.programs = {{.name = "all", .at = {}, .data = step.data, .tasks = step.tasks}};
    programs.data.clear();
    programs.tasks.clear();
    for (const CollectiveOrder order : {kFifo, kStatic}) {
      const auto expected = simulated(step, order), result = simulated(programs, order);
      ASSERT_TRUE(expected) << expected.error().message;
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_EQ(result->simulated_ranks, 1);
      EXPECT_NEAR(static_cast<double>(result->iteration_ns),
                  static_cast<double>(expected->iteration_ns),
                  5 + 1e-4 * static_cast<double>(expected->iteration_ns));
    }
  }
}

class Messages : public TraceSink {
 public:
  void record(const TraceEvent& event) override {
    if (event.kind == TraceKind::communication && is_message(event.collective))
      events.push_back(event);
  }
  std::vector<TraceEvent> events;
};

TEST(Programs, HaveTheirMessagesInTheTimelinesOfBothRanks) {
  const PipelineShape shape{2, 3};
  StepDescription step = pipeline(shape, {300, 700, 0}, one_forward_one_backward);
  step.message = PartCost{20, 1, 5};
  step.channel_split = 0;
  Messages of[2];
  std::shared_ptr<const CapturedStep> names[2];
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    auto result = simulate(
        step,
        {.config = config_of(kStatic), .iterations = 1, .trace = &of[rank], .watched_rank = rank});
    ASSERT_TRUE(result) << result.error().message;
    names[rank] = result->names;
  }
  std::size_t met = 0;
  for (const TraceEvent& sent : of[0].events) {
    if (sent.collective != CollectiveKind::send || sent.step > 0) continue;
    const auto received = std::ranges::find_if(of[1].events, [&](const TraceEvent& other) {
      return other.step == 0 && other.name == "receive" + std::string(sent.name.substr(4));
    });
    ASSERT_NE(received, of[1].events.end()) << sent.name;
    EXPECT_EQ(received->end_ns, sent.end_ns);
    EXPECT_EQ(sent.bytes, 1);
    // The last of both to begin, 20 ns of overhead, 1 ns on the link and 5 ns of latency.
    EXPECT_EQ(sent.end_ns - std::max(sent.begin_ns, received->begin_ns), 26);
    ++met;
  }
  EXPECT_EQ(met, 3u);
}

TEST(Programs, AreNotPartitionedPlacedOrNegotiated) {
  StepDescription step = pipeline({2, 2}, {300, 700, 0}, one_forward_one_backward);
  EXPECT_THAT(simulated(step, CollectiveOrder::negotiated).error().message,
              HasSubstr("take fifo or static"));
  ScheduleConfig config = config_of(kStatic);
  config.primitive = CollectivePrimitive::reduce_scatter_all_gather;
  EXPECT_THAT(simulate(step, {.config = config}).error().message, HasSubstr("is not partitioned"));
  config = config_of(kStatic);
  config.communication = Communication::parameter_server;
  EXPECT_FALSE(simulate(step, {.config = config}));
}

}  // namespace
}  // namespace hocket
