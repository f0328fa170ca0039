// Opens the vendor's library, which needs no device for this.

#include "core/cuda/collectives/nccl_functions.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(NcclFunctions, AreFoundAndOfTheHeadersVersion) {
  const auto loaded = load_nccl();
  ASSERT_TRUE(loaded) << loaded.error().message;
  int version = 0;
  ASSERT_EQ(nccl().get_version(&version), ncclSuccess);
  EXPECT_EQ(version / 10'000, NCCL_MAJOR);
}

}  // namespace
}  // namespace hocket
