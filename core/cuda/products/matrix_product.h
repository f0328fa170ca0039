#pragma once

// The seam to products of matrices on a device, with what can be fused to them. Implementations:
// cuBLASLt (blas_lt.h); the tests have one on the host.
//
// Matrices are row-major. Sums are in float32 whatever the elements are.

#include <cstddef>
#include <cstdint>

#include "core/base/result.h"
#include "core/cuda/driver/element_type.h"
#include "core/cuda/executor/device_task.h"

namespace hocket {

/// A matrix in the device's memory as it lies there, or a batch of such matrices.
struct DeviceMatrix {
  void* values = nullptr;
  ElementType type = ElementType::float32;
  int rows = 0, columns = 0;
  std::int64_t row_stride = 0;    ///< elements from a row to the next; 0: columns
  std::int64_t batch_stride = 0;  ///< elements from a matrix of a batch to the next
};

/// What is done to the sum before it is written to c.
enum class Epilogue : std::uint8_t {
  none,
  bias,           ///< adds `bias`, an element a column of c
  bias_gelu,      ///< adds `bias`, writes that to `gelu_input`, and takes its GELU (tanh form)
  gelu_gradient,  ///< multiplies by the derivative of GELU at `gelu_input`
};

/// c = epilogue(scale·(a or aᵀ)·(b or bᵀ) + added).
struct MatrixProduct {
  DeviceMatrix a, b, c;
  bool transpose_a = false, transpose_b = false;
  float scale = 1;
  /// If not null: as large as c, and of its type and strides; may be c itself.
  const void* added = nullptr;
  Epilogue epilogue = Epilogue::none;
  const void* bias = nullptr;  ///< of the type of c
  void* gelu_input = nullptr;  ///< as large as c, dense, and of its type
  int batch = 1;               ///< with more than one: no epilogue
};

class MatrixProducts {
 public:
  virtual ~MatrixProducts() = default;

  /// Puts the product into the stream of `task`. The result does not depend on which stream that
  /// is. One thread at a time. invalid_argument for sizes that do not fit each other, unavailable
  /// with what the library said.
  virtual Result<void> multiply(const MatrixProduct& product, const DeviceTask& task) = 0;
};

}  // namespace hocket
