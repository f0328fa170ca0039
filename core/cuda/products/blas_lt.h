#pragma once

// Matrix products by cuBLASLt. The algorithm for each kind of product (ColumnMajorProduct) is
// chosen once and kept, so equal products are computed identically on every stream and under any
// load. Each stream has a workspace of its own; all have the same size, and algorithms are chosen
// for that size.
//
// The first product of a kind and the first product in a lane allocate memory and may load code, so
// they must not run in a stream capture: run a step once before capturing it.

#include <cstddef>
#include <memory>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "core/cuda/products/matrix_product.h"

namespace hocket {

struct BlasLtOptions {
  /// Size of each stream's workspace. NVIDIA recommends this default for Hopper.
  std::size_t workspace_bytes = std::size_t{32} << 20;
};

/// Opens cuBLASLt on the device of `driver`, which must outlive the products. All work that the
/// products put into streams must have run before they are destroyed. Returns unavailable, with the
/// library's message, when cuBLASLt cannot be opened.
///
/// multiply() returns unavailable where cuBLASLt has no kernel for the product, for example for
/// some float32 epilogues. The answer is the same each time and costs one look-up, so a caller can
/// then compute that epilogue separately.
Result<std::unique_ptr<MatrixProducts>> open_blas_lt(DeviceDriver& driver,
                                                     const BlasLtOptions& options = {});

}  // namespace hocket
