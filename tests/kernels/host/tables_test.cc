#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/host/compared.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;
using ::testing::HasSubstr;

TEST(HostTables, Embedding) {
  for (std::uint64_t seed = 0; seed < rounds(80); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::int64_t rows = random_size(random, 30), width = random_size(random, 40);
    const Numbers indices = random_indices(random, random_shape_up_to(random, 0, 3, 6), rows);
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

TEST(HostTables, RefusesRowsThatThereAreNot) {
  Random random(1);
  const Numbers x = random_numbers(random, {2, 3});
  for (const double wrong : {-1.0, 4.0, 2e9, -2e9}) {
    const Numbers indices = whole({2}, {3, wrong});
    const std::string expected = "indices: expected numbers from 0 to 3, found " +
                                 std::to_string(static_cast<std::int64_t>(wrong)) + " at place 1";
    EXPECT_EQ(kernel_error({Kind::embedding, {random_numbers(random, {4, 3}), indices}}), expected);
    EXPECT_EQ(kernel_error({Kind::embedding_gradient, {indices, x}, {{"rows", std::int64_t{4}}}}),
              expected);
    EXPECT_THAT(kernel_error({Kind::top_k_gradient,
                              {whole({2, 3}, {0, 1, 2, 3, 2, wrong}), x},
                              {{"size", std::int64_t{4}}}}),
                HasSubstr("at place 5"));
  }
}

TEST(HostTables, TopK) {
  for (std::uint64_t seed = 0; seed < rounds(150); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Shape shape = random_shape_up_to(random, 0, 2, 5);
    shape.push_back(random_size(random, 40));
    Numbers x = random_numbers(random, shape);
    for (double& each : x.values) {
      if (seed % 2 == 0) each = std::round(each);  // some are equal
      if (random() % 9 == 0) each = NAN;
      if (random() % 9 == 0) each = -INFINITY;
    }
    const std::int64_t count = random_between(random, 1, shape.back());
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
