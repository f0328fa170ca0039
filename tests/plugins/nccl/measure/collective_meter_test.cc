#include "plugins/nccl/measure/collective_meter.h"

#include <gtest/gtest.h>

#include <thread>

#include <memory>
#include <set>

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

TEST_F(CollectiveMeterTest, EveryMeterHasAWindowOfItsOwn) {
  CollectiveMeter* a = pool->take();
  CollectiveMeter* b = pool->take();
  ASSERT_NE(a, b);
  a->profiler_opened();
  b->profiler_opened();
  a->want_channel_times(true);
  a->want_channel_times(true);
  EXPECT_EQ(nccl, kOwn);
  EXPECT_FALSE(b->wants_channel_times());
  b->want_channel_times(true);
  a->want_channel_times(false);
  a->want_channel_times(false);
  EXPECT_EQ(nccl, kOwn) << "b's window is open";
  b->want_channel_times(false);
  EXPECT_EQ(nccl, kCounted);
}

TEST_F(CollectiveMeterTest, AWindowNeedsAProfilerAndEndsWithIt) {
  CollectiveMeter* meter = pool->take();
  meter->want_channel_times(true);
  EXPECT_EQ(nccl, kCounted);
  EXPECT_FALSE(meter->wants_channel_times());
  meter->profiler_opened();
  meter->want_channel_times(true);
  EXPECT_EQ(nccl, kOwn);
  meter->profiler_closed();
  EXPECT_EQ(nccl, kCounted);
  meter->want_channel_times(true);
  EXPECT_EQ(nccl, kCounted);
}

TEST_F(CollectiveMeterTest, CountsWhatTheCallingThreadLaunches) {
  CollectiveMeter* meter = pool->take();
  meter->launched();
  EXPECT_EQ(meter->launches(), 0u) << "nothing was called";
  meter->called();
  meter->launched();
  meter->launched();
  // As a graph that is replayed.
  std::thread([&] { meter->launched(); }).join();
  EXPECT_EQ(meter->launches(), 2u);
  pool->give_back(meter);
  EXPECT_EQ(pool->take()->launches(), 0u);
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
