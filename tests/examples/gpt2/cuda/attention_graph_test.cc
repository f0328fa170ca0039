#include "examples/gpt2/cuda/attention_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/random/split_mix.h"
#include "examples/gpt2/cuda/attention_layout.h"
#include "tests/examples/gpt2/cuda/host_tensor_graph.h"

namespace hocket {
namespace {

namespace tensor = attention_tensor;
using Doubles = std::vector<double>;

const AttentionShape kShapes[] = {{1, 1, 1, 1}, {2, 5, 3, 12}, {3, 4, 1, 8}, {1, 9, 4, 4}};

/// One step of attention, computed by ops.h and by a graph on the host.
struct AttentionCase {
  explicit AttentionCase(const AttentionShape& of, std::uint64_t seed) : shape(of) {
    use_one_blas_thread();
    std::uint64_t drawn = 0;
    const auto draw = [&](std::vector<float>& values) {
      std::ranges::generate(values, [&] { return random_normal(seed, drawn++); });
    };
    draw(qkv);
    draw(dy);
    attention_forward(shape, qkv, weights, y);
    std::vector<float> scratch(shape.sequence * shape.sequence);
    attention_backward(shape, qkv, weights, dy, scratch, dqkv);
  }

  /// Returns the queries (0), keys (1) or values (2) in `all`, and what follows them.
  std::span<double> part(Doubles& all, int number) const {
    return std::span(all).subspan(number * qkv_part_elements(shape));
  }
  void bind_numbers(HostTensorGraph& graph) {
    graph.bind(tensor::scale, std::span(&scale, 1));
    graph.bind(tensor::masked, std::span(&masked, 1));
    graph.bind(tensor::one, std::span(&one, 1));
  }

  AttentionShape shape;
  std::size_t rows = shape.batch * shape.sequence;
  std::vector<float> qkv = std::vector<float>(3 * rows * shape.width);
  std::vector<float> dy = std::vector<float>(rows * shape.width);
  std::vector<float> weights = std::vector<float>(rows * shape.heads * shape.sequence);
  std::vector<float> y = std::vector<float>(dy.size()), dqkv = std::vector<float>(qkv.size());
  double scale = 1 / std::sqrt(static_cast<double>(shape.width / shape.heads));
  double masked = -std::numeric_limits<double>::infinity(), one = 1;
};

Doubles doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

Doubles junk(std::size_t size) {
  return Doubles(size, 1e6);
}

/// Returns the statistics of each row: its softmax has e^(score − statistics), so the first key's
/// weight determines them.
Doubles statistics_of(const AttentionCase& from) {
  const AttentionShape& shape = from.shape;
  const std::int64_t head_width = shape.width / shape.heads;
  Doubles statistics;
  for (int b = 0; b < shape.batch; ++b) {
    for (int h = 0; h < shape.heads; ++h) {
      for (int t = 0; t < shape.sequence; ++t) {
        const auto row = [&](int position) {
          return from.qkv.data() + (b * shape.sequence + position) * 3 * shape.width +
                 h * head_width;
        };
        double score = 0;
        for (std::int64_t c = 0; c < head_width; ++c)
          score += from.scale * row(t)[c] * row(0)[shape.width + c];
        const std::size_t weight =
            ((b * shape.heads + h) * std::size_t(shape.sequence) + t) * shape.sequence;
        statistics.push_back(score - std::log(from.weights[weight]));
      }
    }
  }
  return statistics;
}

void expect_near(const Doubles& values, const Doubles& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-4) << i;
}

TEST(AttentionGraph, ForwardIsThatOfOps) {
  for (const AttentionShape& shape : kShapes) {
    AttentionCase given(shape, 1);
    Doubles qkv = doubles(given.qkv), y = junk(given.y.size());
    Doubles statistics = junk(given.rows * shape.heads);
    HostTensorGraph graph;
    given.bind_numbers(graph);
    graph.bind(tensor::query, given.part(qkv, 0));
    graph.bind(tensor::key, given.part(qkv, 1));
    graph.bind(tensor::value, given.part(qkv, 2));
    graph.bind(tensor::output, y);
    graph.bind(tensor::statistics, statistics);
    add_attention_forward(shape, graph);
    expect_near(y, doubles(given.y));
    expect_near(statistics, statistics_of(given));
  }
}

TEST(AttentionGraph, BackwardIsThatOfOps) {
  for (const AttentionShape& shape : kShapes) {
    for (const GradientSums sums : {GradientSums::ordered, GradientSums::unordered}) {
      AttentionCase given(shape, 2);
      Doubles qkv = doubles(given.qkv), y = doubles(given.y), dy = doubles(given.dy);
      Doubles statistics = statistics_of(given), dqkv = junk(qkv.size());
      Doubles products = junk(statistics.size()), dquery_sums = junk(y.size());
      HostTensorGraph graph;
      given.bind_numbers(graph);
      graph.bind(tensor::query, given.part(qkv, 0));
      graph.bind(tensor::key, given.part(qkv, 1));
      graph.bind(tensor::value, given.part(qkv, 2));
      graph.bind(tensor::output, y);
      graph.bind(tensor::statistics, statistics);
      graph.bind(tensor::dquery, given.part(dqkv, 0));
      graph.bind(tensor::dkey, given.part(dqkv, 1));
      graph.bind(tensor::dvalue, given.part(dqkv, 2));
      graph.bind(tensor::doutput, dy);
      graph.bind(tensor::output_products, products);
      if (sums == GradientSums::unordered) graph.bind(tensor::dquery_sums, dquery_sums);
      add_attention_backward(shape, sums, graph);
      expect_near(dqkv, doubles(given.dqkv));
    }
  }
}

}  // namespace
}  // namespace hocket
