#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

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

/// A product with its epilogue, and the operations that it stands for.
struct Epilogued {
  std::vector<Numbers> operands, found, expected;
};

/// Returns a random product with what follows it, by itself and as operations of their own.
Epilogued random_epilogue(Random& random) {
  const std::vector<std::string> functions{"none", "relu", "gelu", "silu"};
  const std::int64_t m = random_between(random, 1, 4), n = random_between(random, 1, 4);
  const std::int64_t k = random_between(random, 1, 4);
  Shape batch = random_shape(random, 0, 1), a = batch, y = batch;
  const bool turns_a = random() % 2 == 0;
  a.insert(a.end(), {turns_a ? k : m, turns_a ? m : k});
  y.insert(y.end(), {m, n});
  std::vector<Numbers> operands{random_numbers(random, a), random_numbers(random, {k, n})};
  Attributes attributes{{"transpose_a", turns_a}};
  std::vector<Numbers> expected{result(Kind::matmul, operands, attributes)};
  Numbers& product = expected[0];
  const auto operand = [&](const Shape& shape) {
    return operands.emplace_back(random_numbers(random, shape));
  };
  if (random() % 2 == 0) {
    attributes.set("bias", true);
    product = result(Kind::add, {product, operand({n})});
  }
  const std::string function = functions[random() % functions.size()];
  if (function != "none" && random() % 2 == 0) {
    attributes.set("gradient_of", function);
    const Kind gradient = parse_operation_kind(function + "_gradient").value();
    product = result(gradient, {operand(y), product});
  } else if (function != "none") {
    attributes.set("activation", function);
    const bool keeps = random() % 2 == 0;
    attributes.set("keeps_before", keeps);
    const Numbers before = product;
    product = result(parse_operation_kind(function).value(), {before});
    if (keeps) expected.push_back(before);
  }
  if (random() % 2 == 0) {
    attributes.set("residual", true);
    expected[0] = result(Kind::add, {expected[0], operand(y)});
  }
  if (batch.empty() && random() % 2 == 0) {
    attributes.set("sums_a", true);
    expected.push_back(result(Kind::sum, {operands[0]}, {{"dimensions", Shape{turns_a ? 0 : 1}}}));
  }
  return {operands, results(Kind::matmul, operands, attributes), expected};
}

TEST(Matmul, EpiloguesAreTheOperationsAfterIt) {
  for (std::uint64_t seed = 0; seed < rounds(300); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Epilogued epilogued = random_epilogue(random);
    EXPECT_EQ(epilogued.found, epilogued.expected);
  }
}

TEST(Matmul, WidensByTheTypesOfItsResults) {
  const Numbers a = numbers_of({1, 2}, {1, 0.00390625}, NumberType::bfloat16);
  const Numbers b = numbers_of({2, 1}, {1, 0.5}, NumberType::bfloat16);
  const InterpreterOptions rounding{.rounds_values = true};
  EXPECT_EQ(results(Kind::matmul, {a, b}, {{"sums_a", true}}, rounding),
            (std::vector{numbers_of({1, 1}, {1}, NumberType::bfloat16),
                         numbers_of({1}, {1}, NumberType::bfloat16)}));
  EXPECT_EQ(results(Kind::matmul, {a, b}, {{"sums_a", true}, {"widens", true}}, rounding),
            (std::vector{numbers_of({1, 1}, {1.001953125}), numbers_of({1}, {1.00390625})}));
}

}  // namespace
}  // namespace hocket
