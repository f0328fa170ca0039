#pragma once

// Operations of a simulated device: the emulated kernels, and products of matrices on the host.
// Each is put into the stream of its task, with the memory that it accesses. One thread at a time,
// but any may launch kernels.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/cuda/products/column_major.h"
#include "core/cuda/products/matrix_product.h"
#include "tests/core/cuda/host_matrix.h"
#include "tests/core/cuda/model_device.h"
#include "tests/kernels/cuda/emulated_device.h"

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

class StreamProducts final : public MatrixProducts {
 public:
  explicit StreamProducts(ModelDevice& device) : device_(device) {}

  Result<void> multiply(const MatrixProduct& product, const DeviceTask& task) override {
    HOCKET_CHECK(!product.gelu_input || product.c.type == ElementType::bfloat16,
                 "GELU in an epilogue is not exact enough for float32");
    // Refuses what the real library would refuse.
    HOCKET_TRY(column_major(product));
    device_.launch(task.stream, regions_of(product), [product] { multiply_on_host(product); });
    return {};
  }

 private:
  ModelDevice& device_;
};

}  // namespace hocket
