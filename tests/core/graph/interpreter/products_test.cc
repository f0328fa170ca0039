#include <gtest/gtest.h>

#include <utility>

#include "tests/core/graph/evaluated.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;

Numbers with_swapped(const Numbers& x) {
  std::vector<std::int64_t> order;
  const auto rank = std::ssize(x.type.shape);
  for (std::int64_t i = 0; i < rank; ++i) order.push_back(i);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return result(Kind::transpose, {x}, {{"order", order}});
}

TEST(Matmul, IsTheSumOfProducts) {
  for (std::uint64_t seed = 0; seed < rounds(200); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::int64_t m = random_between(random, 1, 4), n = random_between(random, 1, 4);
    const std::int64_t k = random_between(random, 1, 4);
    Shape a = random_shape(random, 0, 2), b = a;
    for (std::int64_t& size : a)
      if (random() % 3 == 0) size = 1;
    for (std::int64_t& size : b)
      if (random() % 3 == 0) size = 1;
    if (random() % 3 == 0) b.clear();
    a.insert(a.end(), {m, k});
    b.insert(b.end(), {k, n});
    const Numbers left = random_numbers(random, a), right = random_numbers(random, b);
    const Numbers y = result(Kind::matmul, {left, right});
    for (Shape index : indices_of(y.type.shape)) {
      Shape in_left = index, in_right = index;
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        in_left.back() = i;
        in_right[in_right.size() - 2] = i;
        // A dimension of size 1 has but one index, also where it is a row or a column.
        sum += at(left, in_left) * at(right, in_right);
      }
      EXPECT_NEAR(at(y, index), sum, 1e-12);
    }
    for (const bool of_a : {false, true}) {
      for (const bool of_b : {false, true}) {
        const Numbers found = result(
            Kind::matmul, {of_a ? with_swapped(left) : left, of_b ? with_swapped(right) : right},
            {{"transpose_a", of_a}, {"transpose_b", of_b}});
        expect_near(found, y);
      }
    }
  }
}

TEST(Matmul, OfAFewNumbers) {
  const Numbers a = numbers_of({2, 3}, {1, 2, 3, 4, 5, 6}), b = numbers_of({3, 1}, {1, 10, 100});
  EXPECT_EQ(result(Kind::matmul, {a, b}), numbers_of({2, 1}, {321, 654}));
}

}  // namespace
}  // namespace hocket
