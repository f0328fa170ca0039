#include "plugins/nccl/measure/collective_meter.h"

#include <gtest/gtest.h>

#include <thread>

#include <memory>
#include <set>
#include <vector>

namespace hocket::nccl::measure {
namespace {

constexpr int kOwn = 2 | 64;
constexpr int kCounted = 2;

class CollectiveMeterTest : public ::testing::Test {
 protected:
  void SetUp() override { mask.attach(&nccl); }

  int nccl = 0;
  EventMask mask;
  std::unique_ptr<MeterPool> pool = std::make_unique<MeterPool>(mask);
};

TEST_F(CollectiveMeterTest, EveryMeterAsksForItself) {
  CollectiveMeter* a = pool->take();
  CollectiveMeter* b = pool->take();
  ASSERT_NE(a, b);
  a->profiler_opened();
  b->profiler_opened();
  EXPECT_EQ(nccl, 0);
  a->ask_for(Events::timed);
  a->ask_for(Events::timed);
  EXPECT_EQ(nccl, kOwn);
  EXPECT_EQ(b->events(), Events::none);
  b->ask_for(Events::timed);
  a->ask_for(Events::counted);
  a->ask_for(Events::counted);
  EXPECT_EQ(nccl, kOwn) << "b's collectives are timed";
  b->ask_for(Events::none);
  EXPECT_EQ(nccl, kCounted);
}

TEST_F(CollectiveMeterTest, EventsNeedAProfilerAndEndWithIt) {
  CollectiveMeter* meter = pool->take();
  meter->ask_for(Events::timed);
  EXPECT_EQ(nccl, 0);
  EXPECT_EQ(meter->events(), Events::none);
  meter->profiler_opened();
  meter->ask_for(Events::timed);
  EXPECT_EQ(nccl, kOwn);
  meter->profiler_closed();
  EXPECT_EQ(nccl, 0);
  meter->ask_for(Events::timed);
  EXPECT_EQ(nccl, 0);
}

TEST_F(CollectiveMeterTest, CountsWhatTheCallingThreadLaunches) {
  CollectiveMeter* meter = pool->take();
  meter->profiler_opened();
  meter->ask_for(Events::counted);
  meter->launched(0);
  EXPECT_EQ(meter->launches(), 0u) << "nothing was called";
  meter->called();
  meter->launched(0);
  meter->launched(0);  // of another function
  // As a graph that is replayed.
  std::thread([&] { meter->launched(1); }).join();
  EXPECT_EQ(meter->launches(), 2u);
  meter->profiler_closed();
  pool->give_back(meter);
  EXPECT_EQ(pool->take()->launches(), 0u);
}

TEST_F(CollectiveMeterTest, CountsFromTheGateOnAtWhichCountingBeginsWithNcclsNumber) {
  CollectiveMeter* meter = pool->take();
  meter->profiler_opened();
  meter->called();
  meter->launched(70);
  EXPECT_EQ(meter->launches(), 0u) << "for another communicator";
  meter->ask_for(Events::asked);
  meter->launched(71);
  EXPECT_EQ(meter->launches(), 0u) << "perhaps on this rank alone";
  meter->ask_for(Events::counted);
  meter->launched(72);
  meter->ask_for(Events::timed);
  meter->launched(73);
  meter->ask_for(Events::counted);
  EXPECT_EQ(meter->launches(), 74u);
  meter->ask_for(Events::none);
  EXPECT_EQ(meter->launches(), 0u);
}

TEST_F(CollectiveMeterTest, NumbersAreThoseSinceTimingBeganWhateverNcclCountedBefore) {
  const auto numbers_of = [&](std::uint64_t counted_before) {
    CollectiveMeter* meter = pool->take();
    meter->profiler_opened();
    meter->called();
    std::vector<std::uint64_t> numbers;
    std::uint64_t nccl_number = counted_before;
    for (int timing = 0; timing < 2; ++timing) {
      meter->ask_for(Events::timed);
      for (const int function : {4, 2, 4, -1}) {
        MeasuredCollective collective{.sequence = nccl_number++, .function = function};
        EXPECT_TRUE(meter->renumber(collective));
        if (function >= 0) numbers.push_back(collective.sequence);
      }
      meter->ask_for(Events::counted);
      nccl_number += 10;
    }
    meter->profiler_closed();
    pool->give_back(meter);
    return numbers;
  };
  const auto numbers = numbers_of(0);
  EXPECT_EQ(numbers, numbers_of(77));
  EXPECT_LT(numbers[0], numbers[2]);
  EXPECT_LT(numbers[2], numbers[3]) << "numbers rise through all times of timing";
}

TEST_F(CollectiveMeterTest, AReplayBeforeTheFirstCallHasNoNumber) {
  CollectiveMeter* meter = pool->take();
  meter->profiler_opened();
  meter->called();
  meter->ask_for(Events::timed);
  MeasuredCollective replayed{.sequence = 5, .function = 4};
  std::thread([&] { EXPECT_FALSE(meter->renumber(replayed)); }).join();
  MeasuredCollective called{.sequence = 6, .function = 4};
  EXPECT_TRUE(meter->renumber(called));
  std::thread([&] { EXPECT_TRUE(meter->renumber(replayed)); }).join();
}

TEST_F(CollectiveMeterTest, ANewUserSeesNothingOfTheOldOne) {
  CollectiveMeter* meter = pool->take();
  meter->profiler_opened();
  meter->called();
  MeasuredCollective announced;
  announced.channels = 1;
  void* old = meter->start_collective(announced, nullptr);
  void* unfinished = meter->start_collective(announced, nullptr);
  {
    SlotUse use(meter->slots(), to_handle(old));
    SlotUse channel(meter->slots(), to_handle(use.start_channel(0, 1000, nullptr)));
    channel.stop_channel(2000);
  }
  meter->slots().count_stale();
  meter->profiler_closed();
  pool->give_back(meter);
  ASSERT_EQ(pool->take(), meter);
  EXPECT_FALSE(meter->has_profiler());
  MeasuredCollective out;
  EXPECT_FALSE(meter->pop(out)) << "a measurement of the communicator before";
  EXPECT_EQ(meter->losses().stale, 0U);
  for (void* handle : {old, unfinished}) {
    EXPECT_FALSE(static_cast<bool>(SlotUse(meter->slots(), to_handle(handle))));
  }
  EXPECT_EQ(meter->losses().stale, 2U);
}

TEST_F(CollectiveMeterTest, ThePoolFindsItsMetersByTheirHandles) {
  std::set<CollectiveMeter*> taken;
  for (int i = 0; i < 8; ++i) {
    CollectiveMeter* meter = pool->take();
    EXPECT_TRUE(taken.insert(meter).second);
    void* handle = meter->start_collective({}, nullptr);
    EXPECT_EQ(pool->at(to_handle(handle).meter), meter);
  }
  EXPECT_EQ(pool->at(to_handle(handle_without_slot()).meter), nullptr);
  EXPECT_EQ(pool->at(8), nullptr);
  EXPECT_EQ(pool->at(-1), nullptr);
}

}  // namespace
}  // namespace hocket::nccl::measure
