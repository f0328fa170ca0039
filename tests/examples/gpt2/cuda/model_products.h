#pragma once

// Operations of a simulated device besides the emulated kernels, computed on the host: products of
// matrices, and attention as one operation. Each is put into the stream of its task. One thread at
// a time.

#include <cstdint>
#include <string>
#include <vector>

#include "core/cuda/products/column_major.h"
#include "core/cuda/products/matrix_product.h"
#include "examples/gpt2/cuda/fused_attention.h"
#include "examples/gpt2/model/ops.h"
#include "tests/core/cuda/host_matrix.h"
#include "tests/core/cuda/model_device.h"

namespace hocket {

class ModelProducts final : public MatrixProducts {
 public:
  explicit ModelProducts(ModelDevice& device) : device_(device) {}

  Result<void> multiply(const MatrixProduct& product, const DeviceTask& task) override {
    if (!has_epilogues && product.epilogue != Epilogue::none) {
      return failure(
          refusal, "no kernel with epilogue " + std::to_string(static_cast<int>(product.epilogue)));
    }
    // Refuses what the real library would refuse.
    HOCKET_TRY(column_major(product));
    device_.launch(task.stream, {}, [product] { multiply_on_host(product); });
    ++multiplied;
    return {};
  }

  bool has_epilogues = true;
  ErrorCode refusal = ErrorCode::not_found;  ///< of a product with an epilogue
  std::int64_t multiplied = 0;

 private:
  ModelDevice& device_;
};

/// Keeps attention's weights, where a real kernel would recompute them.
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
      result[i] = element(values, ElementType::bfloat16, static_cast<std::int64_t>(i));
    return result;
  }
  static void put(const std::vector<float>& values, void* to) {
    for (std::size_t i = 0; i < values.size(); ++i)
      set_element(to, ElementType::bfloat16, static_cast<std::int64_t>(i), values[i]);
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
