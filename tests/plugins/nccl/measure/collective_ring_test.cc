#include "plugins/nccl/measure/collective_ring.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace hocket::nccl::measure {
namespace {

MeasuredCollective numbered(std::uint64_t sequence, int channels = 1) {
  MeasuredCollective collective;
  collective.sequence = sequence;
  collective.channels = channels;
  return collective;
}

TEST(CollectiveRing, GivesBackInOrderAndCountsWhatDoesNotFit) {
  const auto ring = std::make_unique<CollectiveRing>();
  MeasuredCollective out;
  for (std::uint64_t lap = 0; lap < 3; ++lap) {
    for (std::uint64_t i = 0; i < CollectiveRing::kCapacity; ++i) {
      ASSERT_TRUE(ring->push(numbered(i), 1));
    }
    EXPECT_FALSE(ring->push(numbered(7), 1));
    EXPECT_FALSE(ring->push(numbered(7), 1));
    EXPECT_EQ(ring->overflow(), 2 * (lap + 1));
    for (std::uint64_t i = 0; i < CollectiveRing::kCapacity; ++i) {
      ASSERT_TRUE(ring->pop(out, 1));
      ASSERT_EQ(out.sequence, i);
    }
    EXPECT_FALSE(ring->pop(out, 1));
  }
}

TEST(CollectiveRing, DropsWhatBelongsToAnotherEpoch) {
  const auto ring = std::make_unique<CollectiveRing>();
  for (std::uint64_t i = 0; i < 10; ++i) ring->push(numbered(i), i % 2 == 0 ? 1 : 2);
  MeasuredCollective out;
  for (std::uint64_t i = 1; i < 10; i += 2) {
    ASSERT_TRUE(ring->pop(out, 2));
    EXPECT_EQ(out.sequence, i);
  }
  EXPECT_FALSE(ring->pop(out, 2));
}

TEST(CollectiveRing, LosesNothingUncountedAmongThreads) {
  constexpr int kProducers = 3;
  constexpr std::uint64_t kEach = 20'000;
  const auto ring = std::make_unique<CollectiveRing>();
  std::atomic<int> running{kProducers};
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&ring, &running, p] {
      for (std::uint64_t i = 0; i < kEach; ++i) ring->push(numbered(i, p), 1);
      running.fetch_sub(1);
    });
  }
  std::uint64_t popped = 0;
  std::vector<std::uint64_t> next(kProducers, 0);
  MeasuredCollective out;
  while (true) {
    const bool is_over = running.load() == 0;
    while (ring->pop(out, 1)) {
      ++popped;
      auto& expected = next[static_cast<std::size_t>(out.channels)];
      EXPECT_GE(out.sequence, expected) << "one producer's order";
      expected = out.sequence + 1;
    }
    if (is_over) break;
  }
  for (auto& producer : producers) producer.join();
  EXPECT_EQ(popped + ring->overflow(), kProducers * kEach);
}

}  // namespace
}  // namespace hocket::nccl::measure
