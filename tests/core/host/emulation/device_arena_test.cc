#include "core/host/emulation/device_arena.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(DeviceArenaDeathTest, NothingIsBehindIt) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  for (const std::int64_t bytes : {256, 4096, 4352}) {
    const DeviceArena arena = DeviceArena::create(bytes).value();
    const std::span<float> all = arena.floats(0, static_cast<std::size_t>(bytes) / sizeof(float));
    all.front() = all.back() = 1;
    EXPECT_EQ(all.back(), 1);
    volatile float* const behind = all.data() + all.size();
    EXPECT_DEATH(*behind = 1, "");
    EXPECT_DEATH((void)arena.floats(bytes - 4, 2), "a range of the device");
  }
}

}  // namespace
}  // namespace hocket
