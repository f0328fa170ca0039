#include <gtest/gtest.h>

#include <string>

#include "tests/kernels/host/compared.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;

/// The batch with random dimensions of size 1, and perhaps without the outermost ones.
Shape random_batch(Random& random, Shape batch) {
  for (std::int64_t& size : batch)
    if (random() % 3 == 0) size = 1;
  if (random() % 3 == 0) batch.clear();
  return batch;
}

struct ProductSizes {
  std::int64_t m, n, k;
};

Shape matrix_shape(Shape batch, std::int64_t rows, std::int64_t columns, bool is_transposed) {
  batch.insert(batch.end(), {is_transposed ? columns : rows, is_transposed ? rows : columns});
  return batch;
}

/// A product of random shapes, with a random epilogue if `has_epilogue`.
OperationCase random_product(Random& random, const ProductSizes& sizes, const Shape& batch,
                             bool has_epilogue) {
  const auto coin = [&] { return random() % 2 == 0; };
  const bool a_is_transposed = coin(), b_is_transposed = coin();
  OperationCase each{Kind::matmul, {}, {}, 4.0 * static_cast<double>(sizes.k) + 4};
  each.operands = {random_numbers(random, matrix_shape(random_batch(random, batch), sizes.m,
                                                       sizes.k, a_is_transposed)),
                   random_numbers(random, matrix_shape(random_batch(random, batch), sizes.k,
                                                       sizes.n, b_is_transposed))};
  each.attributes = {{"transpose_a", a_is_transposed}, {"transpose_b", b_is_transposed}};
  if (!has_epilogue) return each;
  const Shape y = signature_of(each).results[0].shape;
  const std::string words[] = {"none", "relu", "gelu", "silu"};
  if (coin()) {
    each.attributes.set("bias", true);
    each.operands.push_back(random_numbers(random, {sizes.n}));
  }
  if (coin()) {
    each.attributes.set("activation", words[random() % 4]);
    each.attributes.set("keeps_before", each.attributes.word("activation") != "none" && coin());
  } else if (const std::string& word = words[random() % 4]; word != "none") {
    each.attributes.set("gradient_of", word);
    each.operands.push_back(random_numbers(random, y, -3, 3));
  }
  if (coin()) {
    each.attributes.set("residual", true);
    each.operands.push_back(random_numbers(random, y));
  }
  each.attributes.set("sums_a", each.operands[0].type.shape.size() == 2 && coin());
  each.attributes.set("widens", coin());
  return each;
}

TEST(HostMatmul, OfAnyShapes) {
  for (std::uint64_t seed = 0; seed < rounds(300); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto size = [&] { return random_size(random, 20); };
    const ProductSizes sizes{size(), size(), size()};
    expect_as_interpreted(random_product(random, sizes, random_shape(random, 0, 3), seed % 3 == 0),
                          random);
  }
}

TEST(HostMatmul, WithAnyEpilogue) {
  for (std::uint64_t seed = 0; seed < rounds(600); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto size = [&] { return random_size(random, 20); };
    const ProductSizes sizes{size(), size(), size()};
    expect_as_interpreted(random_product(random, sizes, random_shape(random, 0, 1), true), random);
  }
}

// Products of several units: rows of one matrix, and of several.
TEST(HostMatmul, OfManyRows) {
  for (std::uint64_t seed = 0; seed < rounds(16); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const ProductSizes sizes{random_between(random, 200, 700), random_between(random, 1, 40),
                             random_between(random, 1, 40)};
    const Shape batch = seed % 2 == 0 ? Shape{} : Shape{2};
    const OperationCase each = random_product(random, sizes, batch, seed % 4 < 2);
    expect_as_interpreted(each, random);
  }
}

TEST(HostMatmul, DividesIntoAFewUnits) {
  const auto units = [](const Shape& a, const Shape& b) {
    const KernelSignature signature{Kind::matmul,
                                    complete(Kind::matmul, {}).value(),
                                    {{NumberType::float32, a}, {NumberType::float32, b}},
                                    {}};
    KernelSignature made = signature;
    made.results = result_types(made.kind, made.attributes, made.operands).value();
    return host_kernels().make(made, KernelDevice::host).value()->units();
  };
  EXPECT_EQ(units({256, 8}, {8, 8}), 1);
  EXPECT_EQ(units({512, 8}, {8, 8}), 2);
  EXPECT_EQ(units({50257, 8}, {8, 8}), 8);
  // The matrices of a batch that have one weight are one.
  EXPECT_EQ(units({4, 128, 8}, {8, 8}), 2);
  EXPECT_EQ(units({4, 128, 8}, {4, 8, 8}), 4);
}

TEST(HostMatmul, RefusesSizesThatCannotBeCounted) {
  const std::int64_t size = std::int64_t{1} << 31;
  const KernelSignature signature{Kind::matmul,
                                  complete(Kind::matmul, {}).value(),
                                  {{NumberType::float32, {size, 1}}, {NumberType::float32, {1, 1}}},
                                  {{NumberType::float32, {size, 1}}}};
  const auto made = host_kernels().make(signature, KernelDevice::host);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message,
            "matmul of float32[2147483648, 1] and float32[1, 1]: OpenBLAS multiplies matrices of "
            "at most 2147483647 rows or columns, found 2147483648");
}

}  // namespace
}  // namespace hocket
