#include "core/host/host_executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>

#include "tests/core/host/own_lanes.h"
#include "tests/core/host/ranks.h"
#include "tests/core/one_part_source.h"

namespace hocket {
namespace {

TEST(HostExecutor, IndependentTasksRunAtOnceOnAsManyStreams) {
  SteadyClock clock;
  LocalGroup group(1);
  const auto collective = group.join(0);
  HostExecutor executor(*collective, clock);
  Scheduler scheduler({.streams = 3}, executor);
  // Each task waits until all three run, so they end only with three streams at once.
  std::atomic<int> running = 0;
  for (int i = 0; i < 3; ++i) {
    scheduler.compute({}, {}, [&] {
      ++running;
      running.notify_all();
      for (int seen = running; seen < 3; seen = running) running.wait(seen);
    });
  }
  EXPECT_TRUE(scheduler.synchronize());
}

TEST(HostExecutor, TasksOfEqualReadinessRunMostUrgentFirst) {
  SteadyClock clock;
  LocalGroup group(1);
  const auto collective = group.join(0);
  HostExecutor executor(*collective, clock);
  Scheduler scheduler({}, executor);
  std::promise<void> gate;
  std::vector<int> order;
  scheduler.compute({}, {}, [&] { gate.get_future().wait(); });
  for (const int priority : {5, 1, 3}) {
    scheduler.compute({.priority = static_cast<std::uint32_t>(priority)}, {},
                      [&, priority] { order.push_back(priority); });
  }
  gate.set_value();
  ASSERT_TRUE(scheduler.synchronize());
  EXPECT_EQ(order, (std::vector<int>{1, 3, 5}));
}

/// One rank of four, on two hosts: adds 1 to every value, and records the work requested.
class AddingCollective final : public Collective {
 public:
  int rank() const override { return 0; }
  const Mesh& mesh() const override { return mesh_; }
  std::int64_t timeout_ns() const override { return 1'000'000'000; }
  void abort() override {}
  Result<void> tell(std::string_view) override { return {}; }
  Result<std::string> hear() override { return std::string(); }
  Result<void> run(const CollectiveWork& work) override {
    asked = work;
    for (float& value : work.values.as<float>()) value += 1;
    if (fails) return failure(ErrorCode::unavailable, "another rank is gone");
    return {};
  }

  CollectiveWork asked;
  bool fails = false;

 private:
  const Mesh mesh_{RankGrid{4, 2}};
};

class BytesTraced final : public TraceSink {
 public:
  void record(const TraceEvent& event) override { bytes += event.bytes; }
  std::int64_t bytes = 0;
};

TEST(HostExecutor, PassesOnWhatCollectiveAPartIsOf) {
  SteadyClock clock;
  AddingCollective collective;
  HostExecutor executor(collective, clock);
  std::vector<float> values(100, 1);
  PartWork part;
  part.collective.kind = CollectiveKind::reduce_scatter;
  part.collective.group = CollectiveGroup::between;
  part.collective.values = values;
  part.collective.begin = 16;
  part.collective.end = 32;
  part.collective.index = 7;
  EXPECT_EQ(OnePartSource(part).run_on(executor), std::nullopt);
  EXPECT_EQ(collective.asked.kind, CollectiveKind::reduce_scatter);
  EXPECT_EQ(collective.asked.group, CollectiveGroup::between);
  EXPECT_EQ(collective.asked.values.data(), values.data());
  EXPECT_EQ(collective.asked.begin, 16u);
  EXPECT_EQ(collective.asked.end, 32u);
  EXPECT_EQ(collective.asked.index, 7u);
}

TEST(HostExecutor, ABucketIsOneBufferToTheCollectiveAndComesBackInItsPlaces) {
  SteadyClock clock;
  AddingCollective collective;
  HostExecutor executor(collective, clock);
  std::vector<float> first{1, 2, 3}, second{}, third{4, 5};
  const std::vector<ValueSpan> bucket{first, second, third};
  PartWork part;
  part.bucket = bucket;
  part.bytes = 20;
  BytesTraced trace;
  EXPECT_EQ(OnePartSource(part).run_on(executor, &trace), std::nullopt);
  EXPECT_EQ(collective.asked.values.size(), 5u);
  EXPECT_EQ(first, (std::vector<float>{2, 3, 4}));
  EXPECT_EQ(third, (std::vector<float>{5, 6}));
  EXPECT_EQ(trace.bytes, 20);
}

TEST(HostExecutor, AFailureNamesTheKindOfCollective) {
  SteadyClock clock;
  AddingCollective collective;
  collective.fails = true;
  for (const auto& [kind, words] :
       {std::pair(CollectiveKind::all_reduce, "all-reduce of \"weights\" in step 3"),
        std::pair(CollectiveKind::reduce_scatter, "reduce-scatter of \"weights\" in step 3"),
        std::pair(CollectiveKind::all_gather, "all-gather of \"weights\" in step 3")}) {
    HostExecutor executor(collective, clock);
    PartWork part;
    part.collective.kind = kind;
    part.name = "weights";
    part.step = 3;
    const auto error = OnePartSource(part).run_on(executor);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message, std::string(words) + ": another rank is gone");
  }
}

/// Returns the lanes that have work, of all ranks of this process, as lines of text.
std::vector<std::string> running_here() {
  std::vector<std::string> running;
  for (const RankLanes& rank : own_lanes()) {
    for (const ShownLane& lane : rank.lanes) {
      if (lane.state == LaneState::waiting) continue;
      std::string text = std::to_string(rank.rank) + ": " + lane.name + " of step " +
                         std::to_string(lane.step) + " in lane " + std::to_string(lane.lane);
      if (lane.kind == TraceKind::communication)
        text += ", " + std::string(to_string(lane.collective)) + " of " +
                std::to_string(lane.bytes) + " B, " + rank.mesh.name_of(lane.group) + ", peer " +
                std::to_string(lane.peer_rank);
      running.push_back(text);
    }
  }
  return running;
}

/// Awaits what ranks show: they run by themselves.
void await_running(const std::vector<std::string>& wanted) {
  for (;;) {
    const auto running = running_here();
    if (running == wanted) return;
    std::this_thread::yield();
  }
}

TEST(HostExecutor, ShowsWhatEachLaneRuns) {
  SteadyClock clock;
  LocalGroup group(1);
  const auto collective = group.join(0);
  HostExecutor executor(*collective, clock);
  Scheduler scheduler({.streams = 2}, executor);
  std::promise<void> gate;
  scheduler.compute({.name = "soon over"}, {}, [] {});
  ASSERT_TRUE(scheduler.end_step());
  ASSERT_TRUE(scheduler.synchronize());
  scheduler.compute({.name = "forward"}, {}, [&] { gate.get_future().wait(); });
  const auto is_of = [](const std::string& running, std::string_view task) {
    return running.starts_with("0: " + std::string(task) + " in lane ");
  };
  std::vector<std::string> running;
  do {
    running = running_here();
    // A stream shows the task before until it sleeps.
    for (const std::string& each : running)
      EXPECT_TRUE(is_of(each, "soon over of step 0") || is_of(each, "forward of step 1")) << each;
  } while (running.size() != 1 || !is_of(running[0], "forward of step 1"));
  gate.set_value();
  ASSERT_TRUE(scheduler.synchronize());
  await_running({});
}

TEST(HostExecutor, ShowsWhichRankAMessageWaitsFor) {
  const Mesh mesh = Mesh::make({{"pipeline", 2}, {"data", 2}}, {4, 4}).value();
  LocalGroup group(mesh, 60'000'000'000);
  std::promise<void> arrived;
  const auto gate = arrived.get_future().share();
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.emplace_back([&, rank] {
      SteadyClock clock;
      const auto collective = group.join(rank);
      HostExecutor executor(*collective, clock);
      Scheduler scheduler({.order = CollectiveOrder::fifo}, executor);
      std::vector<float> values(256);
      const DataId data = scheduler.add_data();
      const CollectiveGroup pipeline{AxisSet::of(0), GroupTier::whole};
      // Rank 1 sends nothing until the test has seen rank 3 wait.
      if (rank == 1) gate.wait();
      if (rank == 1) scheduler.send({.name = "activations"}, data, values, pipeline, 1);
      if (rank == 3) scheduler.receive({.name = "activations"}, data, values, pipeline, 0);
      EXPECT_TRUE(scheduler.synchronize());
    });
  }
  await_running({"3: activations of step 0 in lane 0, receive of 1024 B, pipeline, peer 1"});
  arrived.set_value();
}

}  // namespace
}  // namespace hocket
