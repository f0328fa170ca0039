#pragma once

// A TensorGraph that does each operation on the host as soon as it is named, in float64 whatever
// the types: what the operations mean, apart from how a device rounds.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "examples/gpt2/cuda/cudnn_graph.h"

namespace hocket {

class HostTensorGraph final : public TensorGraph {
 public:
  using TensorGraph::between;
  using TensorGraph::pointwise;
  /// What the tensor or number `id` is; its memory must live as long.
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

  /// An axis with one element has it for every index.
  double& at(Tensor tensor, const Index& index);
  template <class Body>
  void for_each_index(Tensor tensor, const Body& body);

  std::map<std::int64_t, std::span<double>> bound_;
  std::deque<std::vector<double>> owned_;
  std::vector<Values> tensors_;
};

}  // namespace hocket
