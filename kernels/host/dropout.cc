// Dropout. Its units are blocks of four numbers, for which the generator makes the words at once.

#include <array>
#include <cmath>

#include "kernels/host/host_kernel.h"
#include "kernels/host/vectors.h"

namespace hocket {
namespace {

/// Blocks whose words are made in one loop.
constexpr int kBlocks = 64;

struct DropoutState {
  std::int64_t count = 0;     ///< numbers
  std::uint32_t dropped = 0;  ///< words below are dropped
  std::uint32_t stream = 0;
  float kept = 1;  ///< share of the numbers
};

/// Philox-4x32-10 (Salmon et al., SC 2011) of the blocks from `first` on: docs/formats/graph.md.
[[gnu::always_inline]] inline void make_words(std::uint64_t first, std::uint32_t stream,
                                              std::uint32_t key0, std::uint32_t key1,
                                              std::uint32_t (&words)[4][kBlocks]) {
#pragma omp simd
  for (int i = 0; i < kBlocks; ++i) {
    const std::uint64_t block = first + static_cast<std::uint64_t>(i);
    auto a = static_cast<std::uint32_t>(block), b = static_cast<std::uint32_t>(block >> 32);
    std::uint32_t c = stream, d = 0, k0 = key0, k1 = key1;
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t even = std::uint64_t{0xd2511f53} * a, odd = std::uint64_t{0xcd9e8d57} * c;
      a = static_cast<std::uint32_t>(odd >> 32) ^ b ^ k0;
      b = static_cast<std::uint32_t>(odd);
      c = static_cast<std::uint32_t>(even >> 32) ^ d ^ k1;
      d = static_cast<std::uint32_t>(even);
      k0 += 0x9e3779b9;
      k1 += 0xbb67ae85;
    }
    words[0][i] = a;
    words[1][i] = b;
    words[2][i] = c;
    words[3][i] = d;
  }
}

struct DropoutLoop {
  [[gnu::always_inline]] static inline void run(const DropoutState* state, const float* x,
                                                const std::int32_t* key, float* y,
                                                UnitRange range) {
    const DropoutState s = *state;
    std::uint32_t words[4][kBlocks];
    for (std::int64_t first = range.begin; first < range.end; first += kBlocks) {
      make_words(static_cast<std::uint64_t>(first), s.stream, static_cast<std::uint32_t>(key[0]),
                 static_cast<std::uint32_t>(key[1]), words);
      const std::int64_t last = first + kBlocks < range.end ? first + kBlocks : range.end;
      const std::int64_t begin = 4 * first, end = 4 * last < s.count ? 4 * last : s.count;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t at = i - begin;
        y[i] = words[at % 4][at / 4] < s.dropped ? 0.0f : x[i] / s.kept;
      }
    }
  }
};

}  // namespace

MadeKernel make_dropout(const KernelSignature& signature) {
  const double rate = signature.attributes.number("rate");
  const DropoutState state{
      .count = signature.results[0].count(),
      .dropped = static_cast<std::uint32_t>(std::floor(std::ldexp(rate, 32))),
      .stream = static_cast<std::uint32_t>(signature.attributes.integer("stream")),
      .kept = static_cast<float>(1 - rate)};
  return host_kernel({.units = (state.count + 3) / 4, .in_place = {{0, 0}}},
                     [state](const KernelCall& call, UnitRange range) {
                       run_loop<DropoutLoop>(&state, operand_of(call, 0),
                                             operand_of<std::int32_t>(call, 1), result_of(call),
                                             range);
                     });
}

}  // namespace hocket
