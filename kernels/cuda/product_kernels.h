#pragma once

// Kernels that are made of matrix products. Private to kernels/cuda.

#include <memory>
#include <set>
#include <string>

#include "kernels/cuda/cuda_kernel.h"
#include "kernels/cuda/cuda_kernels.h"

namespace hocket::kernels {

/// The products of a device, and the warnings that were given. One thread at a time.
class KnownProducts {
 public:
  explicit KnownProducts(const CudaKernelParts& parts) : parts_(parts) {}

  const CudaKernelParts& parts() const { return parts_; }

  Result<void> multiply(const MatrixProduct& product, const DeviceTask& task) const {
    return parts_.products.multiply(product, task);
  }
  /// Returns false, and warns once, if the library has no kernel for it.
  Result<bool> multiply_if_there(const MatrixProduct& product, const DeviceTask& task) {
    const auto multiplied = multiply(product, task);
    if (multiplied) return true;
    if (multiplied.error().code != ErrorCode::not_found) return failure(multiplied.error());
    warn_once("a product and what follows it take two kernels: " + multiplied.error().message);
    return false;
  }

  void warn_once(const std::string& text) {
    if (warned_.insert(text).second) parts_.warn(text);
  }

 private:
  const CudaKernelParts parts_;
  std::set<std::string> warned_;
};

MadeKernel make_matmul(const KernelSignature& signature,
                       const std::shared_ptr<KnownProducts>& products);
/// Returns the kernel of `attention` or its gradient that the library has as one kernel, for
/// bfloat16 and queries that are as many and as wide as keys and values; otherwise null.
std::unique_ptr<Kernel> make_fused_attention(const KernelSignature& signature, float scale,
                                             KnownProducts& products);

MadeKernel make_attention(const KernelSignature& signature,
                          const std::shared_ptr<KnownProducts>& products);
MadeKernel make_attention_gradient(const KernelSignature& signature,
                                   const std::shared_ptr<KnownProducts>& products);

}  // namespace hocket::kernels
