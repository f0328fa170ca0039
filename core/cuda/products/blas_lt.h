#pragma once

// Products of matrices by cuBLASLt. The algorithm for a kind of product (ColumnMajorProduct) is
// asked for once and kept, so two equal products are computed alike, whatever their streams and
// whatever else runs: each stream has a workspace of its own, of one size, which algorithms are
// chosen for.
//
// The first product of a kind, and the first in a lane, allocate and may load code. So they must
// not be captured: run a step once before you capture it.

#include <cstddef>
#include <memory>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "core/cuda/products/matrix_product.h"

namespace hocket {

struct BlasLtOptions {
  /// Of each stream; what NVIDIA recommends for Hopper.
  std::size_t workspace_bytes = std::size_t{32} << 20;
};

/// On the device of `driver`, which must outlive the products; what they put into streams must have
/// run before they end. multiply() gives unavailable where the library has no kernel for such a
/// product (epilogues of float32 may be such): the same answer each time, at the cost of a look-up,
/// so a caller may do without that epilogue then. Here unavailable with what the library says.
Result<std::unique_ptr<MatrixProducts>> open_blas_lt(DeviceDriver& driver,
                                                     const BlasLtOptions& options = {});

}  // namespace hocket
