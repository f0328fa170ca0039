// Attention by one kernel of the library's. Where heads share keys and values, these are repeated
// for all heads in scratch memory, and their gradients are summed over the heads: little beside the
// attention itself, since a head has as many keys as queries.

#include <cstdint>
#include <utility>

#include "kernels/cuda/product_kernels.h"

namespace hocket::kernels {
namespace {

/// Bytes that a workspace begins at a multiple of.
constexpr std::int64_t kWorkspaceAlignment = 256;

constexpr std::int64_t whole_workspaces(std::int64_t bytes) {
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

/// Repeats matrices of groups for their heads, and sums those of heads.
struct SharedHeads {
  std::shared_ptr<const Kernel> repeat, sum;  ///< null if each head has its own
  std::int64_t bytes = 0;                     ///< of all heads, in scratch memory

  bool are_there() const { return repeat != nullptr; }
};

Result<SharedHeads> shared_heads(const Shape& queries, const Shape& keys) {
  SharedHeads shared;
  if (queries == keys) return shared;
  const std::int64_t groups = keys[0] * keys[1], heads = queries[1] / keys[1];
  const std::int64_t numbers = keys[2] * keys[3];
  const ValueType one{NumberType::bfloat16, {groups, 1, numbers}};
  const ValueType all{NumberType::bfloat16, {groups, heads, numbers}};
  auto repeat = make_broadcast({OperationKind::broadcast, {{"shape", all.shape}}, {one}, {all}});
  HOCKET_TRY(repeat);
  auto sum =
      make_sum({OperationKind::sum, {{"dimensions", Shape{1}}, {"keep", true}}, {all}, {one}});
  HOCKET_TRY(sum);
  shared.repeat = std::move(*repeat);
  shared.sum = std::move(*sum);
  shared.bytes = whole_workspaces(all.bytes());
  return shared;
}

Result<void> run_of(const Kernel& kernel, const void* x, void* y, void* scratch) {
  const void* const operands[] = {x};
  void* const results[] = {y};
  return kernel.run({operands, results, scratch});
}

/// The parts of a run's scratch memory: the library's, matrices of all heads, and what sums need.
class FusedScratch {
 public:
  FusedScratch(void* scratch, std::int64_t workspace_bytes, const SharedHeads& shared)
      : workspace_(static_cast<std::byte*>(scratch)), shared_(shared) {
    const auto address = reinterpret_cast<std::uintptr_t>(scratch);
    workspace_ += (kWorkspaceAlignment - address % kWorkspaceAlignment) % kWorkspaceAlignment;
    heads_ = workspace_ + whole_workspaces(workspace_bytes);
  }

  static std::int64_t bytes(std::int64_t workspace_bytes, const SharedHeads& shared,
                            std::int64_t matrices) {
    const std::int64_t sums = shared.are_there() ? shared.sum->scratch_bytes() : 0;
    return kWorkspaceAlignment + whole_workspaces(workspace_bytes) + matrices * shared.bytes + sums;
  }

  void* workspace() const { return workspace_; }
  void* of_heads(std::int64_t matrix) const { return heads_ + matrix * shared_.bytes; }

 private:
  std::byte* workspace_;
  std::byte* heads_;
  const SharedHeads& shared_;
};

Result<void> check_aligned(const KernelCall& call) {
  if (are_aligned(call)) return {};
  return failure(ErrorCode::invalid_argument,
                 "attention: expected values at multiples of 16 bytes");
}

/// Returns the inputs, with keys and values of all heads in the first two matrices of `scratch`.
Result<FusedInputs> inputs_of(const KernelCall& call, const SharedHeads& shared,
                              const FusedScratch& scratch) {
  FusedInputs inputs{call.operands[0], call.operands[1], call.operands[2]};
  if (!shared.are_there()) return inputs;
  HOCKET_TRY(run_of(*shared.repeat, inputs.keys, scratch.of_heads(0), nullptr));
  HOCKET_TRY(run_of(*shared.repeat, inputs.values, scratch.of_heads(1), nullptr));
  inputs.keys = scratch.of_heads(0);
  inputs.values = scratch.of_heads(1);
  return inputs;
}

std::unique_ptr<Kernel> forward_kernel(std::shared_ptr<const FusedAttentionPlan> plan,
                                       SharedHeads shared) {
  const std::int64_t bytes = plan->forward_workspace_bytes();
  return cuda_kernel({.scratch_bytes = FusedScratch::bytes(bytes, shared, 2)},
                     [=](const KernelCall& call, const DeviceTask& task) -> Result<void> {
                       HOCKET_TRY(check_aligned(call));
                       const FusedScratch scratch(call.scratch, bytes, shared);
                       const auto inputs = inputs_of(call, shared, scratch);
                       HOCKET_TRY(inputs);
                       return plan->forward(*inputs, result_of(call, 1), call.results[0],
                                            scratch.workspace(), task);
                     });
}

std::unique_ptr<Kernel> gradient_kernel(std::shared_ptr<const FusedAttentionPlan> plan,
                                        SharedHeads shared) {
  const std::int64_t bytes = plan->backward_workspace_bytes();
  return cuda_kernel(
      {.scratch_bytes = FusedScratch::bytes(bytes, shared, 4)},
      [=](const KernelCall& call, const DeviceTask& task) -> Result<void> {
        HOCKET_TRY(check_aligned(call));
        const FusedScratch scratch(call.scratch, bytes, shared);
        const auto inputs = inputs_of(call, shared, scratch);
        HOCKET_TRY(inputs);
        FusedGradients gradients{call.results[0], call.results[1], call.results[2]};
        if (shared.are_there()) {
          gradients.keys = scratch.of_heads(2);
          gradients.values = scratch.of_heads(3);
        }
        HOCKET_TRY(plan->backward(*inputs, operand_of(call, 4), call.operands[3], call.operands[5],
                                  gradients, scratch.workspace(), task));
        if (!shared.are_there()) return {};
        void* const sums = scratch.of_heads(4);
        HOCKET_TRY(run_of(*shared.sum, gradients.keys, call.results[1], sums));
        return run_of(*shared.sum, gradients.values, call.results[2], sums);
      });
}

}  // namespace

std::unique_ptr<Kernel> make_fused_attention(const KernelSignature& signature, float scale,
                                             KnownProducts& products) {
  FusedAttention* const attention = products.parts().attention;
  const Shape &queries = signature.operands[0].shape, &keys = signature.operands[1].shape;
  if (!attention || signature.operands[0].numbers != NumberType::bfloat16 ||
      queries[2] != keys[2] || keys != signature.operands[2].shape)
    return nullptr;
  const HeadsLayout layout = dense_heads(queries[0], queries[1], queries[2], queries[3]);
  auto plan = attention->prepare({.inputs = layout,
                                  .outputs = layout,
                                  .is_causal = signature.attributes.flag("causal"),
                                  .scale = scale});
  auto shared = shared_heads(queries, keys);
  if (plan && shared) {
    return signature.kind == OperationKind::attention
               ? forward_kernel(std::move(*plan), std::move(*shared))
               : gradient_kernel(std::move(*plan), std::move(*shared));
  }
  const Error& why = plan ? shared.error() : plan.error();
  products.warn_once("attention is made of products: " + why.message);
  return nullptr;
}

}  // namespace hocket::kernels
