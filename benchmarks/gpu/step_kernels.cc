#include "benchmarks/gpu/step_kernels.h"

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "core/graph/graph_text.h"
#include "core/graph/passes.h"
#include "models/gpt2.h"

namespace hocket {
namespace {

/// Returns the operations of a product or of attention; 0 for others.
double operations_of(const KernelSignature& signature) {
  const Shape& first = signature.operands.empty() ? Shape() : signature.operands[0].shape;
  const auto all = static_cast<double>(signature.results[0].count());
  switch (signature.kind) {
    case OperationKind::matmul: {
      const bool is_transposed = signature.attributes.flag("transpose_a");
      const std::int64_t inner = first[first.size() - (is_transposed ? 2 : 1)];
      return 2 * all * static_cast<double>(inner);
    }
    case OperationKind::attention:
    case OperationKind::attention_gradient: {
      const auto columns = static_cast<double>(signature.operands[1].shape[2]);
      const double halves = signature.attributes.flag("causal") ? 1 : 2;
      const double products = signature.kind == OperationKind::attention ? 2 : 5;
      return products * halves * all * columns;
    }
    default:
      return 0;
  }
}

/// Returns an operation without its names: its kind, attributes and types.
std::string text_of(const Graph& graph, const Operation& operation) {
  const std::string line = to_text(graph, operation);
  std::string text(to_string(operation.kind));
  for (const ValueId operand : operation.operands) text += " " + to_string(graph.type(operand));
  const std::size_t begin = line.find('{'), end = line.rfind('}');
  return begin == std::string::npos ? text : text + line.substr(begin, end - begin);
}

}  // namespace

std::vector<TimedKernel> step_kernels(Bench& bench, const KernelTable& table, const Graph& step) {
  std::vector<TimedKernel> kernels;
  std::set<std::string> known;
  for (const Operation& operation : step.operations()) {
    if (operation.kind <= OperationKind::constant || operation.kind == OperationKind::reshape)
      continue;
    if (!known.insert(text_of(step, operation)).second) continue;
    const KernelSignature signature = signature_of(step, operation);
    const std::shared_ptr<const Kernel> kernel =
        required(table.make(signature, KernelDevice::cuda));
    TimedKernel timed{.name = words_of(operation), .operations = operations_of(signature)};
    for (const auto* const types : {&signature.operands, &signature.results})
      for (const ValueType& type : *types)
        timed.operands.push_back(static_cast<std::size_t>(type.bytes()));
    for (const std::size_t bytes : timed.operands)
      if (timed.operations == 0) timed.bytes += static_cast<double>(bytes);
    const std::size_t operands = signature.operands.size();
    timed.operands.push_back(static_cast<std::size_t>(kernel->scratch_bytes()) + 1);
    timed.launch = [&bench, kernel, operands](const Operands& memory) {
      const RunningDeviceTask running(bench.task());
      const std::vector<const void*> from(memory.begin(),
                                          memory.begin() + static_cast<std::ptrdiff_t>(operands));
      const std::vector<void*> to(memory.begin() + static_cast<std::ptrdiff_t>(operands),
                                  memory.end() - 1);
      return kernel->run({from, to, memory.back()});
    };
    kernels.push_back(std::move(timed));
  }
  return kernels;
}

Graph gpt2_step(std::int64_t batch, NumberType computes) {
  PassOptions passes;
  passes.needed.outputs = {"loss"};
  passes.precision.computes = computes;
  passes.optimiser = {.method = OptimiserMethod::adamw, .weight_decay = 0.1};
  const Graph model = required(gpt2({.layers = 1, .batch = batch}));
  return required(run_passes(model, "fusion", passes));
}

}  // namespace hocket
