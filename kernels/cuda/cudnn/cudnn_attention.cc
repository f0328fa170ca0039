#include "kernels/cuda/cudnn/cudnn_attention.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/cuda/driver/cuda_stream.h"
#include "core/step/element_type.h"
#include "kernels/cuda/cudnn/attention_graph.h"
#include "kernels/cuda/cudnn/cudnn_functions.h"

namespace hocket {
namespace {

constexpr std::size_t kOldestVersion = 91400;
/// Older ones compute wrong gradients unless the sequence is a multiple of kOldBlock long.
constexpr std::size_t kOldestOfAnyLength = 91600;
constexpr int kOldBlock = 128;

/// Alignment of the workspace's parts.
constexpr std::size_t kPartBytes = 256;

std::size_t part_bytes(std::size_t bytes) {
  return (bytes + kPartBytes - 1) / kPartBytes * kPartBytes;
}

/// The plans for a shape.
struct AttentionPlans {
  FusedAttentionShape shape;
  CudnnPlan forward, backward;
  GradientSums sums = GradientSums::ordered;

  std::size_t rows() const {
    return static_cast<std::size_t>(shape.batch() * shape.heads() * shape.positions());
  }
  // The backward pass's workspace holds cuDNN's own, followed by these parts.
  std::size_t products_at() const {
    return part_bytes(static_cast<std::size_t>(backward.workspace_bytes));
  }
  std::size_t dquery_sums_at() const { return products_at() + part_bytes(rows() * sizeof(float)); }
  std::size_t backward_workspace_bytes() const {
    const auto width = static_cast<std::size_t>(shape.width());
    const std::size_t sums_bytes =
        sums == GradientSums::ordered ? 0 : rows() * width * sizeof(float);
    return dquery_sums_at() + sums_bytes;
  }
};

Result<AttentionPlans> make_plans(const FusedAttentionShape& shape, const CudnnDevice& device) {
  AttentionPlans plans{.shape = shape, .forward = {}, .backward = {}};
  CudnnGraph forward;
  add_attention_forward(shape, forward);
  auto forward_plan = make_plan(forward, device);
  if (!forward_plan) return failure(forward_plan.error().in("forward"));
  plans.forward = std::move(*forward_plan);
  Result<CudnnPlan> backward_plan;
  for (const GradientSums sums : {GradientSums::ordered, GradientSums::unordered}) {
    if (sums == GradientSums::unordered && shape.keeps_order) break;
    CudnnGraph backward;
    add_attention_backward(shape, sums, backward);
    backward_plan = make_plan(backward, device);
    plans.sums = sums;
    if (backward_plan) break;
  }
  if (!backward_plan) return failure(backward_plan.error().in("backward"));
  plans.backward = std::move(*backward_plan);
  return plans;
}

Result<void> use_stream(cudnnHandle_t handle, const DeviceTask& task) {
  const cudnnStatus_t status = cudnn().set_stream(handle, cuda_stream(task.stream));
  if (status != CUDNN_STATUS_SUCCESS) return failure(cudnn_error("cudnnSetStream", status));
  return {};
}

class CudnnAttentionPlan final : public FusedAttentionPlan {
 public:
  CudnnAttentionPlan(AttentionPlans plans, cudnnHandle_t handle)
      : plans_(std::move(plans)), handle_(handle) {}

  std::int64_t forward_workspace_bytes() const override { return plans_.forward.workspace_bytes; }
  std::int64_t backward_workspace_bytes() const override {
    return static_cast<std::int64_t>(plans_.backward_workspace_bytes());
  }

  Result<void> forward(const FusedInputs& inputs, float* log_sums, void* y, void* workspace,
                       const DeviceTask& task) const override {
    HOCKET_TRY(use_stream(handle_, task));
    namespace tensor = attention_tensor;
    CudnnBindings bindings = {
        {tensor::query, inputs.queries}, {tensor::key, inputs.keys},
        {tensor::value, inputs.values},  {tensor::output, y},
        {tensor::statistics, log_sums},  {tensor::scale, &plans_.shape.scale}};
    if (plans_.shape.is_causal) bindings.add(tensor::masked, &kMasked);
    return run_plan(handle_, plans_.forward, bindings, workspace);
  }

  Result<void> backward(const FusedInputs& inputs, const float* log_sums, const void* y,
                        const void* dy, const FusedGradients& gradients, void* workspace,
                        const DeviceTask& task) const override {
    HOCKET_TRY(use_stream(handle_, task));
    auto* const scratch = static_cast<std::byte*>(workspace);
    namespace tensor = attention_tensor;
    CudnnBindings bindings = {{tensor::query, inputs.queries},
                              {tensor::key, inputs.keys},
                              {tensor::value, inputs.values},
                              {tensor::output, y},
                              {tensor::statistics, log_sums},
                              {tensor::dquery, gradients.queries},
                              {tensor::dkey, gradients.keys},
                              {tensor::dvalue, gradients.values},
                              {tensor::doutput, dy},
                              {tensor::output_products, scratch + plans_.products_at()},
                              {tensor::scale, &plans_.shape.scale},
                              {tensor::one, &kOne}};
    if (plans_.shape.is_causal) bindings.add(tensor::masked, &kMasked);
    if (plans_.sums == GradientSums::unordered)
      bindings.add(tensor::dquery_sums, scratch + plans_.dquery_sums_at());
    return run_plan(handle_, plans_.backward, bindings, workspace);
  }

 private:
  static constexpr float kMasked = -std::numeric_limits<float>::infinity(), kOne = 1;

  const AttentionPlans plans_;
  const cudnnHandle_t handle_;
};

class CudnnAttention final : public FusedAttention {
 public:
  CudnnAttention(DeviceDriver& driver, cudnnHandle_t handle) : driver_(driver), handle_(handle) {}
  ~CudnnAttention() override {
    known_.clear();  // before the handle they were made with
    cudnn().destroy(handle_);
  }
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  Result<std::shared_ptr<const FusedAttentionPlan>> prepare(
      const FusedAttentionShape& shape) override {
    if (const auto known = known_.find(shape); known != known_.end()) return known->second;
    if (shape.positions() == 1) {
      return failure(ErrorCode::unavailable,
                     "fused attention over one position: cuDNN does not support it");
    }
    if (const std::size_t version = cudnn().get_version();
        version < kOldestOfAnyLength && shape.positions() % kOldBlock != 0) {
      return failure(ErrorCode::unavailable,
                     "fused attention over " + std::to_string(shape.positions()) +
                         " positions: cuDNN's version is " + std::to_string(version) +
                         ", but must be at least " + std::to_string(kOldestOfAnyLength) +
                         " for sequences that are no multiple of " + std::to_string(kOldBlock) +
                         " long; update it");
    }
    HOCKET_TRY(driver_.use_device());
    auto plans = make_plans(shape, {.handle = handle_});
    if (!plans) {
      return failure(plans.error().in("fused attention over " + std::to_string(shape.batch()) +
                                      " × " + std::to_string(shape.positions()) +
                                      " positions with " + std::to_string(shape.heads()) +
                                      " heads of width " + std::to_string(shape.width())));
    }
    auto plan = std::make_shared<const CudnnAttentionPlan>(std::move(*plans), handle_);
    known_.emplace(shape, plan);
    return plan;
  }

 private:
  DeviceDriver& driver_;
  const cudnnHandle_t handle_;
  std::map<FusedAttentionShape, std::shared_ptr<const FusedAttentionPlan>> known_;
};

}  // namespace

Result<std::unique_ptr<FusedAttention>> open_cudnn_attention(DeviceDriver& driver) {
  HOCKET_TRY(load_cudnn());
  if (const std::size_t version = cudnn().get_version(); version < kOldestVersion) {
    return failure(ErrorCode::unavailable, "cuDNN's version is " + std::to_string(version) +
                                               ", but must be at least " +
                                               std::to_string(kOldestVersion) + "; update it");
  }
  HOCKET_TRY(driver.use_device());
  cudnnHandle_t handle = nullptr;
  const cudnnStatus_t status = cudnn().create(&handle);
  if (status != CUDNN_STATUS_SUCCESS) return failure(cudnn_error("cudnnCreate", status));
  return std::make_unique<CudnnAttention>(driver, handle);
}

}  // namespace hocket
