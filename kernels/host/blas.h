#pragma once

// Matrix products of OpenBLAS. Private to kernels/host. Any thread.

#include <cstdint>
#include <string>

#include "core/base/result.h"

namespace hocket {

/// Makes OpenBLAS compute on the calling thread.
void use_calling_thread_for_blas();

/// A matrix as it is multiplied: row after row, with the distance of these, or with its columns for
/// rows if it is transposed.
struct BlasMatrix {
  const float* numbers = nullptr;
  std::int64_t stride = 0;
  bool is_transposed = false;
};

/// c = alpha · a · b + beta · c, where c is m × n with rows that are `stride` apart, and k is the
/// dimension that is summed. With beta = 0 c is not read. Requires check_blas_size() of all sizes.
void blas_multiply(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const BlasMatrix& a,
                   const BlasMatrix& b, float beta, float* c, std::int64_t stride);

/// invalid_argument for a size that OpenBLAS cannot count.
Result<void> check_blas_size(std::int64_t size);

}  // namespace hocket
