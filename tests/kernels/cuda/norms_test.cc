#include <gtest/gtest.h>

#include "tests/kernels/cuda/compared.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;

/// Numbers whose rows are some way from 0 and have a spread, as those of a model do.
Numbers random_rows(Random& random, const Shape& shape) {
  Numbers x = random_numbers(random, shape);
  for (double& each : x.values) each += 0.5;
  return x;
}

/// Rows of a few numbers, and of packs that stay in registers or do not.
Shape random_rows_shape(Random& random, std::uint64_t seed) {
  if (seed == 0) return {70, 24};  // several chunks of rows
  if (seed == 1) return {2, 2056};
  if (seed == 2) return {2, 1000};
  Shape shape = random_shape_up_to(random, 0, 2, 4);
  shape.push_back(seed % 3 == 0 ? 8 * random_between(random, 1, 12) : random_size(random, 40));
  return shape;
}

/// The gradient, with the statistics that the interpreter gives of the rows, and perhaps a
/// residual. A row's spread, by which everything is divided, is small at times.
OperationCase gradient_of(Random& random, Kind kind, std::vector<Numbers> operands,
                          const std::vector<Numbers>& results) {
  operands.insert(operands.end(), results.begin() + 1, results.end());
  const Shape& shape = results[0].type.shape;
  operands.push_back(random_numbers(random, shape));
  OperationCase each{kind, std::move(operands)};
  double inverse = 1;
  for (const double value : results.back().values) inverse = std::max(inverse, value);
  const auto rows = static_cast<double>(results[0].type.count() / shape.back());
  each.magnitude = 8 * inverse * inverse * (rows + 4);
  if (random() % 2 == 0) {
    each.attributes = {{"residual", true}};
    each.operands.push_back(random_numbers(random, shape));
  }
  return each;
}

TEST(CudaNorms, LayerNorm) {
  for (std::uint64_t seed = 0; seed < rounds(15); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Numbers x = random_rows(random, random_rows_shape(random, seed));
    const Shape width{x.type.shape.back()};
    const Numbers gain = random_numbers(random, width), bias = random_numbers(random, width);
    const Attributes attributes{{"epsilon", seed % 2 == 0 ? 1e-5 : 0.1}};
    OperationCase each{Kind::layer_norm, {x, gain, bias}, attributes};
    const auto y = results(Kind::layer_norm, each.operands, attributes);
    for (const double inverse : y[2].values)
      each.magnitude = std::max(each.magnitude, 8 * inverse * inverse);
    expect_as_interpreted(each, random);
    expect_as_interpreted(gradient_of(random, Kind::layer_norm_gradient, {x, gain}, y), random);
  }
}

TEST(CudaNorms, RmsNorm) {
  for (std::uint64_t seed = 0; seed < rounds(15); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Numbers x = random_rows(random, random_rows_shape(random, seed));
    const Numbers gain = random_numbers(random, {x.type.shape.back()});
    const Attributes attributes{{"epsilon", seed % 2 == 0 ? 1e-5 : 0.1}};
    const auto y = results(Kind::rms_norm, {x, gain}, attributes);
    expect_as_interpreted({Kind::rms_norm, {x, gain}, attributes}, random);
    expect_as_interpreted(gradient_of(random, Kind::rms_norm_gradient, {x, gain}, y), random);
  }
}

}  // namespace
}  // namespace hocket
