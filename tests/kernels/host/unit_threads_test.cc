#include "kernels/host/unit_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/kernels/host/compared.h"

namespace hocket {
namespace {

using testing::Each;
using testing::Eq;

TEST(UnitThreads, EachUnitIsRunOnce) {
  for (const int threads : {1, 2, 5}) {
    UnitThreads together(threads);
    EXPECT_EQ(together.threads(), threads);
    for (const std::int64_t units : {0, 1, 1000, 32 * 1024, 32 * 1024 + 1, 300'000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(units));
      const auto done = together.run(units, [&](UnitRange range) -> Result<void> {
        for (std::int64_t i = range.begin; i < range.end; ++i) ++runs[static_cast<std::size_t>(i)];
        return {};
      });
      EXPECT_TRUE(done);
      EXPECT_THAT(runs, Each(Eq(1))) << units << " units on " << threads << " threads";
    }
  }
}

TEST(UnitThreads, GiveTheBitsOfOneThread) {
  Random random(1);
  const Shape shape{70'001};
  const KernelSignature signature = signature_of(
      {OperationKind::adamw,
       {random_numbers(random, shape), random_numbers(random, shape), random_numbers(random, shape),
        random_numbers(random, shape, 0, 1), numbers_of({}, {0.05}), whole({}, {3})},
       {{"weight_decay", 0.1}}});
  const auto kernel = host_kernels().make(signature, KernelDevice::host).value();
  std::vector<std::vector<std::vector<float>>> found;
  for (const int threads : {1, 4}) {
    Random again(2);
    std::vector<std::vector<float>> values(4, std::vector<float>(70'001));
    for (std::vector<float>& each : values)
      for (float& value : each) value = static_cast<float>(again() % 1000) / 500;
    const float rate = 0.05F;
    const std::int32_t step = 3;
    const std::vector<const void*> operands{
        values[0].data(), values[1].data(), values[2].data(), values[3].data(), &rate, &step};
    const std::vector<void*> results{values[0].data(), values[2].data(), values[3].data()};
    UnitThreads together(threads);
    const auto done = together.run(kernel->units(), [&](UnitRange range) {
      return kernel->run({operands, results}, range);
    });
    EXPECT_TRUE(done);
    found.push_back(std::move(values));
  }
  EXPECT_EQ(found[0], found[1]);
}

TEST(UnitThreads, AnErrorIsReturnedWhenAllHaveEnded) {
  UnitThreads together(4);
  std::atomic<int> running = 0;
  const auto failed = together.run(1'000'000, [&](UnitRange range) -> Result<void> {
    ++running;
    const bool fails = range.begin > 100'000;
    --running;
    if (fails) return failure(ErrorCode::unavailable, "no more");
    return {};
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "no more");
  EXPECT_EQ(running, 0);
  EXPECT_TRUE(together.run(100'000, [](UnitRange) -> Result<void> { return {}; }));
}

TEST(UnitThreads, RunsThatComeAtTheSameTimeAreOneAfterTheOther) {
  UnitThreads together(3);
  std::vector<std::int64_t> sums(4);
  {
    std::vector<std::jthread> callers;
    for (std::int64_t& sum : sums) {
      callers.emplace_back([&] {
        for (int round = 0; round < 20; ++round) {
          std::atomic<std::int64_t> units = 0;
          const auto done = together.run(100'000, [&](UnitRange range) -> Result<void> {
            units += range.end - range.begin;
            return {};
          });
          EXPECT_TRUE(done);
          sum += units;
        }
      });
    }
  }
  EXPECT_THAT(sums, Each(Eq(2'000'000)));
}

}  // namespace
}  // namespace hocket
