#include <gtest/gtest.h>

#include <string>

#include "tests/kernels/cuda/compared.h"
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
  // The epilogue takes a product that was rounded.
  each.narrow_magnitude = each.magnitude;
  each.attributes.set("sums_a", each.operands[0].type.shape.size() == 2 && coin());
  each.attributes.set("widens", coin());
  return each;
}

/// Returns sizes, some of which are multiples of what packs and GELU's epilogue need.
ProductSizes random_product_sizes(Random& random) {
  const auto size = [&] {
    return random() % 2 == 0 ? 8 * random_between(random, 1, 2) : random_size(random, 12);
  };
  return {size(), size(), size()};
}

TEST(CudaMatmul, OfAnyShapes) {
  for (std::uint64_t seed = 0; seed < rounds(80); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const ProductSizes sizes = random_product_sizes(random);
    expect_as_interpreted(random_product(random, sizes, random_shape(random, 0, 3), seed % 3 == 0),
                          random);
  }
}

TEST(CudaMatmul, WithAnyEpilogue) {
  CudaKernels without;
  without.products.has_epilogues = false;
  // Few products fit an epilogue of the library's, so that a quarter of the cases may have none.
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const ProductSizes sizes = random_product_sizes(random);
    const OperationCase each = random_product(random, sizes, random_shape(random, 0, 1), true);
    if (seed % 4 != 0) {
      expect_as_interpreted(each, random);
    } else {
      expect_as_interpreted(without, each, random);
      expect_as_interpreted(without, in_bfloat16(each), random);
    }
  }
  // There are fewer messages than products.
  EXPECT_EQ(without.warnings,
            std::vector<std::string>{"a product and what follows it take two kernels: no kernel "
                                     "with an epilogue"});
}

/// Returns how many products a run takes, and how many of them with an epilogue.
std::pair<int, int> products_of(const OperationCase& each) {
  HostProducts& products = cuda_kernels().products;
  products.multiplied = products.epilogues = 0;
  cuda_results(each);
  return {products.multiplied, products.epilogues};
}

TEST(CudaMatmul, TakesFewProducts) {
  using Counts = std::pair<int, int>;
  Random random(1);
  const auto numbers = [&](const Shape& shape) { return random_numbers(random, shape); };
  const Numbers a = numbers({6, 8}), b = numbers({8, 16}), bias = numbers({16}),
                y = numbers({6, 16});
  EXPECT_EQ(products_of({Kind::matmul, {a, b}}), Counts(1, 0));
  EXPECT_EQ(products_of({Kind::matmul, {a, b, bias}, {{"bias", true}}}), Counts(1, 1));
  const Attributes gelu{{"bias", true}, {"activation", "gelu"}, {"keeps_before", true}};
  // GELU in an epilogue is not exact enough for float32.
  EXPECT_EQ(products_of({Kind::matmul, {a, b, bias}, gelu}), Counts(1, 0));
  EXPECT_EQ(products_of(in_bfloat16({Kind::matmul, {a, b, bias}, gelu})), Counts(1, 1));
  EXPECT_EQ(products_of(in_bfloat16({Kind::matmul, {a, b, y}, {{"gradient_of", "gelu"}}})),
            Counts(1, 1));
  // A batch with one right matrix, one with several, and one with two dimensions apart.
  EXPECT_EQ(products_of({Kind::matmul, {numbers({4, 6, 8}), b, bias}, {{"bias", true}}}),
            Counts(1, 1));
  EXPECT_EQ(products_of({Kind::matmul, {numbers({4, 6, 8}), numbers({4, 8, 16})}}), Counts(1, 0));
  EXPECT_EQ(products_of({Kind::matmul, {numbers({4, 1, 6, 8}), numbers({1, 3, 8, 16})}}),
            Counts(4, 0));
}

TEST(CudaMatmul, RefusesSizesThatCannotBeCounted) {
  const std::int64_t size = std::int64_t{1} << 31;
  const KernelSignature signature{Kind::matmul,
                                  complete(Kind::matmul, {}).value(),
                                  {{NumberType::float32, {size, 1}}, {NumberType::float32, {1, 1}}},
                                  {{NumberType::float32, {size, 1}}}};
  const auto made = cuda_kernels().table.make(signature, KernelDevice::cuda);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message,
            "matmul of float32[2147483648, 1] and float32[1, 1]: kernels on a CUDA device take at "
            "most 2147483647 rows or columns, found 2147483648");
}

}  // namespace
}  // namespace hocket
