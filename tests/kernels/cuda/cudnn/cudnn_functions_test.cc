// Opens the vendor's library, which needs no device for this.

#include "kernels/cuda/cudnn/cudnn_functions.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(CudnnFunctions, AreFoundAndOfTheHeadersVersion) {
  const auto loaded = load_cudnn();
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(cudnn().get_version() / 10'000, std::size_t{CUDNN_MAJOR});
}

}  // namespace
}  // namespace hocket
