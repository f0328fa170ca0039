#include "kernels/cuda/cudnn/cudnn_graph.h"

#include <array>
#include <utility>

namespace hocket {
namespace {

/// cuDNN may load up to this many bytes at once.
constexpr std::int64_t kTensorAlignmentBytes = 16;

CudnnDescriptorBuilder tensor_builder(std::int64_t id, const HeadsLayout& layout,
                                      cudnnDataType_t type) {
  CudnnDescriptorBuilder builder(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  builder.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type)
      .set_all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, layout.extents)
      .set_all<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES, layout.strides)
      .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kTensorAlignmentBytes);
  return builder;
}

/// Returns the engines that cuDNN proposes, the fastest first.
Result<std::vector<CudnnDescriptor>> proposals(const CudnnDescriptor& graph,
                                               const CudnnDevice& device,
                                               cudnnBackendHeurMode_t mode) {
  CudnnDescriptorBuilder builder(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  builder.set_descriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  if (device.properties)
    builder.set_descriptor(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device.properties);
  const auto heuristics = builder.finalize();
  HOCKET_TRY(heuristics);
  return heuristics->descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
}

/// Builds a plan, which compiles its kernels.
Result<CudnnPlan> plan_with(const CudnnDescriptor& config) {
  CudnnDescriptorBuilder builder(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  auto plan = builder.set_descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config).finalize();
  HOCKET_TRY(plan);
  const auto bytes = plan->integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  HOCKET_TRY(bytes);
  return CudnnPlan{.plan = std::move(*plan), .workspace_bytes = *bytes};
}

}  // namespace

CudnnGraph::Tensor CudnnGraph::add_tensor(CudnnDescriptorBuilder& builder) {
  auto made = builder.finalize();
  if (!made && ok_) ok_ = failure(made.error());
  tensors_.push_back(made ? std::move(*made) : CudnnDescriptor());
  return {tensors_.size() - 1};
}

void CudnnGraph::add_operation(CudnnDescriptorBuilder& builder) {
  if (!ok_) return;
  auto made = builder.finalize();
  if (made) {
    operations_.push_back(std::move(*made));
  } else {
    ok_ = failure(made.error());
  }
}

CudnnDescriptor CudnnGraph::how_of(CudnnDescriptorBuilder& builder) {
  auto made = builder.finalize();
  if (made) return std::move(*made);
  if (ok_) ok_ = failure(made.error());
  return {};
}

CudnnGraph::Tensor CudnnGraph::memory(std::int64_t id, const HeadsLayout& layout,
                                      cudnnDataType_t type) {
  auto builder = tensor_builder(id, layout, type);
  return add_tensor(builder);
}

CudnnGraph::Tensor CudnnGraph::number(std::int64_t id) {
  auto builder =
      tensor_builder(id, {.extents = {1, 1, 1, 1}, .strides = {1, 1, 1, 1}}, CUDNN_DATA_FLOAT);
  builder.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
  return add_tensor(builder);
}

CudnnGraph::Tensor CudnnGraph::between(const HeadsLayout& layout, cudnnDataType_t type) {
  auto builder = tensor_builder(next_between_++, layout, type);
  builder.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
  return add_tensor(builder);
}

void CudnnGraph::multiply(Tensor a, Tensor b, Tensor product) {
  CudnnDescriptorBuilder how(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  const CudnnDescriptor made = how_of(how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT));
  CudnnDescriptorBuilder builder(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  builder.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_ADESC, tensors_[a.index])
      .set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_BDESC, tensors_[b.index])
      .set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_CDESC, tensors_[product.index])
      .set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_DESC, made);
  add_operation(builder);
}

void CudnnGraph::add_pointwise(CudnnDescriptorBuilder& how, std::initializer_list<Tensor> x_b_t,
                               Tensor y) {
  constexpr std::array kInputs = {CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                  CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                  CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  const CudnnDescriptor made = how_of(how);
  CudnnDescriptorBuilder builder(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  builder.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, made);
  auto name = kInputs.begin();
  for (const Tensor input : x_b_t) builder.set_descriptor(*name++, tensors_[input.index]);
  builder.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensors_[y.index]);
  add_operation(builder);
}

void CudnnGraph::pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Tensor> x_b_t, Tensor y,
                           cudnnDataType_t arithmetic) {
  CudnnDescriptorBuilder how(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  how.set(CUDNN_ATTR_POINTWISE_MODE, mode).set(CUDNN_ATTR_POINTWISE_MATH_PREC, arithmetic);
  add_pointwise(how, x_b_t, y);
}

void CudnnGraph::index_on(std::int64_t axis, Tensor like, Tensor y) {
  CudnnDescriptorBuilder how(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_GEN_INDEX)
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_POINTWISE_AXIS, axis);
  add_pointwise(how, {like}, y);
}

void CudnnGraph::reduce(cudnnReduceTensorOp_t operation, Tensor x, Tensor y) {
  CudnnDescriptorBuilder how(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  how.set(CUDNN_ATTR_REDUCTION_OPERATOR, operation)
      .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  const CudnnDescriptor made = how_of(how);
  CudnnDescriptorBuilder builder(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  builder.set_descriptor(CUDNN_ATTR_OPERATION_REDUCTION_DESC, made)
      .set_descriptor(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, tensors_[x.index])
      .set_descriptor(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, tensors_[y.index]);
  add_operation(builder);
}

void CudnnGraph::transpose(Tensor x, Tensor y) {
  CudnnDescriptorBuilder builder(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  builder.set_descriptor(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, tensors_[x.index])
      .set_descriptor(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, tensors_[y.index]);
  add_operation(builder);
}

Result<CudnnDescriptor> CudnnGraph::finish(const CudnnDevice& device) {
  HOCKET_TRY(ok_);
  CudnnDescriptorBuilder builder(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  builder.set_descriptors(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_);
  if (device.handle) builder.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, device.handle);
  return builder.finalize();
}

Result<CudnnPlan> make_plan(CudnnGraph& graph, const CudnnDevice& device) {
  const auto finished = graph.finish(device);
  HOCKET_TRY(finished);
  Error last{ErrorCode::unavailable, "cuDNN has no kernel for it on this device"};
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    const auto configs = proposals(*finished, device, mode);
    if (!configs) {
      last = configs.error();
      continue;
    }
    for (const CudnnDescriptor& config : *configs) {
      auto plan = plan_with(config);
      if (plan) return plan;
      last = plan.error();
    }
  }
  return failure(last);
}

Result<void> run_plan(cudnnHandle_t handle, const CudnnPlan& plan, const CudnnBindings& bindings,
                      void* workspace) {
  CudnnDescriptorBuilder builder(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  const auto pack = builder.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace)
                        .set_all(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, bindings.memory())
                        .set_all(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, bindings.ids())
                        .finalize();
  HOCKET_TRY(pack);
  const cudnnStatus_t status = cudnn().execute(handle, plan.plan.get(), pack->get());
  if (status != CUDNN_STATUS_SUCCESS) return failure(cudnn_error("cudnnBackendExecute", status));
  return {};
}

}  // namespace hocket
