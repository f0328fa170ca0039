#include "core/cuda/products/column_major.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <string>

#include "tests/core/cuda/host_matrix.h"

namespace hocket {
namespace {

using testing::HasSubstr;

/// Returns element (row, column) of a transposed or plain matrix in column-major storage.
float column_major_element(const void* values, const ColumnMajorMatrix& matrix, bool transpose,
                           int i, std::int64_t row, std::int64_t column) {
  if (transpose) std::swap(row, column);
  EXPECT_LT(row, matrix.rows);
  EXPECT_LT(column, matrix.columns);
  return element(values, matrix.type, i * matrix.batch_stride + column * matrix.leading + row);
}

/// Computes the product as a library for column-major matrices does.
void multiply_column_major(const ColumnMajorProduct& kind, const MatrixProduct& p) {
  const std::int64_t inner = kind.transpose_first ? kind.first.rows : kind.first.columns;
  EXPECT_EQ(inner, kind.transpose_second ? kind.second.columns : kind.second.rows);
  for (int i = 0; i < kind.batch; ++i) {
    for (std::int64_t column = 0; column < kind.result.columns; ++column) {
      for (std::int64_t row = 0; row < kind.result.rows; ++row) {
        double sum = 0;
        for (std::int64_t k = 0; k < inner; ++k)
          sum += double{column_major_element(p.b.values, kind.first, kind.transpose_first, i, row,
                                             k)} *
                 double{column_major_element(p.a.values, kind.second, kind.transpose_second, i, k,
                                             column)};
        const std::int64_t at = i * kind.result.batch_stride + column * kind.result.leading + row;
        auto value = static_cast<float>(p.scale * sum);
        if (p.added) value += element(p.added, kind.result.type, at);
        // Vectors have one element per row, and gelu_input is dense.
        if (p.bias) value += element(p.bias, kind.result.type, row);
        const std::int64_t dense = column * kind.result.rows + row;
        if (kind.epilogue == Epilogue::bias_gelu) {
          set_element(p.gelu_input, kind.result.type, dense, value);
          value = gelu(value);
        } else if (kind.epilogue == Epilogue::gelu_gradient) {
          value *= gelu_slope(element(p.gelu_input, kind.result.type, dense));
        }
        set_element(p.c.values, kind.result.type, at, value);
      }
    }
  }
}

bool same_bytes(const HostElements& a, const HostElements& b) {
  return a.bytes() == b.bytes() && (a.bytes() == 0 || !std::memcmp(a.data(), b.data(), a.bytes()));
}

TEST(ColumnMajor, RandomProductsAreTheSame) {
  for (std::uint64_t seed = 1; seed <= 300 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    HostProduct row_major = random_product(random, 12, false);
    HostProduct other = row_major;
    other.point();
    const auto kind = column_major(other.product);
    ASSERT_TRUE(kind) << kind.error().message;
    multiply_on_host(row_major.product);
    multiply_column_major(*kind, other.product);
    EXPECT_TRUE(same_bytes(row_major.c, other.c));
    EXPECT_TRUE(same_bytes(row_major.gelu_input, other.gelu_input));
  }
}

TEST(ColumnMajor, AKindIsAllButTheAddresses) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100; ++i) {
    HostProduct made = random_product(random, 12, false);
    const auto kind = column_major(made.product).value();
    HostProduct moved = made;
    moved.point();
    moved.product.scale += 1;
    EXPECT_EQ(kind, column_major(moved.product).value());
    moved.product.a.values = static_cast<std::byte*>(moved.product.a.values) + 16;
    EXPECT_NE(kind, column_major(moved.product).value()) << "it is aligned in another way";
  }
}

/// Returns the objection to a valid product of 4 × 6 and 6 × 8 after `change`.
std::string objection(const std::function<void(MatrixProduct&)>& change) {
  static HostElements memory(ElementType::float32, 4096);
  MatrixProduct product;
  product.a = {.values = memory.data(), .rows = 4, .columns = 6};
  product.b = {.values = memory.data(), .rows = 6, .columns = 8};
  product.c = {.values = memory.data(), .rows = 4, .columns = 8};
  EXPECT_TRUE(column_major(product));
  change(product);
  const auto kind = column_major(product);
  if (kind) return "";
  EXPECT_EQ(kind.error().code, ErrorCode::invalid_argument);
  return kind.error().message;
}

TEST(ColumnMajor, RefusesWhatDoesNotFit) {
  using P = MatrixProduct;
  EXPECT_THAT(objection([](P& p) { p.a.columns = 5; }), HasSubstr("inner sizes of a and b are 5"));
  EXPECT_THAT(objection([](P& p) { p.transpose_a = true; }), HasSubstr("are 4 and 6"));
  EXPECT_THAT(objection([](P& p) { p.transpose_b = true; }), HasSubstr("are 6 and 8"));
  EXPECT_THAT(objection([](P& p) { p.c.rows = 3; }), HasSubstr("c is 3 × 8: must be 4 × 8"));
  EXPECT_THAT(objection([](P& p) { p.a.rows = 0; }), HasSubstr("a is 0 × 6"));
  EXPECT_THAT(objection([](P& p) { p.b.row_stride = 7; }), HasSubstr("b.row_stride is 7"));
  EXPECT_THAT(objection([](P& p) { p.b.row_stride = std::int64_t{1} << 50; }),
              HasSubstr("b.row_stride"));
  EXPECT_THAT(objection([](P& p) { p.b.values = nullptr; }), HasSubstr("b has no values"));
  EXPECT_THAT(objection([](P& p) { p.a.type = ElementType::bfloat16; }),
              HasSubstr("different types"));
  EXPECT_THAT(objection([](P& p) { p.c.type = ElementType::bfloat16; }), HasSubstr("c must have"));
  EXPECT_THAT(objection([](P& p) { p.c.values = static_cast<std::byte*>(p.c.values) + 2; }),
              HasSubstr("c is not aligned"));
}

TEST(ColumnMajor, RefusesBatchesThatOverlapOrHaveAnEpilogue) {
  using P = MatrixProduct;
  EXPECT_THAT(objection([](P& p) { p.batch = 0; }), HasSubstr("batch is 0"));
  EXPECT_THAT(objection([](P& p) { p.batch = 2; }), HasSubstr("c.batch_stride is 0"));
  EXPECT_EQ(objection([](P& p) { p.batch = 2, p.c.batch_stride = 32; }), "")
      << "operands may be used again";
  EXPECT_THAT(objection([](P& p) { p.batch = 2, p.c.batch_stride = 31; }),
              HasSubstr("must be at least the elements of a matrix, 32"));
  EXPECT_THAT(objection([](P& p) { p.batch = 2, p.c.batch_stride = 32, p.a.batch_stride = -1; }),
              HasSubstr("a.batch_stride is -1"));
  EXPECT_THAT(
      objection([](P& p) { p.batch = 2, p.c.batch_stride = 32, p.epilogue = Epilogue::bias; }),
      HasSubstr("a batch can have no epilogue"));
}

// The heads of attention are adjacent columns of the same rows.
TEST(ColumnMajor, TakesMatricesThatLieBesideEachOther) {
  const auto beside = [](int batch, std::int64_t batch_stride) {
    return objection([&](MatrixProduct& p) {
      p.batch = batch;
      p.c.row_stride = 3 * p.c.columns;
      p.c.batch_stride = batch_stride;
    });
  };
  const std::int64_t columns = 8;
  EXPECT_EQ(beside(3, columns), "");
  EXPECT_EQ(beside(2, 2 * columns), "");
  EXPECT_THAT(beside(3, columns - 1), HasSubstr("c.batch_stride is"));
  EXPECT_THAT(beside(3, columns + 1), HasSubstr("c.batch_stride is"));
  EXPECT_THAT(beside(4, columns), HasSubstr("lie beside each other"));
}

TEST(ColumnMajor, RefusesEpiloguesWithoutWhatTheyUse) {
  using P = MatrixProduct;
  EXPECT_THAT(objection([](P& p) { p.epilogue = Epilogue::bias; }), HasSubstr("needs a bias"));
  EXPECT_THAT(objection([](P& p) { p.bias = p.a.values; }), HasSubstr("no epilogue that adds it"));
  EXPECT_THAT(objection([](P& p) { p.epilogue = Epilogue::gelu_gradient; }),
              HasSubstr("needs gelu_input"));
  EXPECT_THAT(objection([](P& p) { p.gelu_input = p.a.values; }), HasSubstr("gelu_input, but no"));
  EXPECT_THAT(objection([](P& p) {
                p.epilogue = Epilogue::gelu_gradient;
                p.gelu_input = p.a.values;
                p.b.columns = p.c.columns = 9;
              }),
              HasSubstr("must be a multiple of 8"));
  EXPECT_THAT(objection([](P& p) {
                p.epilogue = Epilogue::gelu_gradient;
                p.gelu_input = static_cast<std::byte*>(p.a.values) + 8;
              }),
              HasSubstr("aligned to 16 bytes"));
  EXPECT_THAT(objection([](P& p) {
                p.epilogue = Epilogue::bias;
                p.bias = static_cast<std::byte*>(p.a.values) + 1;
              }),
              HasSubstr("aligned to the elements of c"));
}

}  // namespace
}  // namespace hocket
