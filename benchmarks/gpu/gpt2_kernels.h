#pragma once

// The kernels of the GPT-2 example as it calls them, for measurements.

#include <vector>

#include "benchmarks/gpu/kernel_bench.h"
#include "core/step/element_type.h"

namespace hocket {

/// Sizes of GPT-2 124M with whole sequences; `columns` is the vocabulary, rounded up.
struct Gpt2Sizes {
  int batch = 1, sequence = 1024, width = 768, heads = 12, vocabulary = 50257, columns = 50304;
};

/// Returns the model's kernels and kinds of matrix products. They use `bench` while they are
/// launched.
std::vector<TimedKernel> gpt2_kernels(Bench& bench, const Gpt2Sizes& sizes, ElementType type);

}  // namespace hocket
