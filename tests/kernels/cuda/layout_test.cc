#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/kernels/cuda/compared.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;

/// A shape whose innermost dimension may be whole words of 16 bytes.
Shape random_words(Random& random, std::int64_t least_rank, std::int64_t most_rank,
                   std::int64_t most) {
  Shape shape = random_shape_up_to(random, least_rank, most_rank, most);
  if (!shape.empty() && random() % 2 == 0) shape.back() = 8 * random_between(random, 1, 2);
  return shape;
}

/// In all types of numbers that may be put elsewhere.
void expect_moved(Kind kind, std::vector<Numbers> operands, const Attributes& attributes,
                  Random& random) {
  const OperationCase each{kind, operands, attributes, 0};
  expect_as_interpreted(each, random);
  OperationCase in_int32 = each;
  for (Numbers& operand : in_int32.operands)
    operand = random_indices(random, operand.type.shape, 1000);
  expect_float32_as_interpreted(in_int32, random);
}

TEST(CudaLayout, Transpose) {
  for (std::uint64_t seed = 0; seed < rounds(30); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Shape shape = random_words(random, 0, 5, 6);
    Shape order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (std::int64_t& each : order)
      if (random() % 2 == 0) each -= std::ssize(shape);
    expect_moved(Kind::transpose, {random_numbers(random, shape)}, {{"order", order}}, random);
  }
  // Several tiles, the last ones not whole.
  Random random(1);
  expect_moved(Kind::transpose, {random_numbers(random, {2, 40, 70})}, {{"order", Shape{0, 2, 1}}},
               random);
}

TEST(CudaLayout, ReshapeAndBroadcast) {
  for (std::uint64_t seed = 0; seed < rounds(15); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Shape shape = random_words(random, 0, 4, 5);
    const Numbers x = random_numbers(random, shape);
    expect_moved(Kind::reshape, {x}, {{"shape", Shape{1, x.type.count()}}}, random);
    Shape part = shape;
    for (std::int64_t& size : part)
      if (random() % 2 == 0) size = 1;
    shape.insert(shape.begin(), 2);
    expect_moved(Kind::broadcast, {random_numbers(random, part)}, {{"shape", shape}}, random);
  }
}

TEST(CudaLayout, SliceAndPad) {
  for (std::uint64_t seed = 0; seed < rounds(20); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Shape shape = random_words(random, 1, 4, 5);
    const Numbers x = random_numbers(random, shape);
    const std::int64_t dimension =
        random_between(random, -std::ssize(shape), std::ssize(shape) - 1);
    const std::int64_t size = shape[dimension_at(dimension, shape.size())];
    const std::int64_t begin = random_between(random, 0, size - 1);
    expect_moved(Kind::slice, {x},
                 {{"dimension", dimension},
                  {"begin", begin},
                  {"end", random_between(random, begin + 1, size)}},
                 random);
    expect_moved(Kind::pad, {x},
                 {{"dimension", dimension},
                  {"before", random_between(random, 0, 3)},
                  {"after", random_between(random, 0, 3)}},
                 random);
  }
}

TEST(CudaLayout, Concatenate) {
  for (std::uint64_t seed = 0; seed < rounds(20); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Shape shape = random_words(random, 1, 4, 5);
    const std::int64_t dimension =
        random_between(random, -std::ssize(shape), std::ssize(shape) - 1);
    std::vector<Numbers> parts;
    for (std::int64_t left = random_between(random, 1, 4); left > 0; --left) {
      shape[dimension_at(dimension, shape.size())] = random_between(random, 1, 4);
      parts.push_back(random_numbers(random, shape));
    }
    expect_moved(Kind::concatenate, parts, {{"dimension", dimension}}, random);
  }
}

TEST(CudaLayout, Constant) {
  const DeviceTask task{.stream = {}, .lane = 0, .memory = nullptr};
  const RunningDeviceTask running(task);
  for (const NumberType type : {NumberType::float32, NumberType::bfloat16, NumberType::int32}) {
    const KernelSignature signature{Kind::constant, {{"value", -7.0}}, {}, {{type, {3, 50}}}};
    const auto kernel = cuda_kernels().table.make(signature, KernelDevice::cuda);
    ASSERT_TRUE(kernel);
    const auto found = run_kernel(**kernel, signature, {});
    ASSERT_TRUE(found);
    EXPECT_EQ((*found)[0], numbers_of({3, 50}, std::vector<double>(150, -7), type));
  }
}

}  // namespace
}  // namespace hocket
