// Conversions between floating-point types. Their units are the numbers.

#include <cstring>

#include "kernels/host/host_kernel.h"
#include "kernels/host/narrow_numbers.h"
#include "kernels/host/vectors.h"

namespace hocket {
namespace {

template <class From, class To>
struct ConvertLoop {
  [[gnu::always_inline]] static inline void run(const From* x, To* y, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) y[i] = To(static_cast<float>(x[i]));
  }
};

template <class From, class To>
std::unique_ptr<Kernel> convert_kernel(KernelPlan plan) {
  return host_kernel(std::move(plan), [](const KernelCall& call, UnitRange range) {
    run_loop<ConvertLoop<From, To>>(operand_of<From>(call, 0) + range.begin,
                                    result_of<To>(call) + range.begin, range.end - range.begin);
  });
}

template <class From>
std::unique_ptr<Kernel> convert_from(NumberType to, KernelPlan plan) {
  if (to == NumberType::bfloat16) return convert_kernel<From, Bfloat16>(std::move(plan));
  if (to == NumberType::float16) return convert_kernel<From, Float16>(std::move(plan));
  return convert_kernel<From, float>(std::move(plan));
}

/// The bits stay as they are.
std::unique_ptr<Kernel> copy_kernel(KernelPlan plan, std::int64_t bytes) {
  return host_kernel(std::move(plan), [bytes](const KernelCall& call, UnitRange range) {
    const auto begin = static_cast<std::size_t>(range.begin * bytes);
    const auto size = static_cast<std::size_t>(range.end * bytes) - begin;
    const char* const x = operand_of<char>(call, 0) + begin;
    char* const y = result_of<char>(call) + begin;
    if (x != y) std::memcpy(y, x, size);
  });
}

}  // namespace

MadeKernel make_convert(const KernelSignature& signature) {
  const NumberType from = signature.operands[0].numbers, to = signature.results[0].numbers;
  KernelPlan plan{.units = signature.results[0].count(),
                  .unit_bytes = {{.each = number_bytes(to)}}};
  if (number_bytes(from) == number_bytes(to)) plan.in_place = {{0, 0}};
  if (from == to) return copy_kernel(std::move(plan), number_bytes(from));
  if (from == NumberType::bfloat16) return convert_from<Bfloat16>(to, std::move(plan));
  if (from == NumberType::float16) return convert_from<Float16>(to, std::move(plan));
  return convert_from<float>(to, std::move(plan));
}

}  // namespace hocket
