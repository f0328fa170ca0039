// Tests that parts are put into their streams beside the tasks, and that this ends in any case. The
// executor's tests of random programs check the order.

#include "core/cuda/executor/exchange_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/scheduler/scheduler.h"
#include "tests/core/cuda/model_rank.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// Two ranks on simulated devices, each with a thread.
class TwoRanks {
 public:
  explicit TwoRanks(const Clock& clock) {
    for (int rank = 0; rank < 2; ++rank)
      ranks_.push_back(std::make_unique<ModelRank>(group_, messages_, rank,
                                                   7 + static_cast<std::uint64_t>(rank), clock));
  }

  ModelGroup& group() { return group_; }
  /// Calls `run(rank)` of both ranks at once.
  void run(const auto& run_rank) {
    std::vector<std::jthread> threads;
    for (const auto& rank : ranks_) threads.emplace_back([&] { run_rank(*rank); });
  }

 private:
  ModelGroup group_{2};
  LocalGroup messages_{2, 60'000'000'000};
  std::vector<std::unique_ptr<ModelRank>> ranks_;
};

TEST(ExchangeThread, TasksAreIssuedWhileAPartIsOnItsWay) {
  const SteadyClock clock;
  TwoRanks ranks(clock);
  ranks.run([](ModelRank& rank) {
    std::vector<float> gradient(16, 1.0F), other(16);
    std::atomic<int> issued = 0;
    rank.collective.before_exchange = [&] {
      while (issued < 20) std::this_thread::yield();
    };
    {
      Scheduler scheduler({.streams = 2}, rank.executor);
      const DataId summed = scheduler.add_data(), data = scheduler.add_data();
      scheduler.all_reduce({.name = "gradient"}, summed, gradient);
      for (int i = 0; i < 20; ++i) {
        scheduler.compute({.name = "kernel"}, {update(data)}, [&] {
          rank.device.launch(this_device_task().stream, {writes(other)}, [] {});
          ++issued;
        });
      }
      scheduler.compute({.name = "use"}, {read(summed)}, [&] {
        rank.device.launch(this_device_task().stream, {reads(gradient)}, [] {});
      });
      EXPECT_TRUE(scheduler.synchronize());
    }
    EXPECT_EQ(gradient, std::vector<float>(16, 2.0F));
    EXPECT_THAT(rank.device.problems(), IsEmpty());
  });
}

// The part ends when the failure of the task has aborted the collectives.
TEST(ExchangeThread, AFailureIsReportedWhileAPartIsOnItsWay) {
  const SteadyClock clock;
  TwoRanks ranks(clock);
  std::atomic<int> named = 0;
  ranks.run([&](ModelRank& rank) {
    std::vector<float> gradient(16);
    std::atomic<bool> is_on_its_way = false;
    rank.collective.before_exchange = [&] {
      is_on_its_way = true;
      while (!ranks.group().is_aborted()) std::this_thread::yield();
    };
    Scheduler scheduler({}, rank.executor);
    scheduler.all_reduce({.name = "gradient"}, scheduler.add_data(), gradient);
    while (!is_on_its_way) std::this_thread::yield();
    scheduler.compute({.name = "gelu"}, {}, [] { ModelDevice::fail_launch("out of resources"); });
    const auto ok = scheduler.synchronize();
    ASSERT_FALSE(ok);
    // The rank that fails second may hear of the first one before its own failure.
    if (ok.error().message.find("out of resources") != std::string::npos) {
      ++named;
    } else {
      EXPECT_THAT(ok.error().message, HasSubstr("another rank is gone"));
    }
  });
  EXPECT_GE(named, 1);
}

/// A collective of two ranks whose exchanges fail.
class FailingCollective final : public DeviceCollective {
 public:
  explicit FailingCollective(int rank) : rank_(rank) {}
  int rank() const override { return rank_; }
  int world_size() const override { return 2; }
  Result<void> open(int) override { return {}; }
  Result<void> exchange(CollectiveKind, std::span<const DevicePiece>, int, DeviceStream) override {
    return failure(ErrorCode::unavailable, "no such network");
  }
  Result<void> exchange_messages(std::span<const DeviceMessage>, int, DeviceStream) override {
    return failure(ErrorCode::unavailable, "no such network");
  }
  Result<std::unique_ptr<DeviceCollective>> split(int) override {
    return failure(ErrorCode::unavailable, "no groups");
  }
  Result<void> health() override { return {}; }
  void abort() override {}

 private:
  const int rank_;
};

TEST(ExchangeThread, SaysWhichPartFailed) {
  const SteadyClock clock;
  LocalGroup messages(2, 60'000'000'000);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      FailingCollective collective(rank);
      const auto link = messages.join(rank);
      ModelDevice device;
      DeviceMemory memory(device);
      DeviceGroups groups(collective, link->mesh());
      DeviceExecutor executor(device, groups, memory, *link, clock);
      std::vector<float> values(16);
      Scheduler scheduler({}, executor);
      scheduler.all_reduce({.name = "gradient"}, scheduler.add_data(), values);
      const auto ok = scheduler.synchronize();
      ASSERT_FALSE(ok);
      EXPECT_THAT(ok.error().message,
                  HasSubstr("all-reduce of \"gradient\" in step 0: no such network"));
    });
  }
}

}  // namespace
}  // namespace hocket
