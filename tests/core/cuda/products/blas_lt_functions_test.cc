// Opens the vendor's library, which needs no device for this.

#include "core/cuda/products/blas_lt_functions.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(BlasLtFunctions, AreFoundAndOfTheHeadersVersion) {
  const auto loaded = load_blas_lt();
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_STREQ(blas_lt().status_string(CUBLAS_STATUS_SUCCESS), "success");
}

}  // namespace
}  // namespace hocket
