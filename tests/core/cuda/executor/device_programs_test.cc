// Tests a DeviceExecutor in jobs whose ranks run different programs, in groups of axes and with
// messages: random ones on simulated devices, against the same job computed one task after the
// other.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/cuda/collectives/device_groups.h"
#include "core/cuda/executor/device_executor.h"
#include "core/cuda/executor/device_memory.h"
#include "core/cuda/executor/device_task.h"
#include "core/host/local_collective.h"
#include "tests/core/cuda/model_device.h"
#include "tests/core/cuda/model_group.h"
#include "tests/core/scheduler/rank_programs.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kNever = -1;

/// Fails the call number `fail_at`, from 0, of those in the rank's groups together.
class FailingCalls final : public DeviceCollective {
 public:
  FailingCalls(DeviceCollective& ranks, std::atomic<std::int64_t>& left)
      : ranks_(ranks), left_(left) {}
  FailingCalls(std::unique_ptr<DeviceCollective> own, std::atomic<std::int64_t>& left)
      : own_(std::move(own)), ranks_(*own_), left_(left) {}

  int rank() const override { return ranks_.rank(); }
  int world_size() const override { return ranks_.world_size(); }
  Result<void> open(int channels) override { return ranks_.open(channels); }
  Result<void> exchange(CollectiveKind kind, std::span<const DevicePiece> pieces, int channel,
                        DeviceStream stream) override {
    HOCKET_TRY(call());
    return ranks_.exchange(kind, pieces, channel, stream);
  }
  Result<void> exchange_messages(std::span<const DeviceMessage> messages, int channel,
                                 DeviceStream stream) override {
    HOCKET_TRY(call());
    return ranks_.exchange_messages(messages, channel, stream);
  }
  Result<std::unique_ptr<DeviceCollective>> split(int group) override {
    auto part = ranks_.split(group);
    HOCKET_TRY(part);
    return std::make_unique<FailingCalls>(std::move(*part), left_);
  }
  Result<void> health() override { return ranks_.health(); }
  void abort() override { ranks_.abort(); }

 private:
  Result<void> call() {
    if (left_-- != 0) return {};
    return failure(ErrorCode::unavailable, "injected failure");
  }

  const std::unique_ptr<DeviceCollective> own_;
  DeviceCollective& ranks_;
  std::atomic<std::int64_t>& left_;
};

/// A rank with a simulated device, of the groups of all axes or of `axes`.
struct RankOnDevice {
  RankOnDevice(ModelGroup& group, LocalGroup& messages, int rank, std::uint64_t seed,
               std::int64_t fail_at = kNever)
      : RankOnDevice(group, messages.join(rank), rank, seed, fail_at, std::nullopt) {}
  RankOnDevice(ModelGroup& group, std::unique_ptr<Collective> messages, int rank,
               std::uint64_t seed, std::int64_t fail_at, std::optional<std::vector<AxisSet>> axes)
      : device(seed * 31 + static_cast<std::uint64_t>(rank)),
        model(group, device, rank),
        calls_left(fail_at),
        collective(model, calls_left),
        link(std::move(messages)),
        groups(collective, link->mesh(), axes ? *axes : all_axis_sets(link->mesh())),
        executor(device, groups, memory, *link, clock) {}

  /// Runs the steps of the rank's program, whose bodies put kernels into streams.
  Result<void> run(const StepDescription& step, const ScheduleConfig& config, Submits submits,
                   RankData& data) {
    const auto launch = [this, &data](const std::vector<Access>& accesses, const auto& effect) {
      std::vector<Region> regions;
      for (const Access& access : accesses) {
        const std::span<float> values = data.items[access.data.index];
        regions.push_back(access.mode == AccessMode::read ? reads(values) : writes(values));
      }
      device.launch(this_device_task().stream, regions, effect);
    };
    return run_program(step, config, submits, executor, data, launch);
  }

  SteadyClock clock;
  ModelDevice device;
  DeviceMemory memory{device};
  ModelCollective model;
  std::atomic<std::int64_t> calls_left;
  FailingCalls collective;
  std::unique_ptr<Collective> link;
  DeviceGroups groups;
  DeviceExecutor executor;
};

/// Runs `body(rank)` on a thread for each rank of `mesh`; ranks on devices are given their job.
class JobOnDevices {
 public:
  explicit JobOnDevices(const Mesh& mesh, std::int64_t timeout_ns = 60'000'000'000)
      : ranks_(static_cast<int>(mesh.grid().ranks)), group(ranks_), messages(mesh, timeout_ns) {}

  void run(const auto& body) {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks_; ++rank) threads.emplace_back([&body, rank] { body(rank); });
  }

 private:
  const int ranks_;

 public:
  ModelGroup group;
  LocalGroup messages;
};

ScheduleConfig random_config_on_device(std::mt19937_64& random) {
  ScheduleConfig config = random_config_of_ranks(random);
  config.step_issue = random() % 2 ? StepIssue::graph : StepIssue::tasks;
  return config;
}

TEST(DevicePrograms, ComputeTheSameAsOneTaskAfterTheOther) {
  std::int64_t graphs = 0;
  for (std::uint64_t seed = 1; seed <= rounds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const StepDescription step = random_job_of_ranks(seed);
    const ScheduleConfig config = random_config_on_device(random);
    SerialJob serial(step);
    for (int i = 0; i < kStepsOfRanks; ++i) ASSERT_NO_FATAL_FAILURE(serial.run_step());
    JobOnDevices job(mesh_of(step));
    std::atomic<std::int64_t> launched = 0;
    job.run([&](int rank) {
      const auto& expected = serial.data[static_cast<std::size_t>(rank)].items;
      RankOnDevice own(job.group, job.messages, rank, seed);
      RankData data(expected.size(), rank);
      const auto ok = own.run(step, config, Submits(seed % 3), data);
      ASSERT_TRUE(ok) << ok.error().message;
      EXPECT_EQ(data.items, expected) << "rank " << rank;
      EXPECT_THAT(own.device.problems(), IsEmpty()) << "rank " << rank;
      launched += own.device.graph_launches();
    });
    ASSERT_FALSE(testing::Test::HasFailure());
    graphs += launched;
  }
  EXPECT_GT(graphs, 0) << "some steps are launched as a whole";
}

TEST(DevicePrograms, EndWithAnErrorWhereARankFails) {
  for (std::uint64_t seed = 1; seed <= rounds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const StepDescription step = random_job_of_ranks(seed);
    const ScheduleConfig config = random_config_on_device(random);
    const int failing = static_cast<int>(random() % static_cast<std::uint64_t>(step.ranks));
    const auto fail_at = static_cast<std::int64_t>(random() % 4);
    JobOnDevices job(mesh_of(step));
    // The others must end at all; those that need nothing of the failing rank succeed.
    job.run([&](int rank) {
      RankOnDevice own(job.group, job.messages, rank, seed, rank == failing ? fail_at : kNever);
      RankData data(4, rank);
      const auto ok = own.run(step, config, Submits(seed % 2), data);
      if (ok) return;
      if (rank == failing) {
        EXPECT_THAT(ok.error().message, testing::AllOf(HasSubstr(" of \""), HasSubstr("injected")));
      } else {
        EXPECT_THAT(ok.error().message, HasSubstr("another rank is gone"));
      }
    });
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

// The rank opens its groups, but takes part in nothing.
TEST(DevicePrograms, EndWithAnErrorWhereARankIsSilent) {
  constexpr std::int64_t kLimitNs = 100'000'000;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const StepDescription step = random_job_of_ranks(seed);
    const ScheduleConfig config = random_config_on_device(random);
    const int silent = static_cast<int>(random() % static_cast<std::uint64_t>(step.ranks));
    JobOnDevices job(mesh_of(step), kLimitNs);
    job.run([&](int rank) {
      RankOnDevice own(job.group, job.messages, rank, seed);
      if (rank == silent) {
        Scheduler scheduler(config, own.executor);
        return;
      }
      RankData data(4, rank);
      const auto ok = own.run(step, config, Submits(seed % 2), data);
      if (!ok) {
        EXPECT_THAT(ok.error().message, HasSubstr("another rank is gone"));
      }
    });
  }
}

/// Counts and values of an all-to-all of two ranks, in which rank 0 sends 1 and 3 values, and rank
/// 1 sends 2 and 4.
struct SmallExchange {
  explicit SmallExchange(int rank) : own(static_cast<std::size_t>(rank)) {
    for (std::size_t i = 0; i < sent.size(); ++i)
      sent[i] = static_cast<float>(10 * rank) + static_cast<float>(i);
  }
  AllToAll work() { return {sent, sent_counts, received, received_counts, 4}; }
  void count() {
    sent_counts = own == 0 ? std::array<std::size_t, 2>{1, 3} : std::array<std::size_t, 2>{2, 4};
    received_counts =
        own == 0 ? std::array<std::size_t, 2>{1, 2} : std::array<std::size_t, 2>{3, 4};
  }
  void forget() {
    sent_counts = received_counts = {};
    std::ranges::fill(received, 0);
  }
  void expect_received() const {
    const auto values =
        own == 0 ? std::vector<float>{0, 10, 11} : std::vector<float>{1, 2, 3, 12, 13, 14, 15};
    EXPECT_EQ(std::vector<float>(received.begin(), received.begin() + std::ssize(values)), values);
  }

  const std::size_t own;
  std::vector<float> sent = std::vector<float>(8), received = std::vector<float>(8);
  std::array<std::size_t, 2> sent_counts{}, received_counts{};
};

// The first two ranks have an all-to-all and launch their steps task by task, the others as graphs.
// Sums of all ranks have three parts on two channels: they go to other channels from step to step
// if a channel follows from the number of parts that a rank has begun so far.
TEST(DevicePrograms, RanksLaunchOneStepInDifferentWays) {
  const Mesh mesh = Mesh::make({{"half", 2}, {"pair", 2}}, {4, 4}).value();
  const CollectiveGroup pair = mesh.parse_group("pair").value();
  JobOnDevices job(mesh);
  const ScheduleConfig config{.partition_bytes = 4096,
                              .comm_channels = 2,
                              .order = CollectiveOrder::fifo,
                              .step_issue = StepIssue::graph};
  job.run([&](int rank) {
    RankOnDevice own(job.group, job.messages, rank, 1);
    Scheduler scheduler(config, own.executor);
    const DataId sums = scheduler.add_data(), message = scheduler.add_data(),
                 sent = scheduler.add_data(), received = scheduler.add_data();
    std::vector<float> summed(3 * 1024, 1), passed(16, static_cast<float>(rank));
    SmallExchange exchange(rank);
    const auto launch = [&](auto effect) {
      return [&own, &exchange, effect] {
        own.device.launch(this_device_task().stream,
                          {writes(exchange.sent), writes(exchange.received)}, effect);
      };
    };
    scheduler.begin_capture();
    if (rank < 2) {
      scheduler.compute({.name = "count"}, {update(sent), update(received)},
                        launch([&] { exchange.count(); }));
      scheduler.all_to_all({.name = "experts"}, sent, received, exchange.work(), pair);
      scheduler.compute({.name = "check"}, {update(sent), update(received)}, launch([&] {
                          exchange.expect_received();
                          exchange.forget();
                        }));
    }
    if (rank == 1) scheduler.send({.name = "on"}, message, passed, CollectiveGroup::world, 2);
    if (rank == 2) scheduler.receive({.name = "from"}, message, passed, CollectiveGroup::world, 1);
    scheduler.all_reduce({.name = "sums"}, sums, summed);
    scheduler.all_gather({.name = "pairs"}, sums, std::span(summed).first(64), pair);
    const auto step = scheduler.end_capture();
    for (int i = 0; i < 5; ++i) static_cast<void>(scheduler.launch(step));
    const auto ok = scheduler.synchronize();
    ASSERT_TRUE(ok) << ok.error().message;
    EXPECT_EQ(summed, std::vector<float>(summed.size(), 1024));
    EXPECT_EQ(passed, std::vector<float>(16, static_cast<float>(rank == 2 ? 1 : rank)));
    EXPECT_EQ(own.device.graph_launches(), rank < 2 ? 0 : 4);
    EXPECT_THAT(own.device.problems(), IsEmpty());
  });
}

TEST(DevicePrograms, SayWhichGroupWasNotMade) {
  const Mesh mesh = Mesh::make({{"half", 2}, {"pair", 2}}, {4, 4}).value();
  const CollectiveGroup pair = mesh.parse_group("pair").value();
  JobOnDevices job(mesh);
  std::barrier all_have_passed(4);
  job.run([&](int rank) {
    RankOnDevice own(job.group, job.messages.join(rank), rank, 1, kNever, {{AxisSet::of(0)}});
    Scheduler scheduler({.order = CollectiveOrder::fifo}, own.executor);
    const DataId data = scheduler.add_data();
    std::vector<float> values(16, static_cast<float>(rank));
    // Messages need no group.
    if (rank % 2 == 0) scheduler.send({.name = "on"}, data, values, pair, 1);
    if (rank % 2 == 1) scheduler.receive({.name = "from"}, data, values, pair, 0);
    const auto passed = scheduler.synchronize();
    all_have_passed.arrive_and_wait();
    ASSERT_TRUE(passed) << passed.error().message;
    EXPECT_EQ(values.front(), static_cast<float>(rank / 2 * 2));
    scheduler.all_reduce({.name = "gradient"}, data, values, pair);
    const auto refused = scheduler.synchronize();
    ASSERT_FALSE(refused);
    EXPECT_THAT(
        refused.error().message,
        testing::AnyOf(HasSubstr("all-reduce of \"gradient\" in step 0: no communicator was "
                                 "made for the group pair: name its axes"),
                       HasSubstr("another rank is gone")));
  });
}

}  // namespace
}  // namespace hocket
