#pragma once

// A TensorGraph that executes each operation on the host immediately, in float64 for all types: it
// defines the operations apart from a device's rounding. One thread.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "kernels/cuda/cudnn/cudnn_graph.h"

namespace hocket {

class HostTensorGraph final : public TensorGraph {
 public:
  using TensorGraph::between;
  using TensorGraph::pointwise;
  /// Binds the tensor or scalar `id` to memory, which must outlive this object.
  void bind(std::int64_t id, std::span<double> memory) { bound_[id] = memory; }

  Tensor memory(std::int64_t id, const HeadsLayout& layout, cudnnDataType_t type) override;
  Tensor number(std::int64_t id) override;
  Tensor between(const HeadsLayout& layout, cudnnDataType_t type) override;
  void multiply(Tensor a, Tensor b, Tensor product) override;
  void pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Tensor> x_b_t, Tensor y,
                 cudnnDataType_t arithmetic) override;
  void index_on(std::int64_t axis, Tensor like, Tensor y) override;
  void reduce(cudnnReduceTensorOp_t operation, Tensor x, Tensor y) override;
  void transpose(Tensor x, Tensor y) override;

 private:
  using Index = std::array<std::int64_t, 4>;
  struct Values {
    HeadsLayout layout;
    std::span<double> memory;
  };

  /// Returns an element. An axis of one element is broadcast to every index.
  double& at(Tensor tensor, const Index& index);
  template <class Body>
  void for_each_index(Tensor tensor, const Body& body);

  std::map<std::int64_t, std::span<double>> bound_;
  std::deque<std::vector<double>> owned_;
  std::vector<Values> tensors_;
};

}  // namespace hocket
