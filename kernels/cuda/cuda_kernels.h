#pragma once

// The kernels of a CUDA device: products by cuBLASLt, attention by cuDNN where it fits, and kernels
// of hocket's own for everything else. They are prepared and run by one thread at a time.

#include <cstdint>
#include <functional>
#include <string>

#include "core/cuda/products/matrix_product.h"
#include "kernels/cuda/fused_attention.h"
#include "kernels/kernel_table.h"

namespace hocket {

/// The parts that the kernels are made of, which outlive them.
struct CudaKernelParts {
  MatrixProducts& products;
  FusedAttention* attention = nullptr;  ///< used for bfloat16; null: none
  /// Receives a text, once each, where something is computed in a slower way than usual.
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  /// Most bytes of the scores that attention by products has in memory at once, unless those of one
  /// row are more.
  std::int64_t most_score_bytes = std::int64_t{256} << 20;
};

/// Requires that the table has none for KernelDevice::cuda.
void add_cuda_kernels(KernelTable& table, const CudaKernelParts& parts);

}  // namespace hocket
