#include "daemon/api/loaded_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

namespace hocket {
namespace {

class LoadedCacheTest : public ::testing::Test {
 protected:
  /// Returns the value of `key`, which takes `bytes`; counts how often it is made.
  std::size_t get(const std::string& key, std::size_t bytes) {
    return **cache_.get(key, [&]() -> Result<std::size_t> {
      ++made_;
      return bytes;
    });
  }

  LoadedCache<std::size_t> cache_{10, [](const std::size_t& bytes) { return bytes; }};
  std::atomic<int> made_ = 0;
};

TEST_F(LoadedCacheTest, KeepsWhatWasUsedLast) {
  EXPECT_EQ(get("a", 4), 4U);
  EXPECT_EQ(get("b", 4), 4U);
  EXPECT_EQ(get("a", 99), 4U);
  EXPECT_EQ(made_, 2);
  get("c", 4);  // b was used longest ago
  EXPECT_EQ(get("a", 99), 4U);
  EXPECT_EQ(get("c", 99), 4U);
  EXPECT_EQ(made_, 3);
  EXPECT_EQ(get("b", 5), 5U);
  EXPECT_EQ(made_, 4);
}

TEST_F(LoadedCacheTest, AValueAboveTheLimitIsKeptAlone) {
  get("a", 4);
  get("large", 50);
  EXPECT_EQ(get("large", 1), 50U);
  EXPECT_EQ(made_, 2);
  EXPECT_EQ(get("a", 3), 3U);
  EXPECT_EQ(made_, 3);
  EXPECT_EQ(get("large", 2), 2U);  // a has displaced it
}

TEST_F(LoadedCacheTest, ErrorsAreNotKept) {
  const auto fails = [&]() -> Result<std::size_t> { return failure(ErrorCode::not_found, "gone"); };
  const auto error = cache_.get("a", fails);
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().message, "gone");
  EXPECT_EQ(get("a", 1), 1U);
}

TEST_F(LoadedCacheTest, AnExceptionIsPassedOnAndLeavesNothing) {
  const auto throws = []() -> Result<std::size_t> { throw std::runtime_error("no"); };
  EXPECT_THROW((void)cache_.get("a", throws), std::runtime_error);
  EXPECT_EQ(get("a", 1), 1U);
}

TEST_F(LoadedCacheTest, WhoAsksMeanwhileWaitsForTheSameValue) {
  constexpr int kThreads = 8;
  std::latch begun(1), asked(kThreads - 1);
  std::vector<std::jthread> threads;
  threads.emplace_back([&] {
    EXPECT_EQ(**cache_.get("a",
                           [&]() -> Result<std::size_t> {
                             ++made_;
                             begun.count_down();
                             asked.wait();
                             return 7;
                           }),
              7U);
  });
  begun.wait();
  for (int i = 1; i < kThreads; ++i) {
    threads.emplace_back([&] {
      asked.count_down();
      EXPECT_EQ(get("a", 8), 7U);
    });
  }
  threads.clear();
  EXPECT_EQ(made_, 1);
}

}  // namespace
}  // namespace hocket
