#pragma once

// Builds a graph of tensor operations, which cuDNN runs as one kernel or few, and the plan that
// runs it. Not thread-safe.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "core/base/check.h"
#include "core/base/result.h"
#include "kernels/cuda/cudnn/cudnn_descriptor.h"
#include "kernels/cuda/heads_layout.h"

namespace hocket {

/// Target of a plan: the device of `handle`, or without a handle the device described by
/// `properties`, so that plans can be made on machines without a device.
struct CudnnDevice {
  cudnnHandle_t handle = nullptr;
  const CudnnDescriptor* properties = nullptr;
};

/// Operations on tensors, in the order of the calls, with float32 arithmetic.
class TensorGraph {
 public:
  /// A tensor of this graph.
  struct Tensor {
    std::size_t index = 0;
  };
  virtual ~TensorGraph() = default;

  /// Adds a tensor in memory; `id` identifies it when the graph runs.
  virtual Tensor memory(std::int64_t id, const HeadsLayout& layout, cudnnDataType_t type) = 0;
  /// Adds a float in host memory, which is copied when the graph is put into a stream.
  virtual Tensor number(std::int64_t id) = 0;
  /// Adds an intermediate tensor, which need not be in memory.
  virtual Tensor between(const HeadsLayout& layout, cudnnDataType_t type) = 0;
  Tensor between(const HeadsLayout& layout) { return between(layout, CUDNN_DATA_FLOAT); }

  /// Multiplies matrices for each sequence and head.
  virtual void multiply(Tensor a, Tensor b, Tensor product) = 0;
  /// Applies `mode` to x, to x and b, or to x, b and the condition t. An operand with one element
  /// on an axis is broadcast along it.
  virtual void pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Tensor> x_b_t, Tensor y,
                         cudnnDataType_t arithmetic) = 0;
  void pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Tensor> x_b_t, Tensor y) {
    pointwise(mode, x_b_t, y, CUDNN_DATA_FLOAT);
  }
  /// Sets each element of `y` to its own index on `axis`; `like` has y's extents.
  virtual void index_on(std::int64_t axis, Tensor like, Tensor y) = 0;
  /// Reduces `x` over the axes on which `y` has one element and `x` more.
  virtual void reduce(cudnnReduceTensorOp_t operation, Tensor x, Tensor y) = 0;
  /// Sets `y` to `x` with its last two axes exchanged.
  virtual void transpose(Tensor x, Tensor y) = 0;
};

/// Collects the operations for cuDNN. Keeps the first error until finish().
class CudnnGraph final : public TensorGraph {
 public:
  using TensorGraph::between;
  using TensorGraph::pointwise;
  Tensor memory(std::int64_t id, const HeadsLayout& layout, cudnnDataType_t type) override;
  Tensor number(std::int64_t id) override;
  Tensor between(const HeadsLayout& layout, cudnnDataType_t type) override;
  void multiply(Tensor a, Tensor b, Tensor product) override;
  void pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Tensor> x_b_t, Tensor y,
                 cudnnDataType_t arithmetic) override;
  void index_on(std::int64_t axis, Tensor like, Tensor y) override;
  void reduce(cudnnReduceTensorOp_t operation, Tensor x, Tensor y) override;
  void transpose(Tensor x, Tensor y) override;

  Result<CudnnDescriptor> finish(const CudnnDevice& device);

 private:
  Tensor add_tensor(CudnnDescriptorBuilder& builder);
  void add_operation(CudnnDescriptorBuilder& builder);
  /// Returns an operation without its tensors; empty after an error.
  CudnnDescriptor how_of(CudnnDescriptorBuilder& builder);
  void add_pointwise(CudnnDescriptorBuilder& how, std::initializer_list<Tensor> x_b_t, Tensor y);

  std::vector<CudnnDescriptor> tensors_, operations_;
  std::int64_t next_between_ = 1000;  // ids of intermediate tensors, used by nothing else
  Result<void> ok_;
};

struct CudnnPlan {
  CudnnDescriptor plan;
  std::int64_t workspace_bytes = 0;
};

/// Returns the first plan that cuDNN's heuristics propose and can build; unavailable when there is
/// none.
Result<CudnnPlan> make_plan(CudnnGraph& graph, const CudnnDevice& device);

/// Maps a plan's tensors to memory when it runs.
class CudnnBindings {
 public:
  struct Binding {
    std::int64_t id = 0;
    const void* memory = nullptr;
  };
  CudnnBindings(std::initializer_list<Binding> bindings) {
    for (const Binding& binding : bindings) add(binding.id, binding.memory);
  }
  void add(std::int64_t id, const void* memory) {
    HOCKET_CHECK(size_ < ids_.size(), "no graph here has as many tensors");
    ids_[size_] = id;
    // cuDNN takes inputs and outputs in one list.
    memory_[size_++] = const_cast<void*>(memory);
  }
  std::span<const std::int64_t> ids() const { return std::span(ids_).first(size_); }
  std::span<void* const> memory() const { return std::span(memory_).first(size_); }

 private:
  std::array<std::int64_t, 16> ids_ = {};
  std::array<void*, 16> memory_ = {};
  std::size_t size_ = 0;
};

/// Puts the plan's work into the stream of `handle`. `bindings` need not outlive the call.
Result<void> run_plan(cudnnHandle_t handle, const CudnnPlan& plan, const CudnnBindings& bindings,
                      void* workspace);

}  // namespace hocket
