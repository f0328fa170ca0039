#include "kernels/kernel_table.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/check.h"

namespace hocket {
namespace {

/// Returns "softmax of float32[4, 8]", "matmul of float32[4, 8] and float32[8, 2]".
std::string described(const KernelSignature& signature) {
  std::string text(to_string(signature.kind));
  const std::size_t count = signature.operands.size();
  for (std::size_t i = 0; i < count; ++i) {
    text += i == 0 ? " of " : i + 1 == count ? " and " : ", ";
    text += to_string(signature.operands[i]);
  }
  // The operands do not say what these make.
  if (count == 0 || signature.kind == OperationKind::convert)
    text += " to " + to_string(signature.results[0]);
  return text;
}

std::string listed(const std::vector<KernelTypes>& all) {
  std::string text;
  for (const KernelTypes& types : all) {
    if (!text.empty()) text += ", ";
    text += to_string(types.from);
    if (types.to != types.from) text.append(" to ").append(to_string(types.to));
  }
  return text;
}

std::string place_of(KernelDevice device) {
  return device == KernelDevice::host ? "the host" : "a CUDA device";
}

}  // namespace

std::string_view to_string(KernelDevice device) {
  return device == KernelDevice::host ? "host" : "cuda";
}

KernelSignature signature_of(const Graph& graph, const Operation& operation) {
  KernelSignature signature{operation.kind, operation.attributes, {}, {}};
  for (const ValueId operand : operation.operands)
    signature.operands.push_back(graph.type(operand));
  const std::size_t results = graph.results(operation);
  for (std::size_t i = 0; i < results; ++i)
    signature.results.push_back(graph.type(graph.result(operation, i)));
  return signature;
}

KernelTypes types_of(const KernelSignature& signature) {
  HOCKET_CHECK(!signature.results.empty(), "an operation has a result");
  const NumberType to = signature.results[0].numbers;
  for (const ValueType& operand : signature.operands)
    if (is_floating(operand.numbers)) return {operand.numbers, to};
  return {to, to};
}

void KernelTable::add(OperationKind kind, KernelTypes types, KernelDevice device, MakeKernel make) {
  HOCKET_CHECK(kernels_.emplace(std::tuple(device, kind, types), std::move(make)).second,
               "one kernel for a kind, types and a device");
}

Result<MakeKernel> KernelTable::find(const KernelSignature& signature, KernelDevice device) const {
  if (is_of_one_rank(signature.kind, signature.attributes)) {
    return failure(ErrorCode::not_found,
                   described(signature) +
                       " is of the program of one of several ranks, which has no "
                       "kernels; run the model's graph itself");
  }
  const auto found = kernels_.find({device, signature.kind, types_of(signature)});
  if (found != kernels_.end()) return found->second;
  const std::vector<KernelTypes> others = types(signature.kind, device);
  const std::string missing = described(signature) + " has no kernel on " + place_of(device);
  if (others.empty()) {
    return failure(ErrorCode::not_found, missing + ", which has none for " +
                                             std::string(to_string(signature.kind)) +
                                             "; write the graph without it");
  }
  return failure(ErrorCode::not_found, missing + ", where there are those for " + listed(others) +
                                           "; convert its operands");
}

Result<std::unique_ptr<Kernel>> KernelTable::make(const KernelSignature& signature,
                                                  KernelDevice device) const {
  const auto found = find(signature, device);
  HOCKET_TRY(found);
  auto kernel = (*found)(signature);
  if (!kernel) return failure(kernel.error().in(described(signature)));
  return kernel;
}

std::vector<KernelTypes> KernelTable::types(OperationKind kind, KernelDevice device) const {
  std::vector<KernelTypes> all;
  for (const auto& [key, make] : kernels_)
    if (std::get<0>(key) == device && std::get<1>(key) == kind) all.push_back(std::get<2>(key));
  return all;
}

}  // namespace hocket
