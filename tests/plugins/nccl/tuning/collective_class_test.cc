#include "plugins/nccl/tuning/collective_class.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace hocket::nccl {
namespace {

TEST(CollectiveClass, HoldsTheSizesUpToItsBound) {
  for (std::uint64_t bytes = 1; bytes < 5000; ++bytes) {
    const CollectiveClass its = class_of(4, bytes);
    EXPECT_LE(bytes, its.upper_bytes());
    EXPECT_TRUE(its.size_class == 0 || bytes > its.upper_bytes() / 2) << bytes;
  }
  EXPECT_EQ(class_of(4, std::uint64_t{1} << 22).size_class, 22);
  EXPECT_EQ(class_of(4, (std::uint64_t{1} << 22) + 1).size_class, 23);
  EXPECT_EQ(class_of(4, 0).size_class, 0);
  EXPECT_EQ(class_of(4, UINT64_MAX).size_class, kSizeClasses - 1);
}

TEST(CollectiveClass, HasAPlaceOfItsOwn) {
  for (int index = 0; index < kClasses; ++index) EXPECT_EQ(class_at(index).index(), index);
}

TEST(CollectiveClass, IsNamedByItsBound) {
  EXPECT_EQ(to_string(class_of(4, 3 << 20)), "all_reduce 4MiB");
  EXPECT_EQ(to_string(class_of(2, 512)), "all_gather 512B");
}

TEST(CollectiveClass, KnowsWhatAddsValues) {
  EXPECT_TRUE(adds_values(Function::all_reduce));
  EXPECT_TRUE(adds_values(Function::reduce_scatter));
  EXPECT_TRUE(adds_values(Function::reduce));
  EXPECT_FALSE(adds_values(Function::all_gather));
  EXPECT_FALSE(adds_values(Function::broadcast));
}

}  // namespace
}  // namespace hocket::nccl
