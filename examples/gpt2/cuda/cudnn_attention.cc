#include "examples/gpt2/cuda/cudnn_attention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/cuda/driver/cuda_stream.h"
#include "core/step/element_type.h"
#include "examples/gpt2/cuda/attention_graph.h"
#include "examples/gpt2/cuda/attention_layout.h"
#include "examples/gpt2/cuda/cudnn_functions.h"

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

/// Addresses of the queries, keys and values in the first row of qkv or its gradient.
struct QkvParts {
  QkvParts(const AttentionShape& shape, const void* qkv)
      : query(static_cast<const std::byte*>(qkv)),
        key(query + qkv_part_elements(shape) * element_bytes(ElementType::bfloat16)),
        value(key + (key - query)) {}
  const std::byte *query, *key, *value;
};

/// The plans for a shape.
struct AttentionPlans {
  AttentionShape shape;
  CudnnPlan forward, backward;
  GradientSums sums = GradientSums::ordered;

  std::size_t rows() const {
    return static_cast<std::size_t>(shape.batch) * shape.heads * shape.sequence;
  }
  // The backward pass's workspace holds cuDNN's own, followed by these parts.
  std::size_t products_at() const {
    return part_bytes(static_cast<std::size_t>(backward.workspace_bytes));
  }
  std::size_t dquery_sums_at() const { return products_at() + part_bytes(rows() * sizeof(float)); }
  std::size_t backward_workspace_bytes() const {
    const std::size_t sums_bytes =
        sums == GradientSums::ordered ? 0 : rows() * (shape.width / shape.heads) * sizeof(float);
    return dquery_sums_at() + sums_bytes;
  }
};

Result<AttentionPlans> make_plans(const AttentionShape& shape, const CudnnDevice& device) {
  AttentionPlans plans{.shape = shape, .forward = {}, .backward = {}};
  CudnnGraph forward;
  add_attention_forward(shape, forward);
  auto forward_plan = make_plan(forward, device);
  if (!forward_plan) return failure(forward_plan.error().in("forward"));
  plans.forward = std::move(*forward_plan);
  Result<CudnnPlan> backward_plan;
  for (const GradientSums sums : {GradientSums::ordered, GradientSums::unordered}) {
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

class CudnnAttention final : public FusedAttention {
 public:
  CudnnAttention(DeviceDriver& driver, cudnnHandle_t handle) : driver_(driver), handle_(handle) {}
  ~CudnnAttention() override {
    plans_.reset();  // before the handle they were made with
    cudnn().destroy(handle_);
  }
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  Result<void> prepare(const AttentionShape& shape) override {
    if (auto ok = validate(shape); !ok) return ok;
    if (plans_ && plans_->shape == shape) return {};
    plans_.reset();
    if (shape.sequence == 1) {
      return failure(ErrorCode::unavailable,
                     "fused attention over one position: cuDNN does not support it");
    }
    if (const std::size_t version = cudnn().get_version();
        version < kOldestOfAnyLength && shape.sequence % kOldBlock != 0) {
      return failure(ErrorCode::unavailable,
                     "fused attention over " + std::to_string(shape.sequence) +
                         " positions: cuDNN's version is " + std::to_string(version) +
                         ", but must be at least " + std::to_string(kOldestOfAnyLength) +
                         " for sequences that are no multiple of " + std::to_string(kOldBlock) +
                         " long; update it");
    }
    if (auto ok = driver_.use_device(); !ok) return ok;
    auto plans = make_plans(shape, {.handle = handle_});
    if (!plans) {
      return failure(plans.error().in("fused attention over " + std::to_string(shape.batch) +
                                      " × " + std::to_string(shape.sequence) + " positions with " +
                                      std::to_string(shape.heads) + " heads of width " +
                                      std::to_string(shape.width / shape.heads)));
    }
    plans_ = std::move(*plans);
    return {};
  }

  std::size_t forward_workspace_bytes() const override {
    return static_cast<std::size_t>(prepared().forward.workspace_bytes);
  }
  std::size_t backward_workspace_bytes() const override {
    return prepared().backward_workspace_bytes();
  }

  Result<void> forward(const void* qkv, float* statistics, void* y, void* workspace,
                       const DeviceTask& task) override {
    if (auto ok = use_stream(task); !ok) return ok;
    const AttentionPlans& plans = prepared();
    const QkvParts in(plans.shape, qkv);
    const float scale = scale_of(plans.shape);
    namespace tensor = attention_tensor;
    return run_plan(handle_, plans.forward,
                    {{tensor::query, in.query},
                     {tensor::key, in.key},
                     {tensor::value, in.value},
                     {tensor::output, y},
                     {tensor::statistics, statistics},
                     {tensor::scale, &scale},
                     {tensor::masked, &kMasked}},
                    workspace);
  }

  Result<void> backward(const void* qkv, const float* statistics, const void* y, const void* dy,
                        void* dqkv, void* workspace, const DeviceTask& task) override {
    if (auto ok = use_stream(task); !ok) return ok;
    const AttentionPlans& plans = prepared();
    const QkvParts in(plans.shape, qkv), out(plans.shape, dqkv);
    const float scale = scale_of(plans.shape);
    auto* const scratch = static_cast<std::byte*>(workspace);
    namespace tensor = attention_tensor;
    CudnnBindings bindings = {{tensor::query, in.query},
                              {tensor::key, in.key},
                              {tensor::value, in.value},
                              {tensor::output, y},
                              {tensor::statistics, statistics},
                              {tensor::dquery, out.query},
                              {tensor::dkey, out.key},
                              {tensor::dvalue, out.value},
                              {tensor::doutput, dy},
                              {tensor::output_products, scratch + plans.products_at()},
                              {tensor::scale, &scale},
                              {tensor::masked, &kMasked},
                              {tensor::one, &kOne}};
    if (plans.sums == GradientSums::unordered)
      bindings.add(tensor::dquery_sums, scratch + plans.dquery_sums_at());
    return run_plan(handle_, plans.backward, bindings, workspace);
  }

 private:
  static constexpr float kMasked = -std::numeric_limits<float>::infinity(), kOne = 1;

  static float scale_of(const AttentionShape& shape) {
    return 1 / std::sqrt(static_cast<float>(shape.width / shape.heads));
  }

  const AttentionPlans& prepared() const {
    HOCKET_CHECK(plans_, "a shape is prepared first");
    return *plans_;
  }

  Result<void> use_stream(const DeviceTask& task) {
    const cudnnStatus_t status = cudnn().set_stream(handle_, cuda_stream(task.stream));
    if (status != CUDNN_STATUS_SUCCESS) return failure(cudnn_error("cudnnSetStream", status));
    return {};
  }

  DeviceDriver& driver_;
  const cudnnHandle_t handle_;
  std::optional<AttentionPlans> plans_;
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
