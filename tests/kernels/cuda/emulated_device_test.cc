#include "tests/kernels/cuda/emulated_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace hocket {
namespace {

using testing::HasSubstr;

TEST(EmulatedDevice, RunsEachThreadOnce) {
  std::vector<int> runs(3 * 2 * 64);
  ASSERT_TRUE(emulated::run("count", dim3(3, 2), dim3(64), [&] {
    ++runs[(blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x];
  }));
  EXPECT_EQ(runs, std::vector<int>(runs.size(), 1));
}

TEST(EmulatedDevice, NoneLeavesABarrierBeforeAllHaveCome) {
  for (int launch = 0; launch < 5; ++launch) {
    int before = 0, missing = 0, left = 0;
    ASSERT_TRUE(emulated::run("barrier", dim3(4), dim3(96), [&] {
      ++before;
      __syncthreads();
      missing += before % 96 != 0;
      __syncthreads();
      ++left;
    }));
    EXPECT_EQ(missing, 0);
    EXPECT_EQ(left, 4 * 96);
  }
}

TEST(EmulatedDevice, TellsAllWhetherAnyHas) {
  for (const unsigned chosen : {0u, 41u, 63u, 64u}) {
    std::set<int> answers;
    ASSERT_TRUE(emulated::run("or", dim3(), dim3(64),
                              [&] { answers.insert(__syncthreads_or(threadIdx.x == chosen)); }));
    EXPECT_EQ(answers, std::set<int>{chosen < 64});
  }
}

TEST(EmulatedDevice, ExchangesWithinAWarp) {
  std::vector<double> sums(64);
  std::vector<unsigned> ballots(64);
  ASSERT_TRUE(emulated::run("exchange", dim3(), dim3(64), [&] {
    double sum = threadIdx.x;
    for (int distance = 16; distance > 0; distance /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    }
    sums[threadIdx.x] = sum;
    ballots[threadIdx.x] = __ballot_sync(0xffffffffu, threadIdx.x % 3 == 0);
  }));
  for (unsigned i = 0; i < 64; ++i) {
    EXPECT_EQ(sums[i], i < 32 ? 496 : 1520);
    EXPECT_EQ(ballots[i], i < 32 ? 0x49249249u : 0x92492492u);
  }
}

TEST(EmulatedDevice, RunsInAnotherOrderEachTime) {
  std::set<std::vector<unsigned>> orders;
  for (int launch = 0; launch < 10; ++launch) {
    std::vector<unsigned> order;
    ASSERT_TRUE(emulated::run("order", dim3(2), dim3(128),
                              [&] { order.push_back(blockIdx.x * blockDim.x + threadIdx.x); }));
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 5u);
}

TEST(EmulatedDevice, RefusesThreadsThatComeApart) {
  const auto expect_refused = [](const char* words, const std::function<void()>& thread) {
    const auto ran = emulated::run("kernel", dim3(2), dim3(64), thread);
    ASSERT_FALSE(ran);
    EXPECT_THAT(ran.error().message, HasSubstr(words));
    EXPECT_THAT(ran.error().message, HasSubstr("kernel: "));
  };
  expect_refused("at its end", [] {
    if (threadIdx.x != 50) __syncthreads();
  });
  expect_refused("emulated_device_test.cc", [] {
    if (threadIdx.x < 32) {
      __syncthreads();
    } else {
      __syncthreads();
    }
  });
  expect_refused("of its warp", [] {
    if (threadIdx.x != 40) __shfl_xor_sync(0xffffffffu, 1.0f, 1);
  });
  expect_refused("of its warp", [] {
    if (threadIdx.x % 2 == 0) {
      __syncthreads();
    } else {
      __ballot_sync(0xffffffffu, true);
    }
  });
  expect_refused("a part of a warp", [] { __ballot_sync(0xffff, true); });
}

TEST(EmulatedDevice, RefusesAccessesThatAreNotAligned) {
  alignas(16) static float values[8];
  ASSERT_TRUE(
      emulated::run("load", dim3(), dim3(32), [] { emulated::expect_aligned(values + 4, 16); }));
  const auto ran =
      emulated::run("load", dim3(), dim3(32), [] { emulated::expect_aligned(values + 1, 16); });
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().message, HasSubstr("not aligned to 16 bytes"));
  // The next launch is unaffected.
  EXPECT_TRUE(emulated::run("next", dim3(), dim3(64), [] { __syncthreads(); }));
}

TEST(EmulatedDevice, RoundsToBfloat16) {
  const auto rounded = [](float value) { return __bfloat162float(__float2bfloat16(value)); };
  EXPECT_EQ(rounded(1.0f), 1.0f);
  EXPECT_EQ(rounded(-3.140625f), -3.140625f);
  EXPECT_EQ(rounded(1.0f + 0x1p-9f), 1.0f);
  EXPECT_EQ(rounded(1.0f + 0x1p-8f), 1.0f);  // a tie, to even
  EXPECT_EQ(rounded(1.0f + 0x1p-8f + 0x1p-20f), 1.0f + 0x1p-7f);
  EXPECT_EQ(rounded(1.0f + 0x3p-8f), 1.0f + 0x1p-6f);  // a tie, to even
  EXPECT_EQ(rounded(3.4e38f), INFINITY);
  EXPECT_EQ(rounded(-INFINITY), -INFINITY);
  EXPECT_TRUE(std::isnan(rounded(NAN)));
}

}  // namespace
}  // namespace hocket
