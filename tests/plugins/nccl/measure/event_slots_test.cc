#include "plugins/nccl/measure/event_slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace hocket::nccl::measure {
namespace {

constexpr std::uint64_t kNow_ns = 1'790'000'000'000'000'000;

MeasuredCollective announced(std::uint64_t sequence, int channels) {
  MeasuredCollective collective;
  collective.sequence = sequence;
  collective.bytes = 4096;
  collective.function = 4;
  collective.channels = channels;
  return collective;
}

class EventSlotsTest : public ::testing::Test {
 protected:
  void* begin(std::uint64_t sequence, int channels, void* chained = nullptr) {
    return slots->begin(announced(sequence, channels), chained, 1);
  }
  void* start(void* collective, int channel, std::uint64_t start_ns, void* chained = nullptr) {
    SlotUse use(*slots, to_handle(collective));
    return use ? use.start_channel(channel, start_ns, chained) : nullptr;
  }
  void stop(void* channel, std::uint64_t stop_ns) {
    SlotUse use(*slots, to_handle(channel));
    if (!use) return;
    use.stop_channel(stop_ns);
    use.end();
  }
  void end(void* handle) {
    SlotUse use(*slots, to_handle(handle));
    if (use) use.end();
  }
  bool is_present(void* handle) { return static_cast<bool>(SlotUse(*slots, to_handle(handle))); }
  bool pop() { return slots->ring().pop(out, 1); }

  std::unique_ptr<EventSlots> slots = std::make_unique<EventSlots>(5);
  MeasuredCollective out;
};

TEST(EventHandle, IsReadBackAndIsNoAddress) {
  std::mt19937_64 random(7);
  int local = 0;
  const auto heap = std::make_unique<int>(0);
  for (const void* address :
       {static_cast<const void*>(&local), static_cast<const void*>(heap.get()),
        static_cast<const void*>(nullptr)}) {
    EXPECT_FALSE(is_own(address));
  }
  for (int i = 0; i < 1000; ++i) {
    const EventHandle handle = {static_cast<int>(random() % kMeters),
                                static_cast<int>(random() % kSlots), random() % 2 == 0,
                                static_cast<int>(random() % kChannels),
                                static_cast<std::uint32_t>(random()) & kGenerationMask};
    ASSERT_TRUE(is_own(to_pointer(handle)));
    ASSERT_EQ(to_handle(to_pointer(handle)), handle);
  }
  EXPECT_TRUE(is_own(handle_without_slot()));
  EXPECT_EQ(to_handle(handle_without_slot()).meter, kMeters);
}

TEST_F(EventSlotsTest, TheTimeIsFromTheFirstStartToTheLastStop) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const int channels = 1 + static_cast<int>(random() % kChannels);
    void* collective = begin(seed, channels);
    ASSERT_NE(collective, nullptr);
    std::uint64_t first_ns = ~std::uint64_t{0}, last_ns = 0;
    std::vector<void*> handles;
    std::vector<std::uint64_t> starts_ns;
    const int end_at = static_cast<int>(random() % static_cast<unsigned>(channels));
    for (int c = 0; c < channels; ++c) {
      if (c == end_at) end(collective);
      starts_ns.push_back(kNow_ns + random() % 10'000);
      first_ns = std::min(first_ns, starts_ns.back());
      handles.push_back(start(collective, c, starts_ns.back()));
      ASSERT_TRUE(is_own(handles.back()));
    }
    std::vector<int> order(static_cast<std::size_t>(channels));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::shuffle(order.begin(), order.end(), random);
    for (const int c : order) {
      ASSERT_FALSE(pop()) << "published before the last channel stopped";
      const std::uint64_t stop_ns = starts_ns[static_cast<std::size_t>(c)] + random() % 50'000;
      last_ns = std::max(last_ns, stop_ns);
      stop(handles[static_cast<std::size_t>(c)], stop_ns);
    }
    ASSERT_TRUE(pop());
    EXPECT_EQ(out.sequence, seed);
    EXPECT_EQ(out.time_ns, static_cast<std::int64_t>(last_ns - first_ns));
    EXPECT_TRUE(out.is_complete());
    ASSERT_FALSE(pop());
  }
  const MeasuringLosses losses = slots->losses();
  EXPECT_EQ(losses.quarantined + losses.incomplete + losses.stale + losses.without_slot, 0U);
}

TEST_F(EventSlotsTest, RepeatedEventsChangeNothing) {
  void* collective = begin(1, 2);
  void* first = start(collective, 0, kNow_ns);
  EXPECT_EQ(start(collective, 0, kNow_ns - 500), first);
  void* second = start(collective, 1, kNow_ns + 10);
  stop(first, kNow_ns + 100);
  stop(first, kNow_ns + 900);
  ASSERT_FALSE(pop());
  stop(second, kNow_ns + 200);
  stop(second, kNow_ns + 300);
  ASSERT_TRUE(pop());
  EXPECT_EQ(out.time_ns, 200);
  EXPECT_FALSE(pop());
  EXPECT_EQ(start(collective, kChannels, kNow_ns), handle_without_slot());
}

TEST_F(EventSlotsTest, ImpossibleTimesAreQuarantined) {
  const struct {
    std::uint64_t start_ns, stop_ns;
  } kTimes[] = {{kNow_ns, kNow_ns - 1}, {0, kNow_ns}, {kNow_ns, kNow_ns + 2 * 3'600'000'000'000}};
  std::uint64_t expected = 0;
  for (const auto& times : kTimes) {
    // The other channel hides the error in the sum.
    void* collective = begin(1, 2);
    void* good = start(collective, 0, kNow_ns - 1000);
    void* bad = start(collective, 1, times.start_ns);
    stop(bad, times.stop_ns);
    stop(good, kNow_ns + 1000);
    end(collective);
    EXPECT_FALSE(pop());
    EXPECT_EQ(slots->losses().quarantined, ++expected);
  }
  void* unset = begin(1, 1);
  stop(start(unset, 0, 0), 500);
  EXPECT_FALSE(pop());
  EXPECT_EQ(slots->losses().quarantined, ++expected);
  void* collective = begin(1, 1);
  stop(start(collective, 0, kNow_ns), kNow_ns);
  ASSERT_TRUE(pop()) << "the timer has steps of about a microsecond, so 0 is possible";
  EXPECT_EQ(out.time_ns, 0);
}

TEST_F(EventSlotsTest, QuarantineEndsWithTheUseOfTheSlot) {
  for (int i = 0; i < 2 * kSlots; ++i) {
    const bool is_good = i >= kSlots;
    void* collective = begin(1, 1);
    ASSERT_NE(collective, nullptr);
    stop(start(collective, 0, kNow_ns), is_good ? kNow_ns + 1 : kNow_ns - 1);
    end(collective);
    ASSERT_EQ(pop(), is_good) << i;
  }
  EXPECT_EQ(slots->losses().quarantined, static_cast<std::uint64_t>(kSlots));
}

TEST_F(EventSlotsTest, AHandleIsStaleOnceItsSlotIsReused) {
  void* collective = begin(1, 1);
  void* channel = start(collective, 0, kNow_ns);
  stop(channel, kNow_ns + 10);
  end(collective);
  EXPECT_TRUE(is_present(collective)) << "nothing has taken the slot yet";
  std::vector<void*> others;
  while (is_present(collective)) {
    ASSERT_LT(others.size(), 2U * kSlots);
    void* other = begin(2, 1);
    ASSERT_NE(other, nullptr);
    others.push_back(other);
    stop(start(other, 0, kNow_ns), kNow_ns + 5);
    end(other);
  }
  const std::uint64_t before = slots->losses().stale;
  EXPECT_EQ(start(collective, 0, kNow_ns), nullptr);
  stop(channel, kNow_ns + 999);
  EXPECT_EQ(slots->losses().stale, before + 2);
  while (pop()) {
    if (out.sequence == 2) {
      EXPECT_EQ(out.time_ns, 5) << "changed by a stale handle";
    }
  }
}

TEST_F(EventSlotsTest, UnfinishedCollectivesKeepTheirSlotsForAWhile) {
  std::vector<void*> waiting;
  for (int i = 0; i < kSlots; ++i) {
    waiting.push_back(begin(static_cast<std::uint64_t>(i), 1));
    ASSERT_NE(waiting.back(), nullptr);
    end(waiting.back());
  }
  EXPECT_EQ(begin(1000, 1), nullptr);
  EXPECT_EQ(slots->losses().without_slot, 1U);
  // The GPU catches up: every one is measured.
  for (void* collective : waiting) stop(start(collective, 0, kNow_ns), kNow_ns + 1);
  int measured = 0;
  while (pop()) ++measured;
  EXPECT_EQ(measured, kSlots);
  EXPECT_NE(begin(1001, 1), nullptr);
}

TEST_F(EventSlotsTest, ALostCollectiveGivesItsSlotBackWithWhatIsKnown) {
  void* half = begin(1, 2);
  stop(start(half, 0, kNow_ns), kNow_ns + 70);
  start(half, 1, kNow_ns);
  for (std::uint64_t i = 0; slots->losses().incomplete == 0; ++i) {
    ASSERT_LT(i, EventSlots::kPatience + 2U * kSlots);
    ASSERT_FALSE(i < EventSlots::kPatience && !is_present(half)) << "impatient";
    void* other = begin(2, 1);
    ASSERT_NE(other, nullptr);
    stop(start(other, 0, kNow_ns), kNow_ns + 5);
    end(other);
    while (pop() && out.sequence == 2) {
    }
  }
  EXPECT_FALSE(is_present(half));
  EXPECT_EQ(out.sequence == 1 || (pop() && out.sequence == 1), true);
  EXPECT_EQ(out.time_ns, 70);
  EXPECT_EQ(out.timed_channels, 1);
  EXPECT_FALSE(out.is_complete());
}

TEST_F(EventSlotsTest, ASlotInUseIsNotReused) {
  void* collective = begin(1, 1, &out);
  {
    SlotUse use(*slots, to_handle(collective));
    ASSERT_TRUE(use);
    void* channel = use.start_channel(0, kNow_ns, nullptr);
    stop(channel, kNow_ns + 1);
    end(collective);
    for (int i = 0; i < 3 * kSlots; ++i) {
      void* other = begin(2, 1);
      ASSERT_NE(other, nullptr);
      ASSERT_NE(to_handle(other).slot, to_handle(collective).slot);
      stop(start(other, 0, kNow_ns), kNow_ns + 5);
      end(other);
    }
    EXPECT_EQ(use.chained(), &out);
    slots->close();
    EXPECT_EQ(use.chained(), &out) << "changed under a user";
  }
  EXPECT_FALSE(is_present(collective));
}

TEST_F(EventSlotsTest, ClosingMakesAllHandlesStaleAndAllSlotsFree) {
  std::vector<void*> handles;
  for (int i = 0; i < kSlots; ++i) handles.push_back(begin(1, i % 3));
  void* channel = start(handles[1], 0, kNow_ns);
  slots->close();
  slots->close();
  for (void* handle : handles) EXPECT_FALSE(is_present(handle));
  stop(channel, kNow_ns + 1);
  EXPECT_FALSE(pop());
  for (int i = 0; i < kSlots; ++i) EXPECT_NE(begin(2, 1), nullptr) << i;
  for (void* handle : handles) EXPECT_FALSE(is_present(handle));
  EXPECT_EQ(slots->losses().incomplete, 0U);
}

TEST_F(EventSlotsTest, KnowsTheChainedHandles) {
  int collective_event = 0, channel_event = 0;
  void* collective = begin(1, 2, &collective_event);
  void* first = start(collective, 0, kNow_ns, &channel_event);
  void* second = start(collective, 1, kNow_ns);
  const auto chained = [&](void* handle) { return SlotUse(*slots, to_handle(handle)).chained(); };
  EXPECT_EQ(chained(collective), &collective_event);
  EXPECT_EQ(chained(first), &channel_event);
  EXPECT_EQ(chained(second), nullptr);
  EventHandle forged = to_handle(collective);
  forged.is_channel = true;
  forged.channel = 9;
  EXPECT_EQ(chained(to_pointer(forged)), nullptr) << "a channel that did not start";
  // Nor what is left from the use of the slot before.
  slots->close();
  for (int i = 0; i < kSlots; ++i) {
    EventHandle again = to_handle(begin(2, 1, &collective_event));
    again.is_channel = true;
    EXPECT_EQ(chained(to_pointer(again)), nullptr);
  }
}

// NCCL's thread begins collectives and ends them; two proxy threads start and stop their channels
// late and with stale handles; another closes the slots now and then. The times that come out must
// be those that went in.
TEST_F(EventSlotsTest, ThreadsNeverMixTwoCollectives) {
  constexpr int kCollectives = 20'000, kProxies = 2, kWidth = 4;
  std::vector<std::atomic<void*>> handles(kCollectives);
  std::atomic<int> begun{0};
  std::atomic<bool> is_over{false};
  std::thread host([&] {
    for (int i = 0; i < kCollectives; ++i) {
      void* handle = nullptr;
      while (handle == nullptr) {
        handle = begin(static_cast<std::uint64_t>(i), kWidth);
        if (handle == nullptr) std::this_thread::yield();
      }
      handles[static_cast<std::size_t>(i)].store(handle);
      begun.store(i + 1);
      end(handle);
      if (i % 5000 == 4999) slots->close();
    }
  });
  std::vector<std::thread> proxies;
  for (int p = 0; p < kProxies; ++p) {
    proxies.emplace_back([&, p] {
      std::deque<void*> old;
      for (int i = 0; i < kCollectives; ++i) {
        while (begun.load() <= i) std::this_thread::yield();
        void* collective = handles[static_cast<std::size_t>(i)].load();
        for (int c = p; c < kWidth; c += kProxies) {
          // Collective i runs from i to 2 i, so that a mixture shows.
          const auto from_ns = kNow_ns + static_cast<std::uint64_t>(i);
          void* channel = start(collective, c, from_ns);
          if (channel != nullptr) stop(channel, from_ns + static_cast<std::uint64_t>(i));
          old.push_back(channel != nullptr ? channel : collective);
        }
        if (old.size() > 300) {
          stop(old.front(), kNow_ns + 1);
          old.pop_front();
        }
      }
    });
  }
  std::uint64_t measured = 0;
  std::thread consumer([&] {
    MeasuredCollective collective;
    while (true) {
      const bool ends = is_over.load();
      while (slots->ring().pop(collective, 1)) {
        ++measured;
        EXPECT_EQ(collective.time_ns, static_cast<std::int64_t>(collective.sequence));
      }
      if (ends) return;
    }
  });
  host.join();
  for (auto& proxy : proxies) proxy.join();
  is_over.store(true);
  consumer.join();
  EXPECT_GT(measured, 100U);
  EXPECT_EQ(slots->losses().quarantined, 0U);
}

}  // namespace
}  // namespace hocket::nccl::measure
