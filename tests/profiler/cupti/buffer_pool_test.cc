#include "profiler/cupti/buffer_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace hocket {
namespace {

constexpr std::int64_t kAtOnce = 0;

TEST(BufferPool, GivesNoMoreThanItsCap) {
  BufferPool pool({.buffers = 3, .buffer_bytes = 2000});
  std::set<std::uint8_t*> given;
  for (int i = 0; i < 3; ++i) {
    const auto buffer = pool.request();
    ASSERT_EQ(buffer.size(), 2000u);
    EXPECT_TRUE(std::ranges::all_of(buffer, [](std::uint8_t byte) { return byte == 0; }));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 8, 0u);
    given.insert(buffer.data());
  }
  EXPECT_EQ(given.size(), 3u);
  EXPECT_TRUE(pool.request().empty());
  EXPECT_EQ(pool.held(), 3u);
  EXPECT_EQ(pool.counts(), (BufferPoolCounts{.requests = 3, .refused = 1}));
  for (std::uint8_t* buffer : given) EXPECT_TRUE(pool.complete(buffer, 0));
}

TEST(BufferPool, HandsFullBuffersOverInTheirOrderAndTakesThemBackClean) {
  BufferPool pool({.buffers = 2, .buffer_bytes = 1024});
  const auto first = pool.request(), second = pool.request();
  std::memset(first.data(), 1, first.size());
  std::memset(second.data(), 2, second.size());
  EXPECT_FALSE(pool.take(kAtOnce));
  ASSERT_TRUE(pool.complete(second.data(), 16));
  ASSERT_TRUE(pool.complete(first.data(), 8));
  const auto a = pool.take(), b = pool.take();
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->records.data(), second.data());
  EXPECT_EQ(a->records.size(), 16u);
  EXPECT_EQ(b->records.data(), first.data());
  // A buffer that is being read is not given out.
  EXPECT_TRUE(pool.request().empty());
  pool.give_back(*a);
  const auto again = pool.request();
  ASSERT_EQ(again.data(), second.data());
  EXPECT_TRUE(std::ranges::all_of(again, [](std::uint8_t byte) { return byte == 0; }));
  pool.give_back(*b);
  pool.complete(again.data(), 0);
}

TEST(BufferPool, RefusesCompletionsOfWhatCuptiDoesNotHold) {
  BufferPool pool({.buffers = 2, .buffer_bytes = 1024});
  std::uint8_t foreign = 0;
  EXPECT_FALSE(pool.complete(&foreign, 8));
  EXPECT_FALSE(pool.complete(nullptr, 8));
  EXPECT_EQ(pool.counts().strays, 0);
  const auto buffer = pool.request();
  EXPECT_FALSE(pool.complete(buffer.data() + 8, 8));
  EXPECT_TRUE(pool.complete(buffer.data(), 8));
  EXPECT_FALSE(pool.complete(buffer.data(), 8));
  EXPECT_EQ(pool.counts().strays, 2);
  EXPECT_EQ(pool.counts().completed, 1);
}

TEST(BufferPool, CutsAClaimOfMoreBytesThanThereAre) {
  BufferPool pool({.buffers = 1, .buffer_bytes = 1024});
  const auto buffer = pool.request();
  ASSERT_TRUE(pool.complete(buffer.data(), 4096));
  EXPECT_EQ(pool.take()->records.size(), 1024u);
  EXPECT_EQ(pool.counts().cut, 1);
}

TEST(BufferPool, ClosesToRequestsButTakesLateBuffers) {
  BufferPool pool({.buffers = 2, .buffer_bytes = 1024});
  const auto late = pool.request();
  pool.close();
  EXPECT_TRUE(pool.request().empty());
  EXPECT_FALSE(pool.take());
  EXPECT_TRUE(pool.complete(late.data(), 8));
  EXPECT_TRUE(pool.take());
  EXPECT_FALSE(pool.take());
}

TEST(BufferPool, LeavesTheMemoryToCuptiWhenItEndsFirst) {
  std::span<std::uint8_t> held;
  {
    BufferPool pool({.buffers = 2, .buffer_bytes = 1024});
    held = pool.request();
  }
  // The address sanitizer reports an error if the memory is freed.
  std::memset(held.data(), 7, held.size());
  EXPECT_EQ(held.back(), 7);
  // The pool leaks this memory by design; it begins at the first buffer.
  std::free(held.data());
}

/// Several threads act as CUPTI: each fills buffers with its own number and counts them, while
/// another thread reads. No buffer is lost, mixed up, or given to two threads at once.
TEST(BufferPool, LosesNothingUnderSeveralThreads) {
  constexpr unsigned seed = 20;
  SCOPED_TRACE("seed " + std::to_string(seed));
  constexpr int kWriters = 4, kEach = 500;
  BufferPool pool({.buffers = 5, .buffer_bytes = 1024});
  std::atomic<std::int64_t> refused = 0;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&pool, &refused, writer] {
      std::mt19937_64 random(seed + static_cast<unsigned>(writer));
      for (std::uint32_t done = 0; done < kEach;) {
        const auto buffer = pool.request();
        if (buffer.empty()) {
          ++refused;
          std::this_thread::yield();
          continue;
        }
        ++done;
        const std::size_t valid = 8 + random() % (buffer.size() - 8);
        std::memset(buffer.data(), writer + 1, valid);
        std::memcpy(buffer.data(), &done, sizeof done);
        EXPECT_TRUE(pool.complete(buffer.data(), valid));
      }
    });
  }
  std::map<int, std::vector<std::uint32_t>> seen;
  for (int i = 0; i < kWriters * kEach; ++i) {
    const auto buffer = pool.take();
    ASSERT_TRUE(buffer);
    std::uint32_t number = 0;
    std::memcpy(&number, buffer->records.data(), sizeof number);
    const std::uint8_t writer = buffer->records.back();
    const auto body = buffer->records.subspan(sizeof number);
    ASSERT_TRUE(std::ranges::all_of(body, [&](std::uint8_t byte) { return byte == writer; }));
    seen[writer].push_back(number);
    pool.give_back(*buffer);
  }
  for (std::thread& writer : writers) writer.join();
  ASSERT_EQ(seen.size(), static_cast<std::size_t>(kWriters));
  for (const auto& [writer, numbers] : seen) {
    ASSERT_EQ(numbers.size(), static_cast<std::size_t>(kEach));
    EXPECT_TRUE(std::ranges::is_sorted(numbers));
  }
  EXPECT_EQ(pool.held(), 0u);
  EXPECT_EQ(pool.counts(),
            (BufferPoolCounts{
                .requests = kWriters * kEach, .refused = refused, .completed = kWriters * kEach}));
}

TEST(BufferPool, WaitsUntilWhatIsFullHasBeenRead) {
  BufferPool pool({.buffers = 4, .buffer_bytes = 1024});
  pool.wait_until_read();
  const auto one = pool.request(), two = pool.request();
  pool.complete(one.data(), 8);
  pool.complete(two.data(), 8);
  std::atomic<int> read = 0;
  std::thread reader([&] {
    while (const auto buffer = pool.take()) {
      ++read;
      pool.give_back(*buffer);
    }
  });
  pool.wait_until_read();
  EXPECT_EQ(read, 2);
  pool.close();
  reader.join();
}

}  // namespace
}  // namespace hocket
