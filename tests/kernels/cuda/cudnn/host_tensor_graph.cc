#include "tests/kernels/cuda/cudnn/host_tensor_graph.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.h"

namespace hocket {
namespace {

double applied(cudnnPointwiseMode_t mode, const std::vector<double>& x) {
  switch (mode) {
    case CUDNN_POINTWISE_ADD:
      return x.at(0) + x.at(1);
    case CUDNN_POINTWISE_SUB:
      return x.at(0) - x.at(1);
    case CUDNN_POINTWISE_MUL:
      return x.at(0) * x.at(1);
    case CUDNN_POINTWISE_DIV:
      return x.at(0) / x.at(1);
    case CUDNN_POINTWISE_EXP:
      return std::exp(x.at(0));
    case CUDNN_POINTWISE_LOG:
      return std::log(x.at(0));
    case CUDNN_POINTWISE_IDENTITY:
      return x.at(0);
    case CUDNN_POINTWISE_CMP_GE:
      return x.at(0) >= x.at(1);
    case CUDNN_POINTWISE_BINARY_SELECT:
      return x.at(2) != 0 ? x.at(0) : x.at(1);
    default:
      HOCKET_CHECK(false, "no graph here has this operation");
  }
}

}  // namespace

TensorGraph::Tensor HostTensorGraph::memory(std::int64_t id, const HeadsLayout& layout,
                                            cudnnDataType_t) {
  HOCKET_CHECK(bound_.contains(id), "the tensor has no memory");
  tensors_.push_back({layout, bound_.at(id)});
  return {tensors_.size() - 1};
}

TensorGraph::Tensor HostTensorGraph::number(std::int64_t id) {
  return memory(id, {.extents = {1, 1, 1, 1}, .strides = {1, 1, 1, 1}}, CUDNN_DATA_FLOAT);
}

TensorGraph::Tensor HostTensorGraph::between(const HeadsLayout& layout, cudnnDataType_t) {
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < 4; ++axis)
    last += (layout.extents[axis] - 1) * layout.strides[axis];
  owned_.emplace_back(last + 1, std::numeric_limits<double>::quiet_NaN());
  tensors_.push_back({layout, owned_.back()});
  return {tensors_.size() - 1};
}

double& HostTensorGraph::at(Tensor tensor, const Index& index) {
  const Values& values = tensors_[tensor.index];
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (values.layout.extents[axis] == 1) continue;
    HOCKET_CHECK(index[axis] < values.layout.extents[axis], "extents do not fit together");
    offset += index[axis] * values.layout.strides[axis];
  }
  HOCKET_CHECK(offset < std::ssize(values.memory), "outside of the memory");
  return values.memory[offset];
}

template <class Body>
void HostTensorGraph::for_each_index(Tensor tensor, const Body& body) {
  const Index size = tensors_[tensor.index].layout.extents;
  Index i;
  for (i[0] = 0; i[0] < size[0]; ++i[0])
    for (i[1] = 0; i[1] < size[1]; ++i[1])
      for (i[2] = 0; i[2] < size[2]; ++i[2])
        for (i[3] = 0; i[3] < size[3]; ++i[3]) body(i);
}

void HostTensorGraph::multiply(Tensor a, Tensor b, Tensor product) {
  const std::int64_t inner = tensors_[a.index].layout.extents[3];
  HOCKET_CHECK(inner == tensors_[b.index].layout.extents[2], "the factors do not fit together");
  for_each_index(product, [&](const Index& i) {
    double sum = 0;
    for (std::int64_t k = 0; k < inner; ++k)
      sum += at(a, {i[0], i[1], i[2], k}) * at(b, {i[0], i[1], k, i[3]});
    at(product, i) = sum;
  });
}

void HostTensorGraph::pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Tensor> x_b_t,
                                Tensor y, cudnnDataType_t) {
  for_each_index(y, [&](const Index& i) {
    std::vector<double> x;
    for (const Tensor input : x_b_t) x.push_back(at(input, i));
    at(y, i) = applied(mode, x);
  });
}

void HostTensorGraph::index_on(std::int64_t axis, Tensor, Tensor y) {
  for_each_index(y, [&](const Index& i) { at(y, i) = static_cast<double>(i[axis]); });
}

void HostTensorGraph::reduce(cudnnReduceTensorOp_t operation, Tensor x, Tensor y) {
  const bool adds = operation == CUDNN_REDUCE_TENSOR_ADD;
  HOCKET_CHECK(adds || operation == CUDNN_REDUCE_TENSOR_MAX, "no graph here has this operation");
  for_each_index(
      y, [&](const Index& i) { at(y, i) = adds ? 0 : -std::numeric_limits<double>::infinity(); });
  for_each_index(x, [&](const Index& i) {
    double& result = at(y, i);
    result = adds ? result + at(x, i) : std::max(result, at(x, i));
  });
}

void HostTensorGraph::transpose(Tensor x, Tensor y) {
  for_each_index(y, [&](const Index& i) { at(y, i) = at(x, {i[0], i[1], i[3], i[2]}); });
}

}  // namespace hocket
