#pragma once

// Operations of a simulated device: the emulated kernels, and computed on the host products of
// matrices and attention as one operation. Each is put into the stream of its task, with the memory
// that it accesses. One thread at a time, but any may launch kernels.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/cuda/products/column_major.h"
#include "core/cuda/products/matrix_product.h"
#include "examples/gpt2/cuda/fused_attention.h"
#include "examples/gpt2/model/ops.h"
#include "tests/core/cuda/host_matrix.h"
#include "tests/core/cuda/model_device.h"
#include "tests/examples/gpt2/cuda/emulated_device.h"

namespace hocket {

/// Directs emulated kernels to the device of the launching thread. They run one at a time on all
/// devices together.
class KernelsInStreams {
 public:
  KernelsInStreams() {
    emulated::set_put_work([this](DeviceStream stream, emulated::Work work) {
      ModelDevice::in_use().launch_recorded(stream, [this, work = std::move(work)] {
        std::lock_guard lock(mutex_);
        std::vector<Region> regions;
        for (const emulated::AccessedMemory& memory : work())
          regions.push_back({memory.begin, memory.bytes, memory.writes});
        return regions;
      });
    });
  }
  ~KernelsInStreams() { emulated::set_put_work(nullptr); }
  KernelsInStreams(const KernelsInStreams&) = delete;
  KernelsInStreams& operator=(const KernelsInStreams&) = delete;

 private:
  std::mutex mutex_;
};

/// Adds the memory of a matrix, or of all matrices of a batch, to `regions`: rows that touch each
/// other, within a matrix or between matrices side by side, are one region.
inline void add_matrix(const DeviceMatrix& matrix, int batch, bool writes,
                       std::vector<Region>& regions) {
  const std::size_t size = element_bytes(matrix.type);
  std::vector<std::int64_t> rows;  // index of the first element of each
  for (int i = 0; i < batch; ++i)
    for (int row = 0; row < matrix.rows; ++row) rows.push_back(index_in(matrix, i, row, 0));
  std::ranges::sort(rows);
  std::int64_t begin = rows.front(), end = begin;
  const auto add = [&] {
    regions.push_back({static_cast<const std::byte*>(matrix.values) + begin * size,
                       static_cast<std::size_t>(end - begin) * size, writes});
  };
  for (const std::int64_t row : rows) {
    if (row > end) {
      add();
      begin = row;
    }
    end = row + matrix.columns;
  }
  add();
}

/// Returns the memory that a product reads and writes.
inline std::vector<Region> regions_of(const MatrixProduct& product) {
  std::vector<Region> regions;
  add_matrix(product.a, product.batch, false, regions);
  add_matrix(product.b, product.batch, false, regions);
  add_matrix(product.c, product.batch, true, regions);
  if (product.added) {
    DeviceMatrix added = product.c;
    added.values = const_cast<void*>(product.added);
    add_matrix(added, product.batch, false, regions);
  }
  const std::size_t row_bytes = product.c.columns * element_bytes(product.c.type);
  if (product.bias) regions.push_back({product.bias, row_bytes, false});
  if (product.gelu_input)
    regions.push_back(
        {product.gelu_input, product.c.rows * row_bytes, product.epilogue == Epilogue::bias_gelu});
  return regions;
}

class ModelProducts final : public MatrixProducts {
 public:
  explicit ModelProducts(ModelDevice& device) : device_(device) {}

  Result<void> multiply(const MatrixProduct& product, const DeviceTask& task) override {
    if (!has_epilogues && product.epilogue != Epilogue::none) {
      return failure(
          refusal, "no kernel with epilogue " + std::to_string(static_cast<int>(product.epilogue)));
    }
    HOCKET_CHECK(!product.gelu_input || product.c.type == ElementType::bfloat16,
                 "GELU in an epilogue is not exact enough for float32");
    // Refuses what the real library would refuse.
    HOCKET_TRY(column_major(product));
    device_.launch(task.stream, regions_of(product), [product] { multiply_on_host(product); });
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
  std::size_t forward_workspace_bytes() const override { return 64; }
  std::size_t backward_workspace_bytes() const override { return 128; }

  Result<void> forward(const void* qkv, float* statistics, void* y, void* workspace,
                       const DeviceTask& task) override {
    const std::vector<Region> regions{{qkv, 3 * y_bytes(), false},
                                      {statistics, statistics_bytes(), true},
                                      {y, y_bytes(), true},
                                      {workspace, forward_workspace_bytes(), true}};
    device_.launch(task.stream, regions, [=, this] {
      std::vector<float> out(rows() * shape_.width), weights = weights_of(qkv, out);
      for (std::size_t i = 0; i < rows() * shape_.heads; ++i) statistics[i] = 1;
      put(out, y);
    });
    return {};
  }
  Result<void> backward(const void* qkv, const float* statistics, const void* y, const void* dy,
                        void* dqkv, void* workspace, const DeviceTask& task) override {
    const std::vector<Region> regions{
        {qkv, 3 * y_bytes(), false}, {statistics, statistics_bytes(), false},
        {y, y_bytes(), false},       {dy, y_bytes(), false},
        {dqkv, 3 * y_bytes(), true}, {workspace, backward_workspace_bytes(), true}};
    device_.launch(task.stream, regions, [=, this] {
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
  std::size_t y_bytes() const {
    return rows() * shape_.width * element_bytes(ElementType::bfloat16);
  }
  std::size_t statistics_bytes() const { return rows() * shape_.heads * sizeof(float); }
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
