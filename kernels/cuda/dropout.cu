// Dropout: a thread makes the words of four numbers (docs/formats/graph.md).

#include <cmath>

#include "kernels/cuda/cuda_kernel.h"
#include "kernels/cuda/device/device_values.h"

namespace hocket::kernels {
namespace {

struct DropoutState {
  std::int64_t count = 0;     ///< numbers
  std::uint32_t dropped = 0;  ///< words below are dropped
  std::uint32_t stream = 0;
  float kept = 1;  ///< share of the numbers
};

/// Philox-4x32-10 (Salmon et al., SC 2011) of a block of four numbers.
__device__ inline void philox_words(std::uint64_t block, std::uint32_t stream, std::uint32_t k0,
                                    std::uint32_t k1, std::uint32_t (&words)[4]) {
  auto a = static_cast<std::uint32_t>(block), b = static_cast<std::uint32_t>(block >> 32);
  std::uint32_t c = stream, d = 0;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = std::uint64_t{0xd2511f53} * a, odd = std::uint64_t{0xcd9e8d57} * c;
    a = static_cast<std::uint32_t>(odd >> 32) ^ b ^ k0;
    b = static_cast<std::uint32_t>(odd);
    c = static_cast<std::uint32_t>(even >> 32) ^ d ^ k1;
    d = static_cast<std::uint32_t>(even);
    k0 += 0x9e3779b9;
    k1 += 0xbb67ae85;
  }
  words[0] = a;
  words[1] = b;
  words[2] = c;
  words[3] = d;
}

template <class T, int N>
__global__ void dropout_kernel(DropoutState state, const T* x, const std::int32_t* key, T* y) {
  const auto blocks = static_cast<std::size_t>((state.count + 3) / 4);
  const auto k0 = static_cast<std::uint32_t>(key[0]), k1 = static_cast<std::uint32_t>(key[1]);
  for_elements<1>(blocks, [=]<int M>(std::size_t block) {
    std::uint32_t words[4];
    philox_words(block, state.stream, k0, k1, words);
    const auto first = static_cast<std::int64_t>(block) * 4;
    float values[4] = {};
    const bool is_whole = N > 1 && first + 4 <= state.count;
    if (is_whole) {
      load(x + first, values);
    } else {
      for (int j = 0; j < 4; ++j)
        if (first + j < state.count) values[j] = to_float(x[first + j]);
    }
    for (int j = 0; j < 4; ++j)
      values[j] = words[j] < state.dropped ? 0.0f : values[j] / state.kept;
    if (is_whole) {
      store(values, y + first);
    } else {
      for (int j = 0; j < 4; ++j)
        if (first + j < state.count) assign(values[j], y[first + j]);
    }
  });
}

}  // namespace

MadeKernel make_dropout(const KernelSignature& signature) {
  const double rate = signature.attributes.number("rate");
  const DropoutState state{
      .count = signature.results[0].count(),
      .dropped = static_cast<std::uint32_t>(std::floor(std::ldexp(rate, 32))),
      .stream = static_cast<std::uint32_t>(signature.attributes.integer("stream")),
      .kept = static_cast<float>(1 - rate)};
  const ElementType type = element_type(signature.results[0].numbers);
  return cuda_kernel({.in_place = {{0, 0}}}, [=](const KernelCall& call, const DeviceTask& task) {
    const bool in_packs = are_aligned({call.operands[0], call.results[0]});
    return dispatch_packs(type, in_packs, [&]<class T, int N>() {
      return launch("dropout", dropout_kernel<T, N>,
                    elements_grid(static_cast<std::size_t>(state.count), 4), task.stream, state,
                    operand_of<T>(call, 0), operand_of<std::int32_t>(call, 1), result_of<T>(call));
    });
  });
}

}  // namespace hocket::kernels
