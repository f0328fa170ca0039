#pragma once

// Operations on given numbers, for tests of what graphs compute. One thread.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/interpreter/interpreter.h"

namespace hocket {

using Random = std::mt19937_64;

inline std::int64_t random_between(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

inline Shape random_shape(Random& random, std::int64_t least_rank = 0, std::int64_t most_rank = 4) {
  Shape shape(static_cast<std::size_t>(random_between(random, least_rank, most_rank)));
  for (std::int64_t& size : shape) size = random_between(random, 1, 4);
  return shape;
}

inline Numbers numbers_of(Shape shape, std::vector<double> values,
                          NumberType type = NumberType::float32) {
  return {{type, std::move(shape)}, std::move(values)};
}

inline Numbers whole(Shape shape, std::vector<double> values) {
  return numbers_of(std::move(shape), std::move(values), NumberType::int32);
}

/// Numbers between `low` and `high`, with fractions.
inline Numbers random_numbers(Random& random, const Shape& shape, double low = -2,
                              double high = 2) {
  Numbers numbers{{NumberType::float32, shape}, {}};
  for (std::int64_t i = 0; i < count_of(shape); ++i)
    numbers.values.push_back(std::uniform_real_distribution(low, high)(random));
  return numbers;
}

/// Indices below `size`.
inline Numbers random_indices(Random& random, const Shape& shape, std::int64_t size) {
  Numbers numbers{{NumberType::int32, shape}, {}};
  for (std::int64_t i = 0; i < count_of(shape); ++i)
    numbers.values.push_back(static_cast<double>(random_between(random, 0, size - 1)));
  return numbers;
}

/// Numbers sin(step · i + begin), which are as simple to make in another language.
inline Numbers waves(Shape shape, double step, double begin = 0.1) {
  Numbers numbers{{NumberType::float32, std::move(shape)}, {}};
  for (std::int64_t i = 0; i < numbers.type.count(); ++i)
    numbers.values.push_back(std::sin(step * static_cast<double>(i) + begin));
  return numbers;
}

/// Carries out one operation.
inline Result<std::vector<Numbers>> try_operation(OperationKind kind,
                                                  const std::vector<Numbers>& operands,
                                                  const Attributes& attributes = {},
                                                  const InterpreterOptions& options = {}) {
  Graph graph;
  Leaves leaves;
  std::vector<ValueId> values;
  for (const Numbers& operand : operands) {
    const std::string name = "x" + std::to_string(values.size());
    const auto value = graph.add_input(name, operand.type);
    HOCKET_TRY(value);
    values.push_back(*value);
    leaves.emplace(name, operand);
  }
  const auto first = graph.add(kind, values, attributes);
  HOCKET_TRY(first);
  const std::size_t results = graph.results(graph.operations().back());
  for (std::size_t i = 0; i < results; ++i) {
    HOCKET_TRY(
        graph.add_output("y" + std::to_string(i), {first->index + static_cast<std::uint32_t>(i)}));
  }
  return interpret(graph, leaves, options);
}

/// Returns the results of an operation, of which a test requires that it succeeds.
inline std::vector<Numbers> results(OperationKind kind, const std::vector<Numbers>& operands,
                                    const Attributes& attributes = {},
                                    const InterpreterOptions& options = {}) {
  auto all = try_operation(kind, operands, attributes, options);
  if (all) return std::move(*all);
  ADD_FAILURE() << all.error().message;
  return std::vector<Numbers>(declaration_of(kind).results.size());
}

/// Returns the first result.
inline Numbers result(OperationKind kind, const std::vector<Numbers>& operands,
                      const Attributes& attributes = {}, const InterpreterOptions& options = {}) {
  return results(kind, operands, attributes, options)[0];
}

/// Returns all indices of a shape in order.
inline std::vector<Shape> indices_of(const Shape& shape) {
  std::vector<Shape> indices;
  for (std::int64_t i = 0; i < count_of(shape); ++i) {
    Shape index(shape.size());
    std::int64_t left = i;
    for (std::size_t d = shape.size(); d-- > 0; left /= shape[d]) index[d] = left % shape[d];
    indices.push_back(index);
  }
  return indices;
}

/// Returns the number at an index, of which dimensions that are too many, outermost, or that have
/// size 1 do not count.
inline double at(const Numbers& numbers, const Shape& index) {
  const Shape& shape = numbers.type.shape;
  std::int64_t place = 0;
  for (std::size_t d = 0; d < shape.size(); ++d)
    place = place * shape[d] + (shape[d] == 1 ? 0 : index[index.size() - shape.size() + d]);
  return numbers.values[static_cast<std::size_t>(place)];
}

/// Returns the sum of the products of numbers.
inline double inner_product(const Numbers& one, const Numbers& other) {
  EXPECT_EQ(one.type, other.type);
  double sum = 0;
  for (std::size_t i = 0; i < one.values.size(); ++i) sum += one.values[i] * other.values[i];
  return sum;
}

inline void expect_near(const std::vector<double>& found, const std::vector<double>& expected,
                        double tolerance = 1e-12) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << i;
}

inline void expect_near(const Numbers& found, const Numbers& expected, double tolerance = 1e-12) {
  EXPECT_EQ(found.type, expected.type);
  expect_near(found.values, expected.values, tolerance);
}

}  // namespace hocket
