#include "core/plan/priority_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <vector>

namespace hocket {
namespace {

TEST(BucketQueue, AgreesWithAMapOfListsOnRandomOperations) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::uint32_t levels = 1 + random() % (seed % 2 ? 10 : kPriorityLevels);
    BucketQueue queue;
    std::vector<std::uint32_t> links(400);
    const auto next = [&](std::uint32_t slot) -> std::uint32_t& { return links[slot]; };
    std::map<std::uint32_t, std::deque<std::uint32_t>> expected;
    std::uint32_t next_slot = 0;
    for (int operation = 0; operation < 400; ++operation) {
      if (random() % 5 < 3 || expected.empty()) {
        const auto priority = static_cast<std::uint32_t>(random() % levels);
        queue.push(priority, next_slot, next);
        expected[priority].push_back(next_slot++);
      } else {
        auto& [priority, slots] = *expected.begin();
        ASSERT_EQ(queue.front(), slots.front());
        ASSERT_EQ(queue.pop(next), slots.front());
        slots.pop_front();
        if (slots.empty()) expected.erase(expected.begin());
      }
      ASSERT_EQ(queue.empty(), expected.empty());
    }
  }
}

TEST(BucketQueueDeathTest, RefusesAPriorityOutOfRange) {
  BucketQueue queue;
  std::uint32_t link = 0;
  const auto next = [&](std::uint32_t) -> std::uint32_t& { return link; };
  queue.push(kPriorityLevels - 1, 0, next);
  EXPECT_DEATH(queue.push(kPriorityLevels, 1, next), "priority out of range");
}

}  // namespace
}  // namespace hocket
