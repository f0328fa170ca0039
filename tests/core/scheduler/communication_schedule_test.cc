#include "core/scheduler/communication_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <thread>

#include "core/host/local_collective.h"
#include "core/scheduler/order_messages.h"
#include "tests/set_clock.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kLongNs = 60'000'000'000;

struct Taken {
  std::uint32_t tensor = 0;
  std::int64_t offset_bytes = 0, bytes = 0;
  bool operator==(const Taken&) const = default;
};

class CommunicationScheduleTest : public testing::Test {
 protected:
  CommunicationScheduleOptions options(CollectiveOrder order = CollectiveOrder::fifo) {
    CommunicationScheduleOptions options{.clock = clock_};
    options.config.order = order;
    options.config.partition_bytes = 4096;
    options.config.credit_bytes = 8192;
    options.config.comm_channels = 4;
    return options;
  }
  static std::uint32_t add(CommunicationSchedule& schedule, std::int64_t bytes,
                           std::uint32_t priority = 0) {
    static int added = 0;
    return schedule.add({"t" + std::to_string(added++), bytes, priority}).value();
  }
  /// Takes all parts that may start now, without ending any.
  static std::vector<ScheduledPart> take(CommunicationSchedule& schedule) {
    std::vector<ScheduledPart> parts;
    while (const auto part = schedule.next(0).value()) parts.push_back(*part);
    return parts;
  }
  /// Takes and ends parts, one by one, until there are none.
  static std::vector<std::uint32_t> run(CommunicationSchedule& schedule) {
    std::vector<std::uint32_t> tensors;
    while (const auto part = schedule.next(0).value()) {
      tensors.push_back(part->tensor);
      EXPECT_TRUE(schedule.notify_finish(*part));
    }
    return tensors;
  }
  static void expect_invalid(const Result<void>& result, const char* words) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(result.error().message, HasSubstr(words));
  }

  SetClock clock_;
};

TEST_F(CommunicationScheduleTest, PartsStartWhenReadyAndWithinTheWindow) {
  CommunicationSchedule schedule(options());
  const auto tensor = add(schedule, 3 * 4096);
  EXPECT_TRUE(schedule.enqueue(tensor));
  EXPECT_THAT(take(schedule), IsEmpty());
  EXPECT_TRUE(schedule.notify_ready(tensor));
  const auto first = take(schedule);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].bytes, 4096);
  EXPECT_EQ(first[1].offset_bytes, 4096);
  EXPECT_NE(first[0].channel, first[1].channel);
  EXPECT_FALSE(schedule.wait(tensor, 0));
  EXPECT_TRUE(schedule.notify_finish(first[1]));
  const auto last = take(schedule);
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].offset_bytes, 8192);
  EXPECT_EQ(last[0].bytes, 4096);
  EXPECT_TRUE(schedule.notify_finish(first[0]));
  EXPECT_TRUE(schedule.notify_finish(last[0]));
  EXPECT_TRUE(schedule.wait(tensor, 0));
}

TEST_F(CommunicationScheduleTest, FifoIsTheOrderOfEnqueuing) {
  CommunicationSchedule schedule(options());
  const auto a = add(schedule, 4096), b = add(schedule, 4096);
  EXPECT_TRUE(schedule.enqueue(a));
  EXPECT_TRUE(schedule.enqueue(b));
  EXPECT_TRUE(schedule.notify_ready(b));
  EXPECT_THAT(take(schedule), IsEmpty());
  EXPECT_TRUE(schedule.notify_ready(a));
  EXPECT_THAT(run(schedule), ElementsAre(a, b));
}

TEST_F(CommunicationScheduleTest, AMoreUrgentTensorOvertakesBetweenParts) {
  auto one_at_a_time = options(CollectiveOrder::negotiated);
  one_at_a_time.config.credit_bytes = 4096;
  CommunicationSchedule schedule(one_at_a_time);
  const auto late = add(schedule, 3 * 4096, 5), urgent = add(schedule, 4096, 1);
  EXPECT_TRUE(schedule.enqueue(late));
  EXPECT_TRUE(schedule.enqueue(urgent));
  EXPECT_TRUE(schedule.notify_ready(late));
  const auto first = take(schedule);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_TRUE(schedule.notify_ready(urgent));
  EXPECT_TRUE(schedule.notify_finish(first[0]));
  EXPECT_THAT(run(schedule), ElementsAre(urgent, late, late));
}

TEST_F(CommunicationScheduleTest, AsManyPartsAreTakenAsThereAreChannels) {
  auto two = options();
  two.config.comm_channels = 2;
  two.config.credit_bytes = 1 << 20;
  CommunicationSchedule schedule(two);
  const auto tensor = add(schedule, 10 * 4096);
  EXPECT_TRUE(schedule.enqueue(tensor));
  EXPECT_TRUE(schedule.notify_ready(tensor));
  const auto parts = take(schedule);
  ASSERT_EQ(parts.size(), 2U);
  two.config.comm_channels = 3;
  EXPECT_TRUE(schedule.reconfigure(two.config));
  EXPECT_EQ(take(schedule).size(), 1U);
  two.config.comm_channels = 1;
  EXPECT_TRUE(schedule.reconfigure(two.config));
  EXPECT_TRUE(schedule.notify_finish(parts[1]));
  EXPECT_THAT(take(schedule), IsEmpty());
  EXPECT_TRUE(schedule.notify_finish(parts[0]));
  EXPECT_EQ(take(schedule).size(), 1U);
}

TEST_F(CommunicationScheduleTest, FollowsAStaticOrder) {
  auto config = options(CollectiveOrder::static_order);
  config.static_order = std::vector<std::uint32_t>{1, 0, 1};
  CommunicationSchedule schedule(config);
  const auto a = add(schedule, 4096), b = add(schedule, 2 * 4096);
  for (int step = 0; step < 2; ++step) {
    for (const auto tensor : {a, b}) EXPECT_TRUE(schedule.enqueue(tensor));
    EXPECT_TRUE(schedule.notify_ready(a));
    EXPECT_THAT(run(schedule), IsEmpty());
    EXPECT_TRUE(schedule.notify_ready(b));
    EXPECT_THAT(run(schedule), ElementsAre(b, a, b));
    EXPECT_TRUE(schedule.end_step());
  }
}

// A job must never hang or fail because a step differs from the one that was recorded.
TEST_F(CommunicationScheduleTest, StepsThatAreNotThoseOfTheStaticOrderRunAsEnqueued) {
  auto config = options(CollectiveOrder::static_order);
  config.static_order = std::vector<std::uint32_t>{1, 0, 1};
  CommunicationSchedule schedule(config);
  const auto a = add(schedule, 4096), b = add(schedule, 2 * 4096), c = add(schedule, 4096);
  const std::vector<std::vector<std::uint32_t>> steps{{a}, {b, a}, {a, c}, {a, b}, {a, b, c}, {}};
  const std::vector<std::vector<std::uint32_t>> orders{{a},       {b, b, a},    {a, c},
                                                       {b, a, b}, {b, a, b, c}, {}};
  for (std::size_t step = 0; step < steps.size(); ++step) {
    SCOPED_TRACE(step);
    for (const auto tensor : steps[step]) EXPECT_TRUE(schedule.enqueue(tensor));
    for (const auto tensor : steps[step]) EXPECT_TRUE(schedule.notify_ready(tensor));
    EXPECT_TRUE(schedule.end_step());
    EXPECT_EQ(run(schedule), orders[step]);
    for (const auto tensor : steps[step]) EXPECT_TRUE(schedule.wait(tensor, 0));
  }
}

TEST_F(CommunicationScheduleTest, AStepThatIsKnownToDifferStartsAtOnce) {
  auto config = options(CollectiveOrder::static_order);
  config.static_order = std::vector<std::uint32_t>{1, 0, 1};
  CommunicationSchedule schedule(config);
  const auto large = add(schedule, 2 * 4096);
  EXPECT_TRUE(schedule.enqueue(large));
  EXPECT_TRUE(schedule.notify_ready(large));
  EXPECT_THAT(run(schedule), ElementsAre(large, large));
}

TEST_F(CommunicationScheduleTest, ATensorIsWaitedForBeforeTheStaticOrderIsComplete) {
  auto config = options(CollectiveOrder::static_order);
  config.static_order = std::vector<std::uint32_t>{1, 0, 1};
  CommunicationSchedule schedule(config);
  const auto a = add(schedule, 4096), b = add(schedule, 2 * 4096);
  for (int step = 0; step < 2; ++step) {
    EXPECT_TRUE(schedule.enqueue(a));
    EXPECT_TRUE(schedule.notify_ready(a));
    EXPECT_THAT(run(schedule), IsEmpty());
    EXPECT_FALSE(schedule.wait(a, 0));
    EXPECT_THAT(run(schedule), ElementsAre(a));
    EXPECT_TRUE(schedule.wait(a, 0));
    EXPECT_TRUE(schedule.enqueue(b));
    EXPECT_TRUE(schedule.notify_ready(b));
    EXPECT_THAT(run(schedule), ElementsAre(b, b));
    EXPECT_TRUE(schedule.end_step());
  }
}

TEST_F(CommunicationScheduleTest, AWaitThatIsTooLongSaysWhatWasForgotten) {
  CommunicationSchedule schedule(options());
  const auto tensor = add(schedule, 4096);
  const auto why = [&] { return schedule.wait(tensor, 0).error().message; };
  EXPECT_TRUE(schedule.enqueue(tensor));
  EXPECT_THAT(why(), HasSubstr("it was not said to be ready"));
  EXPECT_TRUE(schedule.notify_ready(tensor));
  EXPECT_THAT(why(), HasSubstr("1 parts may be taken"));
  const auto part = *schedule.next(0).value();
  EXPECT_THAT(why(), HasSubstr("1 part of it was taken and not said to be finished"));
  EXPECT_TRUE(schedule.notify_finish(part));
  EXPECT_TRUE(schedule.wait(tensor, 0));
}

TEST_F(CommunicationScheduleTest, RefusesCallsThatMakeNoSense) {
  CommunicationSchedule schedule(options());
  EXPECT_TRUE(schedule.add({"one", 1, 0}));
  EXPECT_THAT(schedule.add({"one", 1, 0}).error().message, HasSubstr("names are unique"));
  EXPECT_THAT(schedule.add({"big", -1, 0}).error().message, HasSubstr("bytes is -1"));
  EXPECT_THAT(schedule.add({"odd", 1, kPriorityLevels}).error().message, HasSubstr("priority"));
  const auto tensor = add(schedule, 4096);
  expect_invalid(schedule.enqueue(tensor + 1), "there are 2");
  expect_invalid(schedule.notify_ready(tensor), "is not enqueued");
  EXPECT_TRUE(schedule.wait(tensor, 0));  // never communicated, so nothing to wait for
  EXPECT_TRUE(schedule.enqueue(tensor));
  expect_invalid(schedule.enqueue(tensor), "unfinished");
  EXPECT_TRUE(schedule.notify_ready(tensor));
  expect_invalid(schedule.notify_ready(tensor), "was so already");
  const auto part = *schedule.next(0).value();
  EXPECT_TRUE(schedule.end_step());
  expect_invalid(schedule.end_step(), "1 tensors of the step before");
  auto other = options(CollectiveOrder::negotiated).config;
  EXPECT_EQ(schedule.reconfigure(other).error().code, ErrorCode::unavailable);
  other.partition_bytes = 0;
  EXPECT_EQ(schedule.reconfigure(other).error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(schedule.notify_finish(part));
  expect_invalid(schedule.notify_finish(part), "not under way");
  EXPECT_TRUE(schedule.end_step());
}

TEST_F(CommunicationScheduleTest, AFailureEndsEveryCall) {
  CommunicationSchedule schedule(options());
  const auto tensor = add(schedule, 4096);
  EXPECT_TRUE(schedule.enqueue(tensor));
  std::jthread taker([&] { EXPECT_FALSE(schedule.next(kLongNs)); });
  std::jthread waiter([&] {
    const auto waited = schedule.wait(tensor, kLongNs);
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().message, "rank 1 is gone");
  });
  schedule.fail({ErrorCode::unavailable, "rank 1 is gone"});
  schedule.fail({ErrorCode::unavailable, "a later error"});
  taker.join();
  waiter.join();
  EXPECT_EQ(schedule.end_step().error().message, "rank 1 is gone");
}

TEST_F(CommunicationScheduleTest, ClosingEndsEveryCall) {
  CommunicationSchedule schedule(options());
  const auto tensor = add(schedule, 4096);
  EXPECT_TRUE(schedule.enqueue(tensor));
  std::jthread taker([&] { EXPECT_EQ(schedule.next(kLongNs).value(), std::nullopt); });
  std::jthread waiter([&] { EXPECT_FALSE(schedule.wait(tensor, kLongNs)); });
  schedule.close();
}

/// Rank `rank` of a job: a thread computes, and others communicate.
class Rank {
 public:
  Rank(int rank, Collective& messages, const CommunicationScheduleOptions& options,
       std::span<const ScheduledTensor> tensors)
      : messages_(messages), schedule_(options), random_(static_cast<std::uint64_t>(rank) + 1) {
    for (const ScheduledTensor& tensor : tensors) EXPECT_TRUE(schedule_.add(tensor));
    count_ = static_cast<std::uint32_t>(tensors.size());
    left_.resize(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) bytes_.push_back(tensors[i].bytes);
    channels_ = options.config.comm_channels;
    credit_bytes_ = options.config.credit_bytes;
  }

  void run(int steps) {
    std::vector<std::jthread> threads;
    if (schedule_.order_is_announced()) {
      threads.emplace_back(
          [this] { (messages_.rank() == 0 ? send_order : follow_order)(schedule_, messages_); });
    }
    for (int i = 0; i < channels_; ++i) threads.emplace_back([this] { communicate(); });
    std::vector<std::uint32_t> order(count_);
    std::iota(order.begin(), order.end(), 0U);
    for (int step = 0; step < steps; ++step) {
      for (std::uint32_t tensor = 0; tensor < count_; ++tensor) {
        EXPECT_TRUE(schedule_.wait(tensor, kLongNs));
        EXPECT_EQ(left_[tensor], 0) << "waited for all of it";
        left_[tensor] = bytes_[tensor];
        EXPECT_TRUE(schedule_.enqueue(tensor));
      }
      std::ranges::shuffle(order, random_);
      for (const std::uint32_t tensor : order) EXPECT_TRUE(schedule_.notify_ready(tensor));
      EXPECT_TRUE(schedule_.end_step());
    }
    for (std::uint32_t tensor = 0; tensor < count_; ++tensor)
      EXPECT_TRUE(schedule_.wait(tensor, kLongNs));
    schedule_.close();
  }

  /// The parts by their index.
  std::map<std::uint64_t, Taken> taken() const { return taken_; }

 private:
  void communicate() {
    while (const auto part = schedule_.next(kLongNs).value()) {
      {
        std::lock_guard lock(mutex_);
        in_flight_ += part->bytes;
        ++parts_in_flight_;
        EXPECT_TRUE(in_flight_ <= credit_bytes_ || parts_in_flight_ == 1);
        EXPECT_TRUE(
            taken_.emplace(part->index, Taken{part->tensor, part->offset_bytes, part->bytes})
                .second);
      }
      std::this_thread::yield();
      {
        std::lock_guard lock(mutex_);
        in_flight_ -= part->bytes;
        --parts_in_flight_;
        left_[part->tensor] -= part->bytes;
      }
      EXPECT_TRUE(schedule_.notify_finish(*part));
    }
  }

  Collective& messages_;
  CommunicationSchedule schedule_;
  std::mt19937_64 random_;
  std::uint32_t count_ = 0;
  int channels_ = 1;
  std::int64_t credit_bytes_ = 0;
  std::vector<std::int64_t> bytes_;
  std::mutex mutex_;
  std::vector<std::int64_t> left_;  // guarded by mutex_ while parts are in flight
  std::map<std::uint64_t, Taken> taken_;
  std::int64_t in_flight_ = 0;
  int parts_in_flight_ = 0;
};

TEST_F(CommunicationScheduleTest, RanksStartTheSamePartsInTheSameOrder) {
  const std::uint64_t first_seed = 1;
  for (std::uint64_t seed = first_seed; seed < first_seed + 12; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const int ranks = 1 + static_cast<int>(random() % 3);
    std::vector<ScheduledTensor> tensors(1 + random() % 12);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      tensors[i] = {std::to_string(i), static_cast<std::int64_t>(random() % 60'000),
                    static_cast<std::uint32_t>(random() % 5)};
    }
    const SteadyClock clock;
    CommunicationScheduleOptions options{.clock = clock};
    options.ranks = ranks;
    options.config.order = random() % 2 == 0 ? CollectiveOrder::negotiated : CollectiveOrder::fifo;
    options.config.partition_bytes = 4096 + static_cast<std::int64_t>(random() % 16'384);
    options.config.credit_bytes = 4096 + static_cast<std::int64_t>(random() % 65'536);
    options.config.comm_channels = 1 + static_cast<int>(random() % 4);
    LocalGroup group(ranks, kLongNs);
    std::vector<std::unique_ptr<Collective>> messages;
    std::vector<std::unique_ptr<Rank>> all;
    for (int rank = 0; rank < ranks; ++rank) {
      options.rank = rank;
      messages.push_back(group.join(rank));
      all.push_back(std::make_unique<Rank>(rank, *messages.back(), options, tensors));
    }
    std::vector<std::jthread> threads;
    for (auto& rank : all) threads.emplace_back([&rank] { rank->run(4); });
    threads.clear();
    for (const auto& rank : all) EXPECT_EQ(rank->taken(), all.front()->taken());
  }
}

}  // namespace
}  // namespace hocket
