#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/cuda/compared.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;

TEST(CudaTables, Embedding) {
  for (std::uint64_t seed = 0; seed < rounds(20); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::int64_t rows = random_size(random, 20);
    const std::int64_t width =
        seed % 2 == 0 ? 8 * random_between(random, 1, 5) : random_size(random, 40);
    const Numbers indices = random_indices(random, random_shape_up_to(random, 0, 3, 4), rows);
    expect_as_interpreted(
        {Kind::embedding, {random_numbers(random, {rows, width}), indices}, {}, 0}, random);
    Shape shape = indices.type.shape;
    shape.push_back(width);
    expect_as_interpreted({Kind::embedding_gradient,
                           {indices, random_numbers(random, shape)},
                           {{"rows", rows}},
                           2.0 * static_cast<double>(indices.type.count())},
                          random);
  }
}

TEST(CudaTables, OfRowsThatThereAreNot) {
  Random random(1);
  const Numbers x = random_numbers(random, {2, 3}), table = random_numbers(random, {4, 3});
  for (const double wrong : {-1.0, 4.0, 2e9, -2e9}) {
    const Numbers indices = whole({2}, {3, wrong});
    const Numbers y = cuda_results({Kind::embedding, {table, indices}})[0];
    EXPECT_EQ(y.values[2], static_cast<double>(static_cast<float>(table.values[11])));
    for (std::size_t i = 3; i < 6; ++i) EXPECT_TRUE(std::isnan(y.values[i]));
    const Numbers dtable =
        cuda_results({Kind::embedding_gradient, {indices, x}, {{"rows", std::int64_t{4}}}})[0];
    for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(dtable.values[i], 0);
    EXPECT_EQ(dtable.values[9], static_cast<double>(static_cast<float>(x.values[0])));
    const Numbers dx = cuda_results({Kind::top_k_gradient,
                                     {whole({2, 3}, {0, 1, 2, 3, 2, wrong}), x},
                                     {{"size", std::int64_t{4}}}})[0];
    EXPECT_EQ(dx.values[4] + dx.values[5], 0);
    EXPECT_EQ(dx.values[7], static_cast<double>(static_cast<float>(x.values[3])));
  }
}

TEST(CudaTables, TopK) {
  for (std::uint64_t seed = 0; seed < rounds(40); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Shape shape = random_shape_up_to(random, 0, 2, 4);
    shape.push_back(random_size(random, 70));
    Numbers x = random_numbers(random, shape);
    for (double& each : x.values) {
      if (seed % 2 == 0) each = std::round(each);  // some are equal
      if (random() % 9 == 0) each = NAN;
      if (random() % 9 == 0) each = -INFINITY;
    }
    const std::int64_t count = random_between(random, 1, std::min<std::int64_t>(shape.back(), 12));
    expect_as_interpreted({Kind::top_k, {x}, {{"count", count}}, 0}, random);
    const Numbers indices = results(Kind::top_k, {x}, {{"count", count}})[1];
    expect_as_interpreted({Kind::top_k_gradient,
                           {indices, random_numbers(random, indices.type.shape)},
                           {{"size", shape.back()}}},
                          random);
  }
}

}  // namespace
}  // namespace hocket
