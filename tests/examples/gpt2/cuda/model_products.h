#pragma once

// What a model device computes with beside the emulated kernels, on the host: products of matrices,
// and attention as one operation. Each is put into the stream of its task.

#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "core/cuda/column_major.h"
#include "core/cuda/matrix_product.h"
#include "examples/gpt2/cuda/fused_attention.h"
#include "examples/gpt2/ops.h"
#include "tests/core/cuda/model_device.h"
#include "tests/examples/gpt2/cuda/emulated_device.h"

namespace hocket {

inline float read_element(const void* values, ElementType type, std::int64_t index) {
  if (type == ElementType::float32) return static_cast<const float*>(values)[index];
  return __bfloat162float(static_cast<const __nv_bfloat16*>(values)[index]);
}

inline void write_element(float value, void* values, ElementType type, std::int64_t index) {
  if (type == ElementType::float32) {
    static_cast<float*>(values)[index] = value;
  } else {
    static_cast<__nv_bfloat16*>(values)[index] = __float2bfloat16(value);
  }
}

class ModelProducts final : public MatrixProducts {
 public:
  explicit ModelProducts(ModelDevice& device) : device_(device) {}

  Result<void> multiply(const MatrixProduct& product, const DeviceTask& task) override {
    if (!has_epilogues &&
        (product.epilogue == Epilogue::bias_gelu || product.epilogue == Epilogue::gelu_gradient))
      return failure(ErrorCode::unavailable, "no kernel with such an epilogue");
    // What the library that this stands for would refuse.
    if (auto ok = column_major(product); !ok) return failure(ok.error());
    device_.launch(task.stream, {}, [product] { compute(product); });
    ++multiplied;
    return {};
  }

  bool has_epilogues = true;
  std::int64_t multiplied = 0;

 private:
  static std::int64_t index_of(const DeviceMatrix& matrix, int batch, int row, int column) {
    const std::int64_t row_stride = matrix.row_stride == 0 ? matrix.columns : matrix.row_stride;
    return batch * matrix.batch_stride + row * row_stride + column;
  }
  static float element(const DeviceMatrix& matrix, bool transposed, int batch, int row,
                       int column) {
    if (transposed) std::swap(row, column);
    return read_element(matrix.values, matrix.type, index_of(matrix, batch, row, column));
  }

  static void compute(const MatrixProduct& p) {
    const int inner = p.transpose_a ? p.a.rows : p.a.columns;
    for (int batch = 0; batch < p.batch; ++batch)
      for (int row = 0; row < p.c.rows; ++row)
        for (int column = 0; column < p.c.columns; ++column) {
          float sum = 0;
          for (int i = 0; i < inner; ++i)
            sum += element(p.a, p.transpose_a, batch, row, i) *
                   element(p.b, p.transpose_b, batch, i, column);
          sum *= p.scale;
          const std::int64_t at = index_of(p.c, batch, row, column);
          if (p.added) sum += read_element(p.added, p.c.type, at);
          write_element(finish(p, sum, row, column), p.c.values, p.c.type, at);
        }
  }

  static float finish(const MatrixProduct& p, float sum, int row, int column) {
    const std::int64_t dense = std::int64_t{row} * p.c.columns + column;
    switch (p.epilogue) {
      case Epilogue::none:
        return sum;
      case Epilogue::bias:
        return sum + read_element(p.bias, p.c.type, column);
      case Epilogue::bias_gelu: {
        const float before = sum + read_element(p.bias, p.c.type, column);
        write_element(before, p.gelu_input, p.c.type, dense);
        float after = 0;
        gelu_forward({&before, 1}, {&after, 1});
        return after;
      }
      case Epilogue::gelu_gradient: {
        const float before = read_element(p.gelu_input, p.c.type, dense);
        gelu_backward({&before, 1}, {&sum, 1});
        return sum;
      }
    }
    return sum;
  }

  ModelDevice& device_;
};

/// Keeps the weights of attention to itself, as a kernel that computes them again would not.
class ModelAttention final : public FusedAttention {
 public:
  explicit ModelAttention(ModelDevice& device) : device_(device) {}

  Result<void> prepare(const AttentionShape& shape) override {
    shape_ = shape;
    return {};
  }
  std::size_t workspace_bytes() const override { return 64; }

  Result<void> forward(const void* qkv, float* statistics, void* y, void*,
                       const DeviceTask& task) override {
    device_.launch(task.stream, {}, [=, this] {
      std::vector<float> out(rows() * shape_.width), weights = weights_of(qkv, out);
      for (std::size_t i = 0; i < rows() * shape_.heads; ++i) statistics[i] = 1;
      put(out, y);
    });
    return {};
  }
  Result<void> backward(const void* qkv, const float* statistics, const void*, const void* dy,
                        void* dqkv, void*, const DeviceTask& task) override {
    device_.launch(task.stream, {}, [=, this] {
      for (std::size_t i = 0; i < rows() * shape_.heads; ++i)
        HOCKET_CHECK(statistics[i] == 1, "the statistics of the forward pass are gone");
      std::vector<float> out(rows() * shape_.width), weights = weights_of(qkv, out);
      std::vector<float> scratch(static_cast<std::size_t>(shape_.sequence) * shape_.sequence);
      std::vector<float> gradient(3 * out.size());
      attention_backward(shape_, get(qkv, gradient.size()), weights, get(dy, out.size()), scratch,
                         gradient);
      put(gradient, dqkv);
    });
    return {};
  }

 private:
  std::size_t rows() const { return static_cast<std::size_t>(shape_.batch) * shape_.sequence; }

  static std::vector<float> get(const void* values, std::size_t size) {
    std::vector<float> result(size);
    for (std::size_t i = 0; i < size; ++i)
      result[i] = read_element(values, ElementType::bfloat16, static_cast<std::int64_t>(i));
    return result;
  }
  static void put(const std::vector<float>& values, void* to) {
    for (std::size_t i = 0; i < values.size(); ++i)
      write_element(values[i], to, ElementType::bfloat16, static_cast<std::int64_t>(i));
  }
  std::vector<float> weights_of(const void* qkv, std::vector<float>& out) const {
    std::vector<float> weights(rows() * shape_.heads * shape_.sequence);
    attention_forward(shape_, get(qkv, 3 * out.size()), weights, out);
    return weights;
  }

  ModelDevice& device_;
  AttentionShape shape_;
};

}  // namespace hocket
