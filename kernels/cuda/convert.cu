// Conversions between floating-point types.

#include <type_traits>

#include "kernels/cuda/cuda_kernel.h"
#include "kernels/cuda/device/device_values.h"

namespace hocket::kernels {
namespace {

template <class From, class To, int N>
__global__ void convert_kernel(std::size_t count, const From* from, To* to) {
  for_elements<N>(count, [=]<int M>(std::size_t i) {
    const auto in = *reinterpret_cast<const Pack<From, M>*>(from + i);
    Pack<To, M> out;
    for (int j = 0; j < M; ++j) {
      if constexpr (std::is_same_v<From, To>)
        out.values[j] = in.values[j];
      else
        assign(to_float(in.values[j]), out.values[j]);
    }
    *reinterpret_cast<Pack<To, M>*>(to + i) = out;
  });
}

template <class From, class To>
MadeKernel convert_from_to(const KernelSignature& signature) {
  const auto count = static_cast<std::size_t>(signature.results[0].count());
  KernelPlan plan;
  if (sizeof(From) == sizeof(To)) plan.in_place = {{0, 0}};
  return cuda_kernel(std::move(plan), [=](const KernelCall& call, const DeviceTask& task) {
    const bool in_packs = are_aligned(call);
    return launch("convert", in_packs ? convert_kernel<From, To, 8> : convert_kernel<From, To, 1>,
                  elements_grid(count, in_packs ? 8 : 1), task.stream, count,
                  operand_of<From>(call, 0), result_of<To>(call));
  });
}

template <class From>
MadeKernel convert_from(const KernelSignature& signature) {
  const NumberType to = signature.results[0].numbers;
  if (to == NumberType::float32) return convert_from_to<From, float>(signature);
  if (to == NumberType::bfloat16) return convert_from_to<From, __nv_bfloat16>(signature);
  return convert_from_to<From, __half>(signature);
}

}  // namespace

MadeKernel make_convert(const KernelSignature& signature) {
  const NumberType from = signature.operands[0].numbers;
  if (from == NumberType::float32) return convert_from<float>(signature);
  if (from == NumberType::bfloat16) return convert_from<__nv_bfloat16>(signature);
  return convert_from<__half>(signature);
}

}  // namespace hocket::kernels
