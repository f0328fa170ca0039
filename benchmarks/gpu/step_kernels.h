#pragma once

// The kernels of a model's training step, to be measured one by one.

#include <vector>

#include "benchmarks/gpu/kernel_bench.h"
#include "core/graph/graph.h"
#include "kernels/kernel_table.h"

namespace hocket {

/// Returns the kernels of a step's operations, one of each that differs in kind, attributes or
/// types. Products and attention count operations, all others bytes: those of each operand and each
/// result once. Throws as kernel_bench.h does.
std::vector<TimedKernel> step_kernels(Bench& bench, const KernelTable& table, const Graph& step);

/// Returns a training step of GPT-2 with sequences of 1,024 tokens and one block as those of its
/// smallest published size.
Graph gpt2_step(std::int64_t batch, NumberType computes);

}  // namespace hocket
