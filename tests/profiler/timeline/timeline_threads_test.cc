#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "profiler/timeline/timeline.h"
#include "tests/profiler/timeline/random_profile.h"

namespace hocket {
namespace {

TEST(TimelineThreads, MayReadOneTimelineAtOnce) {
  const Timeline timeline = random_input(5).timeline();
  const auto read = [&] {
    std::vector<std::uint32_t> words;
    for (std::int64_t index = 0; index < 16; ++index) {
      const auto tile = timeline.tile(4, index);
      if (tile) words.insert(words.end(), tile->begin(), tile->end());
    }
    const auto found = timeline.find({"ward"});
    if (found) words.push_back(static_cast<std::uint32_t>(found->matches));
    const auto figures = timeline.range(0, timeline.end_ns());
    if (figures) words.push_back(static_cast<std::uint32_t>(figures->ranks[0].idle_ns.value_or(0)));
    return words;
  };
  const auto expected = read();
  std::vector<std::vector<std::uint32_t>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) threads.emplace_back([&] { result = read(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, expected);
}

}  // namespace
}  // namespace hocket
