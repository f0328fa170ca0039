// Tests the scheduler with values of several element types.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "tests/core/collective/typed_values.h"
#include "tests/core/host/ranks.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr int kRanksOfTypes = 4;
constexpr std::size_t kValuesOfTypes = 5000;  // parts of 4 KiB end within it for each type

float initial_value(int rank, std::size_t tensor, std::size_t i) {
  return static_cast<float>(static_cast<int>((i * 7 + tensor * 13) % 201) - 100 + rank);
}

/// Sums tensors of `types` in three steps, and returns the errors of all ranks.
std::string sum_tensors(const ScheduleConfig& config, std::span<const ElementType> types) {
  std::mutex mutex;
  std::string errors;
  run_local_ranks(kRanksOfTypes, [&](int rank, Collective& collective) {
    std::vector<TypedValues> tensors;
    for (const ElementType type : types) tensors.emplace_back(type, kValuesOfTypes);
    SteadyClock clock;
    HostExecutor executor(collective, clock);
    Scheduler scheduler(config, executor);
    std::vector<DataId> data;
    for (std::size_t tensor = 0; tensor < tensors.size(); ++tensor)
      data.push_back(scheduler.add_data());
    Result<void> ok;
    for (int step = 0; step < 3 && ok; ++step) {
      for (std::size_t tensor = 0; tensor < tensors.size(); ++tensor) {
        scheduler.compute({.name = "fill"}, {write(data[tensor])}, [&, tensor] {
          for (std::size_t i = 0; i < kValuesOfTypes; ++i)
            tensors[tensor].set(i, initial_value(rank, tensor, i));
        });
      }
      for (std::size_t tensor = 0; tensor < tensors.size(); ++tensor)
        scheduler.all_reduce({.name = "sum"}, data[tensor], tensors[tensor].span());
      ok = scheduler.end_step();
    }
    if (ok) ok = scheduler.synchronize();
    if (!ok) {
      std::lock_guard lock(mutex);
      errors += ok.error().message + "\n";
      return;
    }
    for (std::size_t tensor = 0; tensor < tensors.size(); ++tensor) {
      for (std::size_t i = 0; i < kValuesOfTypes; ++i) {
        float sum = 0;
        for (int other = 0; other < kRanksOfTypes; ++other) sum += initial_value(other, tensor, i);
        ASSERT_EQ(tensors[tensor][i], rounded(types[tensor], sum)) << to_string(types[tensor]);
      }
    }
  });
  return errors;
}

TEST(ElementTypes, AreSummedInPartsAndInBuckets) {
  constexpr ElementType kMixed[] = {ElementType::bfloat16, ElementType::float32,
                                    ElementType::float16, ElementType::bfloat16};
  EXPECT_EQ(sum_tensors({.partition_bytes = 4096}, kMixed), "");
  for (const ElementType type : kElementTypes) {
    const std::vector<ElementType> same(4, type);
    ScheduleConfig config{.partition_bytes = 4096};
    config.bucket_bytes = 32768;
    EXPECT_EQ(sum_tensors(config, same), "") << to_string(type);
    config.primitive = CollectivePrimitive::reduce_scatter_all_gather;
    EXPECT_EQ(sum_tensors(config, same), "") << to_string(type);
  }
}

TEST(ElementTypes, ABucketOfSeveralTypesIsRefused) {
  constexpr ElementType kMixed[] = {ElementType::float32, ElementType::bfloat16};
  ScheduleConfig config;
  config.bucket_bytes = 1 << 20;
  const std::string errors = sum_tensors(config, kMixed);
  EXPECT_THAT(errors, HasSubstr("tensors of float32 and of bfloat16"));
  EXPECT_THAT(errors, HasSubstr("set bucket_bytes=0"));
}

}  // namespace
}  // namespace hocket
