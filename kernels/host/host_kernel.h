#pragma once

// Makes kernels of functions. Private to kernels/host.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "core/base/check.h"
#include "core/base/result.h"
#include "kernels/kernel.h"
#include "kernels/kernel_table.h"

namespace hocket {

template <class Run>
class HostKernel : public Kernel {
 public:
  HostKernel(KernelPlan plan, Run run) : Kernel(std::move(plan)), run_(std::move(run)) {}

  using Kernel::run;
  Result<void> run(const KernelCall& call, UnitRange range) const override {
    HOCKET_CHECK(range.begin >= 0 && range.end <= units(), "a range of the kernel's units");
    if (range.begin >= range.end) return {};
    if constexpr (std::is_void_v<std::invoke_result_t<const Run&, const KernelCall&, UnitRange>>) {
      run_(call, range);
      return {};
    } else {
      return run_(call, range);
    }
  }

 private:
  const Run run_;
};

/// `run(call, range)` returns nothing, or a Result<void> where indices may be out of range.
template <class Run>
std::unique_ptr<Kernel> host_kernel(KernelPlan plan, Run run) {
  return std::make_unique<HostKernel<Run>>(std::move(plan), std::move(run));
}

/// A kernel whose sums divide, too.
template <class Run, class RunSummands>
class SummingKernel final : public HostKernel<Run> {
 public:
  SummingKernel(KernelPlan plan, Run run, RunSummands run_summands)
      : HostKernel<Run>(std::move(plan), std::move(run)), run_summands_(std::move(run_summands)) {}

  Result<void> run_summands(const KernelCall& call, UnitRange range) const override {
    HOCKET_CHECK(range.begin >= 0 && range.end <= this->summands(), "a range of the summands");
    if (range.begin < range.end) run_summands_(call, range);
    return {};
  }

 private:
  const RunSummands run_summands_;
};

template <class Run, class RunSummands>
std::unique_ptr<Kernel> summing_kernel(KernelPlan plan, Run run, RunSummands run_summands) {
  return std::make_unique<SummingKernel<Run, RunSummands>>(std::move(plan), std::move(run),
                                                           std::move(run_summands));
}

template <class Number = float>
const Number* operand_of(const KernelCall& call, std::size_t i) {
  return static_cast<const Number*>(call.operands[i]);
}
template <class Number = float>
Number* result_of(const KernelCall& call, std::size_t i = 0) {
  return static_cast<Number*>(call.results[i]);
}

/// The innermost dimension of a value, and how many rows of it there are.
struct ValueRows {
  explicit ValueRows(const ValueType& type)
      : width(type.shape.back()), count(type.count() / width) {}

  std::int64_t width;
  std::int64_t count;
};

/// The error for an index that is not `low` or more and below `size`.
inline tl::unexpected<Error> wrong_index(const char* operand, std::int64_t found, std::int64_t size,
                                         std::int64_t at, std::int64_t low = 0) {
  return failure(ErrorCode::invalid_argument,
                 std::string(operand) + ": expected numbers from " + std::to_string(low) + " to " +
                     std::to_string(size - 1) + ", found " + std::to_string(found) + " at place " +
                     std::to_string(at));
}

// The makers of the kinds' kernels, which host_kernels.cc puts into the table.
using MadeKernel = Result<std::unique_ptr<Kernel>>;

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
MadeKernel make_matmul(const KernelSignature& signature);
MadeKernel make_layer_norm(const KernelSignature& signature);
MadeKernel make_layer_norm_gradient(const KernelSignature& signature);
MadeKernel make_rms_norm(const KernelSignature& signature);
MadeKernel make_rms_norm_gradient(const KernelSignature& signature);
MadeKernel make_softmax(const KernelSignature& signature);
MadeKernel make_softmax_gradient(const KernelSignature& signature);
MadeKernel make_attention(const KernelSignature& signature);
MadeKernel make_attention_gradient(const KernelSignature& signature);
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

}  // namespace hocket
