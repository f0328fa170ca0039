#pragma once

// Graphs carried out by the kernels of the host. One thread.

#include <gtest/gtest.h>

#include <vector>

#include "tests/kernels/host/compared.h"

namespace hocket {

/// Returns a graph's outputs as kernels make them, one operation after the other, each by a call of
/// run(kernel, call), which returns if it succeeded.
template <class Run>
std::vector<Numbers> carried_out(const Graph& graph, const Leaves& leaves, Run run) {
  std::vector<std::vector<float>> values(graph.values());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ValueId value{static_cast<std::uint32_t>(i)};
    values[i].resize(static_cast<std::size_t>(graph.type(value).count()));
  }
  for (const Operation& operation : graph.operations()) {
    if (!operation.name.empty()) {
      write_numbers(leaves.find(operation.name)->second,
                    values[operation.first_result.index].data());
      continue;
    }
    const auto kernel = host_kernels().make(signature_of(graph, operation), KernelDevice::host);
    EXPECT_TRUE(kernel) << kernel.error().message;
    std::vector<const void*> operands;
    for (const ValueId operand : operation.operands)
      operands.push_back(values[operand.index].data());
    std::vector<void*> results;
    for (std::size_t i = 0; i < graph.results(operation); ++i)
      results.push_back(values[graph.result(operation, i).index].data());
    GuardedMemory scratch((*kernel)->scratch_bytes());
    const KernelCall call{operands, results, scratch.data()};
    EXPECT_TRUE(run(**kernel, call)) << words_of(operation);
  }
  std::vector<Numbers> outputs;
  for (const GraphOutput& output : graph.outputs())
    outputs.push_back(read_numbers(graph.type(output.value), values[output.value.index].data()));
  return outputs;
}

inline Leaves random_leaves(const Graph& graph, Random& random) {
  Leaves leaves;
  for (const Operation& operation : graph.operations()) {
    if (operation.name.empty()) continue;
    Numbers numbers = random_numbers(random, graph.type(operation.first_result).shape);
    for (double& each : numbers.values) each = rounded(each, NumberType::float32);
    leaves.emplace(operation.name, std::move(numbers));
  }
  return leaves;
}

}  // namespace hocket
