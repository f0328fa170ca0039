#pragma once

// Interface to matrix products on a device, with operations that can be fused to them.
// Implementations: cuBLASLt (blas_lt.h), and one on the host in the tests.
//
// Matrices are row-major. Sums are in float32 for every element type. One thread at a time.

#include <cstddef>
#include <cstdint>

#include "core/base/result.h"
#include "core/cuda/executor/device_task.h"
#include "core/step/element_type.h"

namespace hocket {

/// A matrix, or a batch of matrices, in device memory.
struct DeviceMatrix {
  void* values = nullptr;
  ElementType type = ElementType::float32;
  int rows = 0, columns = 0;
  std::int64_t row_stride = 0;    ///< elements from one row to the next; 0: columns
  std::int64_t batch_stride = 0;  ///< elements from one matrix of a batch to the next
};

/// Operation applied to the sum before it is written to c. A GELU may use the device's own tanh, of
/// which PTX allows a relative error of 2^-11 (tanh.approx.f32): enough for bfloat16 alone.
enum class Epilogue : std::uint8_t {
  none,
  bias,           ///< adds `bias`, one element per column of c
  bias_gelu,      ///< adds `bias`, writes the sum to `gelu_input` and applies GELU (tanh form)
  gelu_gradient,  ///< multiplies by the derivative of GELU at `gelu_input`
};

/// c = epilogue(scale·(a or aᵀ)·(b or bᵀ) + added).
struct MatrixProduct {
  DeviceMatrix a, b, c;
  bool transpose_a = false, transpose_b = false;
  float scale = 1;
  /// If not null, it has the size, type and strides of c; it may be c itself.
  const void* added = nullptr;
  Epilogue epilogue = Epilogue::none;
  const void* bias = nullptr;  ///< has the type of c
  void* gelu_input = nullptr;  ///< dense, with the size and type of c
  int batch = 1;               ///< with more than one matrix there must be no epilogue
};

class MatrixProducts {
 public:
  virtual ~MatrixProducts() = default;

  /// Puts the product into the stream of `task`; the result does not depend on the stream. One
  /// thread at a time. Returns invalid_argument for sizes that do not match, not_found when the
  /// library has no kernel for the product, and unavailable with the library's message for any
  /// other failure.
  virtual Result<void> multiply(const MatrixProduct& product, const DeviceTask& task) = 0;
};

}  // namespace hocket
