#include "core/cuda/streams/device_queues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "tests/core/cuda/model_device.h"
#include "tests/core/host/own_lanes.h"
#include "tests/set_clock.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr DataId kData{0};

class DeviceQueuesTest : public testing::Test {
 protected:
  void put_one(std::int64_t step) {
    const StreamPlacement placement = queues_->mapping().place_compute({});
    const DeviceWork work{{.name = "task", .step = step}};
    ASSERT_TRUE(queues_->begin(placement, &work));
    ASSERT_TRUE(queues_->end(placement.position, &work));
  }
  std::vector<CompletedWork> poll() {
    std::vector<CompletedWork> completed;
    EXPECT_TRUE(queues_->poll(completed));
    return completed;
  }

  SetClock clock_;
  ModelDevice device_;
  std::unique_ptr<DeviceQueues> queues_ =
      DeviceQueues::open(device_, {.streams = 2, .channels = 1}, nullptr, clock_).value();
};

TEST_F(DeviceQueuesTest, ChannelsAndTheEndsOfMemoryAreUrgent) {
  EXPECT_THAT(device_.priorities(), ElementsAre(StreamPriority::normal, StreamPriority::normal,
                                                StreamPriority::urgent, StreamPriority::urgent));
}

TEST_F(DeviceQueuesTest, EverythingCompletesOnceAndInTheOrderOfItsStream) {
  constexpr std::int64_t kTasks = 500;
  for (std::int64_t i = 0; i < kTasks; ++i) put_one(i);
  EXPECT_EQ(queues_->in_flight(), 500u);
  std::vector<int> times(kTasks);
  std::vector<std::int64_t> last(2, -1);
  while (queues_->in_flight() > 0) {
    for (const CompletedWork& done : poll()) {
      ++times[static_cast<std::size_t>(done.step)];
      // Tasks without data go to the streams in turn.
      std::int64_t& before = last[static_cast<std::size_t>(done.step % 2)];
      EXPECT_LT(before, done.step);
      before = done.step;
    }
  }
  EXPECT_THAT(times, testing::Each(1));
}

TEST_F(DeviceQueuesTest, EventsAreUsedAgain) {
  for (int step = 0; step < 50; ++step) {
    for (int i = 0; i < 20; ++i) put_one(step);
    while (queues_->in_flight() > 0) poll();
  }
  EXPECT_LE(device_.events_made(), 20);
}

TEST_F(DeviceQueuesTest, AStreamWithNothingNewCostsOneQuestion) {
  device_.hold();
  for (int i = 0; i < 100; ++i) put_one(0);
  EXPECT_THAT(poll(), IsEmpty());
  EXPECT_EQ(device_.questions(), 2);
}

TEST_F(DeviceQueuesTest, WhatHasRunIsFoundByHalving) {
  for (int i = 0; i < 512; ++i) put_one(0);
  device_.run_all();
  EXPECT_EQ(poll().size(), 512u);
  // 256 events per stream: one query, then one per halving.
  EXPECT_LE(device_.questions(), 2 * 10);
}

TEST_F(DeviceQueuesTest, AStreamWaitsForWhatItsPlacementSays) {
  const Access access = update(kData);
  const StreamPlacement first = queues_->mapping().place_compute({&access, 1});
  device_.launch(queues_->begin(first, nullptr).value(), {}, {});
  ASSERT_TRUE(queues_->end(first.position, nullptr));
  const StreamPlacement part = queues_->mapping().place_part({9, 0}, {&access, 1}, 0);
  ASSERT_TRUE(queues_->begin(part, nullptr));
  EXPECT_EQ(device_.waits(), 1);
  EXPECT_EQ(device_.idle_waits(), 0);
}

/// A compute stream and a channel that show what they run.
class ShownQueuesTest : public testing::Test {
 protected:
  /// Puts work of this name, or a piece of memory's end, into the stream.
  void put(std::string_view name) {
    const StreamPlacement placement = queues_->mapping().place_compute({});
    const DeviceWork work{{.name = name, .step = 3}};
    const DeviceWork* const done = name.empty() ? nullptr : &work;
    ASSERT_TRUE(queues_->begin(placement, done));
    ASSERT_TRUE(queues_->end(placement.position, done));
  }
  std::size_t poll() {
    std::vector<CompletedWork> completed;
    EXPECT_TRUE(queues_->poll(completed));
    return completed.size();
  }
  /// Returns what the stream shows, "" if it waits.
  static std::string shown() {
    const ShownLane lane = own_lanes().at(0).lanes.at(0);
    return lane.state == LaneState::running ? lane.name : "";
  }

  SetClock clock_;
  ModelDevice device_;
  std::unique_ptr<LaneBoard> board_ =
      LaneBoard::open(Mesh(), 0, {.compute = 1, .communication = 1});
  std::unique_ptr<DeviceQueues> queues_ =
      DeviceQueues::open(device_, {.streams = 1, .channels = 1}, nullptr, clock_, board_.get())
          .value();
};

TEST_F(ShownQueuesTest, AStreamShowsTheFirstWorkThatHasNotRun) {
  const std::array<std::string_view, 4> names = {"forward", "backward", "update", "copy"};
  device_.hold();
  EXPECT_EQ(shown(), "");
  for (const std::string_view name : names) {
    put(name);
    EXPECT_EQ(shown(), "forward");
  }
  device_.release();
  for (std::size_t run = 0; run < names.size();) {
    run += poll();
    EXPECT_EQ(shown(), run < names.size() ? names[run] : "");
  }
}

TEST_F(ShownQueuesTest, AStreamThatFreesMemoryShowsNoWork) {
  int freeing = 0;
  for (int round = 0; round < 200; ++round) {
    device_.hold();
    put("forward");
    put("");
    put("backward");
    device_.release();
    while (queues_->in_flight() > 0) {
      poll();
      constexpr std::array<std::string_view, 4> kShown = {"", "backward", "", "forward"};
      EXPECT_EQ(shown(), kShown.at(queues_->in_flight()));
      if (queues_->in_flight() == 2) ++freeing;
    }
  }
  EXPECT_GT(freeing, 0);
}

TEST_F(DeviceQueuesTest, PassesOnWhatTheDriverSays) {
  put_one(0);
  device_.fail_at(0);
  std::vector<CompletedWork> completed;
  const auto ok = queues_->poll(completed);
  ASSERT_FALSE(ok);
  EXPECT_THAT(ok.error().message, HasSubstr("the model device has failed"));
  const auto other = DeviceQueues::open(device_, {}, nullptr, clock_);
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("making stream 0"));
}

}  // namespace
}  // namespace hocket
