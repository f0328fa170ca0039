#pragma once

// Matrix products on the host, for tests: random products that a library supports, with their
// memory, and the expected results.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "core/cuda/products/matrix_product.h"

namespace hocket {

/// Returns the nearest bfloat16, ties to even; NaN is not supported.
inline std::uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
inline float from_bfloat16(std::uint16_t value) {
  return std::bit_cast<float>(std::uint32_t{value} << 16);
}

inline float element(const void* values, ElementType type, std::int64_t index) {
  if (type == ElementType::float32) return static_cast<const float*>(values)[index];
  return from_bfloat16(static_cast<const std::uint16_t*>(values)[index]);
}
inline void set_element(void* values, ElementType type, std::int64_t index, float value) {
  if (type == ElementType::float32) {
    static_cast<float*>(values)[index] = value;
  } else {
    static_cast<std::uint16_t*>(values)[index] = to_bfloat16(value);
  }
}

inline float gelu(float x) {
  return 0.5F * x * (1 + std::tanh(0.7978845608F * (x + 0.044715F * x * x * x)));
}
inline float gelu_slope(float x) {
  const float t = std::tanh(0.7978845608F * (x + 0.044715F * x * x * x));
  return 0.5F * (1 + t) + 0.5F * x * (1 - t * t) * 0.7978845608F * (1 + 3 * 0.044715F * x * x);
}

/// Elements of one type, aligned to 256 bytes.
class HostElements {
 public:
  HostElements() = default;
  HostElements(ElementType type, std::int64_t count)
      : bytes_(element_bytes(type) * static_cast<std::size_t>(count)), storage_(bytes_ / 256 + 1) {}

  void* data() { return storage_.empty() ? nullptr : storage_.data(); }
  const void* data() const { return storage_.empty() ? nullptr : storage_.data(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct alignas(256) Piece {
    std::byte bytes[256] = {};
  };
  std::size_t bytes_ = 0;
  std::vector<Piece> storage_;
};

/// A product and the memory of its operands.
struct HostProduct {
  MatrixProduct product;
  HostElements a, b, c, added, bias, gelu_input;
  bool adds_to_c = false;

  /// Points the operands of `product` to the memory of this object.
  void point() {
    product.a.values = a.data();
    product.b.values = b.data();
    product.c.values = c.data();
    product.added = adds_to_c ? c.data() : added.data();
    product.bias = bias.data();
    product.gelu_input = gelu_input.data();
  }
};

inline std::int64_t row_stride(const DeviceMatrix& matrix) {
  return matrix.row_stride == 0 ? matrix.columns : matrix.row_stride;
}
inline std::int64_t extent(const DeviceMatrix& matrix, int batch) {
  return (batch - 1) * matrix.batch_stride + matrix.rows * row_stride(matrix);
}
inline std::int64_t index_in(const DeviceMatrix& matrix, int i, int row, int column) {
  return i * matrix.batch_stride + row * row_stride(matrix) + column;
}

/// Computes `product` in host memory into its c and gelu_input, as defined in
/// core/cuda/products/matrix_product.h, with sums in double.
inline void multiply_on_host(const MatrixProduct& p) {
  const int inner = p.transpose_a ? p.a.rows : p.a.columns;
  for (int i = 0; i < p.batch; ++i) {
    for (int row = 0; row < p.c.rows; ++row) {
      for (int column = 0; column < p.c.columns; ++column) {
        double sum = 0;
        for (int k = 0; k < inner; ++k) {
          sum +=
              double{element(p.a.values, p.a.type,
                             p.transpose_a ? index_in(p.a, i, k, row) : index_in(p.a, i, row, k))} *
              double{element(
                  p.b.values, p.b.type,
                  p.transpose_b ? index_in(p.b, i, column, k) : index_in(p.b, i, k, column))};
        }
        const std::int64_t at = index_in(p.c, i, row, column);
        const std::int64_t dense = std::int64_t{row} * p.c.columns + column;
        auto value = static_cast<float>(p.scale * sum);
        if (p.added) value += element(p.added, p.c.type, at);
        if (p.bias) value += element(p.bias, p.c.type, column);
        if (p.epilogue == Epilogue::bias_gelu) {
          set_element(p.gelu_input, p.c.type, dense, value);
          value = gelu(value);
        } else if (p.epilogue == Epilogue::gelu_gradient) {
          value *= gelu_slope(element(p.gelu_input, p.c.type, dense));
        }
        set_element(p.c.values, p.c.type, at, value);
      }
    }
  }
}

/// Returns a random product with random operands. Sizes are up to `most`; with `round_sizes` they
/// are multiples of 8, for which libraries have fast kernels.
inline HostProduct random_product(std::mt19937_64& random, int most, bool round_sizes) {
  HostProduct made;
  MatrixProduct& p = made.product;
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  const auto size = [&] {
    const int n = 1 + static_cast<int>(random() % static_cast<unsigned>(most));
    return round_sizes ? (n + 7) / 8 * 8 : n;
  };
  const auto type = one_in(2) ? ElementType::bfloat16 : ElementType::float32;
  p.a.type = p.b.type = type;
  p.c.type = one_in(3) ? ElementType::float32 : type;
  p.transpose_a = one_in(2);
  p.transpose_b = one_in(2);
  p.scale = one_in(2) ? 1.F : 0.125F;
  p.batch = one_in(3) ? 2 + static_cast<int>(random() % 3) : 1;
  if (p.batch == 1) p.epilogue = static_cast<Epilogue>(random() % 4);
  const int rows = size(), inner = size();
  int columns = size();
  const bool gelu = p.epilogue == Epilogue::bias_gelu || p.epilogue == Epilogue::gelu_gradient;
  if (gelu) columns = (columns + 7) / 8 * 8;
  const auto shape = [&](DeviceMatrix& matrix, int r, int c) {
    matrix.rows = r;
    matrix.columns = c;
    if (one_in(2)) matrix.row_stride = c + 8 * static_cast<int>(random() % 3);
    if (p.batch > 1) matrix.batch_stride = r * row_stride(matrix) + 8 * (random() % 2);
  };
  p.transpose_a ? shape(p.a, inner, rows) : shape(p.a, rows, inner);
  p.transpose_b ? shape(p.b, columns, inner) : shape(p.b, inner, columns);
  shape(p.c, rows, columns);
  const auto fill = [&](ElementType of, std::int64_t count) {
    HostElements elements(of, count);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (std::int64_t i = 0; i < count; ++i) set_element(elements.data(), of, i, uniform(random));
    return elements;
  };
  made.a = fill(type, extent(p.a, p.batch));
  made.b = fill(type, extent(p.b, p.batch));
  made.c = fill(p.c.type, extent(p.c, p.batch));
  made.adds_to_c = one_in(4);
  if (!made.adds_to_c && one_in(3)) made.added = fill(p.c.type, extent(p.c, p.batch));
  if (p.epilogue == Epilogue::bias || p.epilogue == Epilogue::bias_gelu)
    made.bias = fill(p.c.type, columns);
  if (gelu) made.gelu_input = fill(p.c.type, std::int64_t{rows} * columns);
  made.point();
  return made;
}

}  // namespace hocket
