#include "core/sim/event_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

namespace hocket {
namespace {

TEST(EventQueue, GivesEventsByTimeAndEqualTimesInTheOrderOfPushing) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    EventQueue<int> queue;
    std::vector<std::tuple<std::int64_t, int>> waiting;
    std::int64_t now_ns = 0;
    int pushed = 0;
    for (int turn = 0; turn < 500; ++turn) {
      if (waiting.empty() || random() % 2) {
        const auto time_ns = now_ns + static_cast<std::int64_t>(random() % 5);
        queue.push(time_ns, pushed);
        waiting.emplace_back(time_ns, pushed++);
        continue;
      }
      const auto first = std::min_element(waiting.begin(), waiting.end());
      const auto event = queue.pop();
      ASSERT_EQ(std::make_tuple(event.time_ns, event.payload), *first);
      now_ns = event.time_ns;
      waiting.erase(first);
    }
    ASSERT_EQ(queue.empty(), waiting.empty());
  }
}

}  // namespace
}  // namespace hocket
