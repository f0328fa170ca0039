#include "kernels/host/blas.h"

#include <cblas.h>

#include <limits>

namespace hocket {

void use_calling_thread_for_blas() {
  [[maybe_unused]] static const bool once = [] {
    openblas_set_num_threads(1);
    return true;
  }();
}

void blas_multiply(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const BlasMatrix& a,
                   const BlasMatrix& b, float beta, float* c, std::int64_t stride) {
  const auto size = [](std::int64_t each) { return static_cast<blasint>(each); };
  const auto order = [](const BlasMatrix& each) {
    return each.is_transposed ? CblasTrans : CblasNoTrans;
  };
  cblas_sgemm(CblasRowMajor, order(a), order(b), size(m), size(n), size(k), alpha, a.numbers,
              size(a.stride), b.numbers, size(b.stride), beta, c, size(stride));
}

Result<void> check_blas_size(std::int64_t size) {
  constexpr std::int64_t kMost = std::numeric_limits<blasint>::max();
  if (size <= kMost) return {};
  return failure(ErrorCode::invalid_argument,
                 "OpenBLAS multiplies matrices of at most " + std::to_string(kMost) +
                     " rows or columns, found " + std::to_string(size));
}

}  // namespace hocket
