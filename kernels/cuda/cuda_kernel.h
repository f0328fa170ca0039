#pragma once

// Makes kernels of functions that put work into the stream of a device task. Private to
// kernels/cuda.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/result.h"
#include "core/cuda/executor/device_task.h"
#include "core/step/element_type.h"
#include "kernels/kernel.h"
#include "kernels/kernel_table.h"

namespace hocket::kernels {

using MadeKernel = Result<std::unique_ptr<Kernel>>;

template <class Run>
class CudaKernel : public Kernel {
 public:
  CudaKernel(KernelPlan plan, Run run) : Kernel(std::move(plan)), run_(std::move(run)) {
    HOCKET_CHECK(units() == 1, "a kernel of a device is not divided");
  }

  using Kernel::run;
  Result<void> run(const KernelCall& call, UnitRange range) const override {
    HOCKET_CHECK(range.begin >= 0 && range.end <= units(), "a range of the kernel's units");
    if (range.begin >= range.end) return {};
    return run_(call, this_device_task());
  }

 private:
  const Run run_;
};

/// `run(call, task)` returns the result of its launches.
template <class Run>
std::unique_ptr<Kernel> cuda_kernel(KernelPlan plan, Run run) {
  return std::make_unique<CudaKernel<Run>>(std::move(plan), std::move(run));
}

template <class Number = float>
const Number* operand_of(const KernelCall& call, std::size_t i) {
  return static_cast<const Number*>(call.operands[i]);
}
template <class Number = float>
Number* result_of(const KernelCall& call, std::size_t i = 0) {
  return static_cast<Number*>(call.results[i]);
}
template <class Number = float>
Number* scratch_of(const KernelCall& call, std::int64_t bytes = 0) {
  return reinterpret_cast<Number*>(static_cast<std::byte*>(call.scratch) + bytes);
}

/// Returns true if all operands and results begin at a multiple of 16 bytes.
inline bool are_aligned(const KernelCall& call) {
  std::uintptr_t all = 0;
  for (const void* const operand : call.operands) all |= reinterpret_cast<std::uintptr_t>(operand);
  for (const void* const result : call.results) all |= reinterpret_cast<std::uintptr_t>(result);
  return all % 16 == 0;
}

/// Requires a floating-point type.
inline ElementType element_type(NumberType type) {
  HOCKET_CHECK(is_floating(type), "a floating-point type");
  if (type == NumberType::float32) return ElementType::float32;
  return type == NumberType::bfloat16 ? ElementType::bfloat16 : ElementType::float16;
}

/// The innermost dimension of a value, and how many rows of it there are.
struct ValueRows {
  explicit ValueRows(const ValueType& type)
      : width(type.shape.empty() ? 1 : type.shape.back()), count(type.count() / width) {}

  std::int64_t width;
  std::int64_t count;
};

/// invalid_argument for rows, or a width of them, that kernels and cuBLASLt do not count.
inline Result<void> check_sizes(std::initializer_list<std::int64_t> sizes) {
  for (const std::int64_t size : sizes) {
    if (size > std::numeric_limits<std::int32_t>::max()) {
      return failure(ErrorCode::invalid_argument,
                     "kernels on a CUDA device take at most 2147483647 rows or columns, found " +
                         std::to_string(size));
    }
  }
  return {};
}

/// Bytes of memory behind which other memory begins at a multiple of 64.
constexpr std::int64_t padded(std::int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

/// Lets a result be in the memory of each operand that has its type.
inline std::vector<InPlace> in_place_of(const KernelSignature& signature) {
  std::vector<InPlace> all;
  for (std::size_t i = 0; i < signature.operands.size(); ++i)
    if (signature.operands[i] == signature.results[0]) all.push_back({0, i});
  return all;
}

/// Returns the place of an operand, beyond all of them if it is not there.
inline std::size_t place_of(const KernelSignature& signature, std::string_view operand) {
  return operand_place(signature.kind, signature.attributes, operand)
      .value_or(signature.operands.size());
}
/// Returns the memory of an operand, or null where its place is beyond all of them.
inline const void* optional_operand(const KernelCall& call, std::size_t place) {
  return place < call.operands.size() ? call.operands[place] : nullptr;
}

// The makers of the kinds' kernels, which cuda_kernels.cc puts into the table.
MadeKernel make_constant(const KernelSignature& signature);
MadeKernel make_elementwise(const KernelSignature& signature);
MadeKernel make_select(const KernelSignature& signature);
MadeKernel make_convert(const KernelSignature& signature);
MadeKernel make_dropout(const KernelSignature& signature);
MadeKernel make_sum(const KernelSignature& signature);
MadeKernel make_maximum(const KernelSignature& signature);
MadeKernel make_maximum_gradient(const KernelSignature& signature);
MadeKernel make_is_finite(const KernelSignature& signature);
MadeKernel make_reshape(const KernelSignature& signature);
MadeKernel make_transpose(const KernelSignature& signature);
MadeKernel make_slice(const KernelSignature& signature);
MadeKernel make_pad(const KernelSignature& signature);
MadeKernel make_concatenate(const KernelSignature& signature);
MadeKernel make_broadcast(const KernelSignature& signature);
MadeKernel make_norm(const KernelSignature& signature);
MadeKernel make_norm_gradient(const KernelSignature& signature);
MadeKernel make_softmax(const KernelSignature& signature);
MadeKernel make_softmax_gradient(const KernelSignature& signature);
MadeKernel make_rotary(const KernelSignature& signature);
MadeKernel make_embedding(const KernelSignature& signature);
MadeKernel make_embedding_gradient(const KernelSignature& signature);
MadeKernel make_cross_entropy(const KernelSignature& signature);
MadeKernel make_cross_entropy_gradient(const KernelSignature& signature);
MadeKernel make_top_k(const KernelSignature& signature);
MadeKernel make_top_k_gradient(const KernelSignature& signature);
MadeKernel make_dispatch(const KernelSignature& signature);
MadeKernel make_dispatch_gradient(const KernelSignature& signature);
MadeKernel make_combine(const KernelSignature& signature);
MadeKernel make_combine_gradient(const KernelSignature& signature);
MadeKernel make_adamw(const KernelSignature& signature);
MadeKernel make_sgd(const KernelSignature& signature);

}  // namespace hocket::kernels
