#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/kernels/host/compared.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;

/// Numbers of either type that may be put elsewhere.
Numbers random_value(Random& random, const Shape& shape) {
  return random() % 2 == 0 ? random_numbers(random, shape) : random_indices(random, shape, 1000);
}

void expect_moved(Kind kind, std::vector<Numbers> operands, const Attributes& attributes,
                  Random& random) {
  expect_as_interpreted({kind, std::move(operands), attributes, 0}, random);
}

TEST(HostLayout, Transpose) {
  for (std::uint64_t seed = 0; seed < rounds(200); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Shape shape = random_shape_up_to(random, 0, 5, seed % 2 == 0 ? 7 : 20);
    if (count_of(shape) > 100000) continue;
    Shape order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (std::int64_t& each : order)
      if (random() % 2 == 0) each -= std::ssize(shape);
    expect_moved(Kind::transpose, {random_value(random, shape)}, {{"order", order}}, random);
  }
}

TEST(HostLayout, ReshapeAndBroadcast) {
  for (std::uint64_t seed = 0; seed < rounds(60); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Shape shape = random_shape_up_to(random, 0, 4, 8);
    const Numbers x = random_value(random, shape);
    expect_moved(Kind::reshape, {x}, {{"shape", Shape{1, x.type.count()}}}, random);
    Shape part = shape;
    for (std::int64_t& size : part)
      if (random() % 2 == 0) size = 1;
    shape.insert(shape.begin(), 2);
    expect_moved(Kind::broadcast, {random_value(random, part)}, {{"shape", shape}}, random);
  }
}

TEST(HostLayout, ReshapeInPlaceMovesNothing) {
  const KernelSignature signature =
      signature_of({Kind::reshape, {numbers_of({2, 2}, {1, 2, 3, 4})}, {{"shape", Shape{4}}}});
  const auto kernel = host_kernels().make(signature, KernelDevice::host);
  ASSERT_TRUE(kernel);
  // Memory that cannot be read is not touched.
  void* const nowhere = reinterpret_cast<void*>(64);
  const void* const operands[] = {nowhere};
  void* const results[] = {nowhere};
  EXPECT_TRUE((*kernel)->run({operands, results}));
}

TEST(HostLayout, SliceAndPad) {
  for (std::uint64_t seed = 0; seed < rounds(100); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Shape shape = random_shape_up_to(random, 1, 4, 8);
    const Numbers x = random_value(random, shape);
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

TEST(HostLayout, Concatenate) {
  for (std::uint64_t seed = 0; seed < rounds(100); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Shape shape = random_shape_up_to(random, 1, 4, 6);
    const std::int64_t dimension =
        random_between(random, -std::ssize(shape), std::ssize(shape) - 1);
    const bool is_whole = random() % 2 == 0;
    std::vector<Numbers> parts;
    for (std::int64_t left = random_between(random, 1, 4); left > 0; --left) {
      shape[dimension_at(dimension, shape.size())] = random_between(random, 1, 4);
      parts.push_back(is_whole ? random_indices(random, shape, 1000)
                               : random_numbers(random, shape));
    }
    expect_moved(Kind::concatenate, parts, {{"dimension", dimension}}, random);
  }
}

TEST(HostLayout, Constant) {
  for (const NumberType type : {NumberType::float32, NumberType::int32}) {
    const KernelSignature signature{Kind::constant, {{"value", -7.0}}, {}, {{type, {3, 50}}}};
    const auto kernel = host_kernels().make(signature, KernelDevice::host);
    ASSERT_TRUE(kernel);
    Random random(1);
    const auto found =
        run_kernel(**kernel, signature, {}, {{}, random_ranges(random, (*kernel)->units())});
    ASSERT_TRUE(found);
    EXPECT_EQ((*found)[0], numbers_of({3, 50}, std::vector<double>(150, -7), type));
  }
}

}  // namespace
}  // namespace hocket
