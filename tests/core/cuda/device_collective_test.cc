#include "core/cuda/device_collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace hocket {
namespace {

using testing::HasSubstr;

TEST(DeviceCollective, PiecesAreEqual) {
  for (int ranks = 1; ranks <= 5; ++ranks) {
    for (std::size_t values = 0; values <= 20; ++values) {
      const auto ok = check_pieces(values, ranks);
      EXPECT_EQ(ok.has_value(), values % static_cast<std::size_t>(ranks) == 0);
      if (ok) continue;
      EXPECT_EQ(ok.error().code, ErrorCode::invalid_argument);
      EXPECT_THAT(ok.error().message, HasSubstr(std::to_string(values) + " values"));
    }
  }
}

TEST(DeviceCollective, TheRootIsARank) {
  EXPECT_TRUE(check_root(0, 1));
  EXPECT_TRUE(check_root(3, 4));
  for (const int root : {-1, 4}) {
    const auto ok = check_root(root, 4);
    ASSERT_FALSE(ok);
    EXPECT_THAT(ok.error().message, HasSubstr("must be from 0 to 3"));
  }
}

}  // namespace
}  // namespace hocket
