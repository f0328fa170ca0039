#include <algorithm>
#include <cmath>
#include <limits>

#include "examples/gpt2/cuda/kernels.h"
#include "tests/examples/gpt2/cuda/kernel_cases.h"

namespace hocket {
namespace {

class CausalSoftmaxKernels : public KernelTest {};

AttentionShape draw_weights_shape(KernelCase& of) {
  const int heads = of.integer(1, 2);
  return {.batch = of.integer(1, 2),
          .sequence = std::min(of.width(), 70 + of.integer(0, 2)),
          .heads = heads,
          .width = heads};
}

std::size_t weights_of(const AttentionShape& shape) {
  return static_cast<std::size_t>(shape.batch) * shape.heads * shape.sequence * shape.sequence;
}

/// Calls body(row, count) for each row with its offset and the number of unmasked entries.
template <class Body>
void for_causal_rows(const AttentionShape& shape, const Body& body) {
  const std::size_t sequence = shape.sequence;
  for (std::size_t row = 0; row < weights_of(shape) / sequence; ++row) {
    body(row * sequence, row % sequence + 1);
  }
}

/// Computes the softmax by its definition.
Vector causal_softmax(const AttentionShape& shape, const Vector& scores) {
  Vector weights(scores.size());
  for_causal_rows(shape, [&](std::size_t row, std::size_t count) {
    const double largest = *std::max_element(&scores[row], &scores[row] + count);
    double sum = 0;
    for (std::size_t i = row; i < row + count; ++i) sum += std::exp(scores[i] - largest);
    for (std::size_t i = row; i < row + count; ++i) {
      weights[i] = static_cast<float>(std::exp(scores[i] - largest) / sum);
    }
  });
  return weights;
}

/// Overwrites masked entries with NaN.
void spoil_the_future(const AttentionShape& shape, Vector& values) {
  for_causal_rows(shape, [&](std::size_t row, std::size_t count) {
    std::fill(&values[row] + count, values.data() + row + shape.sequence,
              std::numeric_limits<float>::infinity());
  });
}

TEST_F(CausalSoftmaxKernels, Forward) {
  for_kernel_cases([](KernelCase& of) {
    const AttentionShape shape = draw_weights_shape(of);
    Vector scores = of.normal(weights_of(shape), 0, 10);
    const Vector expected = causal_softmax(shape, scores);
    spoil_the_future(shape, scores);
    const Vector weights = same_each_time([&] {
      const DeviceArray values(of, scores);
      EXPECT_TRUE(kernels::softmax_causal_forward(shape, of.type, values.data(),
                                                  kernel_device()->stream()));
      return values.read();
    });
    expect_close(weights, expected, of.type, 1e-6f);
  });
}

TEST_F(CausalSoftmaxKernels, Backward) {
  for_kernel_cases([](KernelCase& of) {
    const AttentionShape shape = draw_weights_shape(of);
    const Vector weights =
        rounded(causal_softmax(shape, of.normal(weights_of(shape), 0, 2)), of.type);
    Vector gradient = of.normal(weights.size()), expected(weights.size());
    for_causal_rows(shape, [&](std::size_t row, std::size_t count) {
      double dot = 0;
      for (std::size_t i = row; i < row + count; ++i) dot += double{weights[i]} * gradient[i];
      for (std::size_t i = row; i < row + count; ++i) {
        expected[i] = static_cast<float>(weights[i] * (gradient[i] - dot));
      }
    });
    spoil_the_future(shape, gradient);
    const DeviceArray softmax(of, weights);
    const Vector scores = same_each_time([&] {
      const DeviceArray values(of, gradient);
      EXPECT_TRUE(kernels::softmax_causal_backward(shape, of.type, softmax.data(), values.data(),
                                                   kernel_device()->stream()));
      return values.read();
    });
    expect_close(scores, expected, of.type, 2e-6f);
  });
}

}  // namespace
}  // namespace hocket
