#include "examples/gpt2/model/ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "core/collective/optimizer_step.h"
#include "core/random/split_mix.h"
#include "tests/examples/gpt2/model/finite_difference.h"

namespace hocket {
namespace {

using Vector = std::vector<float>;

constexpr std::uint64_t kSeeds = 8;

/// Draws random shapes and values for one seed.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed), key_(seed) {}

  int integer(int low, int high) { return low + static_cast<int>(engine_() % (high - low + 1)); }

  Vector normal(std::size_t size, float mean = 0, float deviation = 1) {
    Vector values(size);
    for (float& value : values) value = mean + deviation * random_normal(key_, index_++);
    return values;
  }

  std::vector<std::int32_t> tokens(std::size_t size, int vocabulary) {
    std::vector<std::int32_t> values(size);
    for (std::int32_t& value : values) value = integer(0, vocabulary - 1);
    return values;
  }

 private:
  std::mt19937_64 engine_;
  std::uint64_t key_, index_ = 0;
};

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

/// Returns garbage that an operation must overwrite.
Vector junk(std::size_t size) {
  return Vector(size, 1e6f);
}

void for_seeds(const std::function<void(Draw&)>& body) {
  use_one_blas_thread();
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Draw draw(seed);
    body(draw);
  }
}

TEST(Embedding, Gradients) {
  for_seeds([](Draw& draw) {
    const EmbeddingShape shape{draw.integer(1, 3), draw.integer(1, 5), draw.integer(2, 6),
                               draw.integer(1, 5)};
    const int rows = shape.batch * shape.sequence;
    const auto tokens = draw.tokens(rows, shape.vocabulary);
    Vector table = draw.normal(shape.vocabulary * shape.width),
           positions = draw.normal(shape.sequence * shape.width);
    const Vector dy = draw.normal(rows * shape.width), before = draw.normal(table.size());
    Vector dtable = before, dpositions = junk(positions.size());
    embedding_backward(shape, tokens, dy, dtable, dpositions);
    for (std::size_t i = 0; i < dtable.size(); ++i) dtable[i] -= before[i];  // the operation adds
    const auto objective = [&] {
      Vector y = junk(dy.size());
      embedding_forward(shape, tokens, table, positions, y);
      return dot(y, dy);
    };
    expect_gradient(table, dtable, objective);
    expect_gradient(positions, dpositions, objective);
  });
}

TEST(LayerNorm, NormalisesEachRow) {
  for_seeds([](Draw& draw) {
    const LayerNormShape shape{draw.integer(1, 4), draw.integer(8, 40)};
    const Vector x = draw.normal(shape.rows * shape.width, 5, 3);
    const Vector gain(shape.width, 2), bias(shape.width, 1);
    Vector y = junk(x.size()), statistics = junk(2 * shape.rows);
    layer_norm_forward(shape, x, gain, bias, y, statistics);
    for (int row = 0; row < shape.rows; ++row) {
      double sum = 0, squares = 0;
      for (int i = 0; i < shape.width; ++i) {
        const double value = (y[row * shape.width + i] - 1.0) / 2.0;
        sum += value;
        squares += value * value;
      }
      EXPECT_NEAR(sum / shape.width, 0, 1e-5);
      EXPECT_NEAR(squares / shape.width, 1, 1e-4);
    }
  });
}

TEST(LayerNorm, Gradients) {
  for_seeds([](Draw& draw) {
    const LayerNormShape shape{draw.integer(1, 4), draw.integer(5, 19)};
    const std::size_t size = shape.rows * shape.width;
    Vector x = draw.normal(size, 1), gain = draw.normal(shape.width, 1, 0.5f),
           bias = draw.normal(shape.width);
    const Vector dy = draw.normal(size), skip = draw.normal(size);
    Vector statistics = junk(2 * shape.rows), dx = junk(size), dx_with_skip = junk(size);
    Vector dgain = junk(shape.width), dbias = junk(shape.width);
    const auto objective = [&] {
      Vector y = junk(size);
      layer_norm_forward(shape, x, gain, bias, y, statistics);
      return dot(y, dy);
    };
    objective();
    layer_norm_backward_input(shape, x, gain, statistics, dy, {}, dx);
    layer_norm_backward_input(shape, x, gain, statistics, dy, skip, dx_with_skip);
    layer_norm_backward_weight(shape, x, statistics, dy, dgain, dbias);
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(dx_with_skip[i], dx[i] + skip[i]);
    expect_gradient(x, dx, objective);
    expect_gradient(gain, dgain, objective);
    expect_gradient(bias, dbias, objective);
  });
}

TEST(Linear, ComputesTheProduct) {
  for_seeds([](Draw& draw) {
    const LinearShape shape{draw.integer(1, 20), draw.integer(1, 20), draw.integer(1, 20)};
    const Vector x = draw.normal(shape.rows * shape.in), weight = draw.normal(shape.in * shape.out);
    const Vector bias = draw.normal(shape.out);
    Vector y = junk(shape.rows * shape.out);
    linear_forward(shape, x, weight, bias, y);
    for (int row = 0; row < shape.rows; ++row) {
      for (int column = 0; column < shape.out; ++column) {
        double expected = bias[column];
        for (int k = 0; k < shape.in; ++k) {
          expected += static_cast<double>(x[row * shape.in + k]) * weight[k * shape.out + column];
        }
        EXPECT_NEAR(y[row * shape.out + column], expected, 1e-4);
      }
    }
  });
}

TEST(Linear, Gradients) {
  for_seeds([](Draw& draw) {
    const LinearShape shape{draw.integer(1, 7), draw.integer(1, 7), draw.integer(1, 7)};
    Vector x = draw.normal(shape.rows * shape.in), weight = draw.normal(shape.in * shape.out);
    Vector bias = draw.normal(shape.out);
    const Vector dy = draw.normal(shape.rows * shape.out);
    Vector dx = junk(x.size()), dweight = junk(weight.size()), dbias = junk(bias.size());
    linear_backward_input(shape, dy, weight, dx);
    linear_backward_weight(shape, whole_weight(shape), x, dy, dweight, dbias);
    const auto objective = [&] {
      Vector y = junk(dy.size());
      linear_forward(shape, x, weight, bias, y);
      return dot(y, dy);
    };
    expect_gradient(x, dx, objective);
    expect_gradient(weight, dweight, objective);
    expect_gradient(bias, dbias, objective);
  });
}

TEST(Head, Gradients) {
  for_seeds([](Draw& draw) {
    const LinearShape shape{draw.integer(1, 7), draw.integer(1, 7), draw.integer(2, 7)};
    Vector x = draw.normal(shape.rows * shape.in), table = draw.normal(shape.out * shape.in);
    const Vector dlogits = draw.normal(shape.rows * shape.out);
    Vector dx = junk(x.size()), dtable = junk(table.size());
    head_backward_input(shape, dlogits, table, dx);
    head_backward_weight(shape, whole_table(shape), x, dlogits, dtable);
    const auto objective = [&] {
      Vector logits = junk(dlogits.size());
      head_forward(shape, x, table, logits);
      return dot(logits, dlogits);
    };
    expect_gradient(x, dx, objective);
    expect_gradient(table, dtable, objective);
  });
}

AttentionShape draw_attention_shape(Draw& draw) {
  const int heads = draw.integer(1, 3);
  return {draw.integer(1, 2), draw.integer(2, 6), heads, heads * draw.integer(1, 4)};
}

/// Computes attention by its definition.
Vector attention_reference(const AttentionShape& shape, const Vector& qkv) {
  const int size = shape.width / shape.heads;
  Vector y(shape.batch * shape.sequence * shape.width);
  const auto at = [&](int batch, int t, int part, int head, int i) -> double {
    return qkv[(batch * shape.sequence + t) * 3 * shape.width + part * shape.width + head * size +
               i];
  };
  for (int batch = 0; batch < shape.batch; ++batch) {
    for (int head = 0; head < shape.heads; ++head) {
      for (int t = 0; t < shape.sequence; ++t) {
        double total = 0;
        std::vector<double> sums(size);
        for (int s = 0; s <= t; ++s) {
          double product = 0;
          for (int i = 0; i < size; ++i)
            product += at(batch, t, 0, head, i) * at(batch, s, 1, head, i);
          const double weight = std::exp(product / std::sqrt(size));
          total += weight;
          for (int i = 0; i < size; ++i) sums[i] += weight * at(batch, s, 2, head, i);
        }
        for (int i = 0; i < size; ++i) {
          y[(batch * shape.sequence + t) * shape.width + head * size + i] =
              static_cast<float>(sums[i] / total);
        }
      }
    }
  }
  return y;
}

TEST(Attention, IsItsDefinition) {
  for_seeds([](Draw& draw) {
    const AttentionShape shape = draw_attention_shape(draw);
    const int rows = shape.batch * shape.sequence;
    const Vector qkv = draw.normal(rows * 3 * shape.width);
    Vector weights = junk(rows * shape.heads * shape.sequence), y = junk(rows * shape.width);
    attention_forward(shape, qkv, weights, y);
    const Vector expected = attention_reference(shape, qkv);
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-5);
  });
}

TEST(Attention, Gradients) {
  for_seeds([](Draw& draw) {
    const AttentionShape shape = draw_attention_shape(draw);
    const int rows = shape.batch * shape.sequence;
    Vector qkv = draw.normal(rows * 3 * shape.width);
    const Vector dy = draw.normal(rows * shape.width);
    Vector weights = junk(rows * shape.heads * shape.sequence);
    const auto objective = [&] {
      Vector y = junk(dy.size());
      attention_forward(shape, qkv, weights, y);
      return dot(y, dy);
    };
    objective();
    Vector scratch = junk(shape.sequence * shape.sequence), dqkv = junk(qkv.size());
    attention_backward(shape, qkv, weights, dy, scratch, dqkv);
    expect_gradient(qkv, dqkv, objective);
  });
}

TEST(Gelu, IsTheTanhForm) {
  for (double x = -12; x <= 12; x += 0.01) {
    const Vector in{static_cast<float>(x)};
    Vector out = junk(1);
    gelu_forward(in, out);
    const double v = in[0];
    const double expected =
        0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
    ASSERT_NEAR(out[0], expected, 4e-7 * std::max(1.0, std::abs(expected))) << x;
  }
}

TEST(Gelu, StaysFiniteFarOut) {
  const Vector x{-1e4f, -200, 200, 1e4f};
  Vector y = junk(4), gradient(4, 1);
  gelu_forward(x, y);
  gelu_backward(x, gradient);
  EXPECT_NEAR(y[0], 0, 1e-9);
  EXPECT_NEAR(y[1], 0, 1e-9);
  EXPECT_EQ(y[2], 200);
  EXPECT_EQ(y[3], 1e4f);
  EXPECT_NEAR(gradient[0], 0, 1e-9);
  EXPECT_NEAR(gradient[3], 1, 1e-6);
}

TEST(Gelu, Gradients) {
  for_seeds([](Draw& draw) {
    Vector x = draw.normal(draw.integer(1, 30), 0, 1.5f);
    const Vector dy = draw.normal(x.size());
    Vector gradient = dy;
    gelu_backward(x, gradient);
    expect_gradient(x, gradient, [&] {
      Vector y = junk(x.size());
      gelu_forward(x, y);
      return dot(y, dy);
    });
  });
}

TEST(ResidualAdd, Adds) {
  const Vector x{1, 2, 3};
  Vector y{10, 20, 30};
  residual_add(x, y);
  EXPECT_EQ(y, (Vector{11, 22, 33}));
}

TEST(CrossEntropy, IsItsDefinition) {
  for_seeds([](Draw& draw) {
    const int rows = draw.integer(1, 6), vocabulary = draw.integer(2, 40);
    const Vector logits = draw.normal(rows * vocabulary, 3, 10);
    const auto targets = draw.tokens(rows, vocabulary);
    double expected = 0;
    for (int row = 0; row < rows; ++row) {
      double sum = 0;
      for (int i = 0; i < vocabulary; ++i)
        sum += std::exp(static_cast<double>(logits[row * vocabulary + i]));
      expected += (std::log(sum) - logits[row * vocabulary + targets[row]]) / rows;
    }
    Vector values = logits;
    EXPECT_NEAR(cross_entropy(vocabulary, values, targets), expected, 1e-5 * (1 + expected));
  });
}

TEST(CrossEntropy, Gradients) {
  for_seeds([](Draw& draw) {
    const int rows = draw.integer(1, 5), vocabulary = draw.integer(2, 9);
    Vector logits = draw.normal(rows * vocabulary);
    const auto targets = draw.tokens(rows, vocabulary);
    Vector dlogits = logits;
    cross_entropy(vocabulary, dlogits, targets);
    expect_gradient(logits, dlogits, [&] {
      Vector values = logits;
      return cross_entropy(vocabulary, values, targets);
    });
  });
}

TEST(CrossEntropy, StaysFiniteFarOut) {
  Vector logits{-1e4f, 1e4f};
  EXPECT_EQ(cross_entropy(2, logits, std::vector<std::int32_t>{0}), 2e4f);
  EXPECT_EQ(logits, (Vector{-1, 1}));
}

// Values computed by hand, with rate 0.1, β₁ 0.9, β₂ 0.99 and decay 0.1. First update, g = 0.5: m =
// 0.05, v = 0.0025, both corrected 0.5 and 0.25, so the step is 0.1. Second, g = −1: m = −0.055, v
// = 0.012475, corrected −0.2894737 and 0.6268844, so the step is −0.0365608. Decay multiplies by
// 0.99 before each.
TEST(AdamWUpdate, IsAsByHand) {
  const AdamW options{
      .learning_rate = 0.1, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0.1};
  for (const bool decay : {false, true}) {
    Vector parameter{1}, first{0}, second{0};
    adamw_update(options, 1, decay, 1.0, Vector{0.5f}, parameter, first, second);
    EXPECT_NEAR(parameter[0], decay ? 0.89 : 0.9, 1e-6);
    adamw_update(options, 2, decay, 0.5, Vector{-2.0f}, parameter, first, second);
    EXPECT_NEAR(parameter[0], decay ? 0.9176608 : 0.9365608, 1e-6);
    EXPECT_NEAR(first[0], -0.055, 1e-7);
    EXPECT_NEAR(second[0], 0.012475, 1e-7);
  }
}

TEST(AdamWUpdate, HasTheSameBitsInTwoParts) {
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  const AdamW options;
  const std::size_t size = 1003;
  Vector parameters(size), first(size), second(size), gradients(size);
  for (float& value : parameters) value = normal(random);
  Vector served = parameters, served_first = first, served_second = second;
  for (int update = 1; update <= 4; ++update) {
    for (float& value : gradients) value = normal(random);
    const double scale = 1.0 / 3;
    const bool decay = update % 2 == 0;
    adamw_update(options, update, decay, scale, gradients, parameters, first, second);
    apply_optimizer_step({.kind = OptimizerKind::adamw,
                          .update = update,
                          .gradient_scale = scale,
                          .learning_rate = options.learning_rate,
                          .beta1 = options.beta1,
                          .beta2 = options.beta2,
                          .epsilon = options.epsilon},
                         gradients, served_first, served_second);
    subtract_steps(options, decay, gradients, served);
    EXPECT_TRUE(served == parameters);
    EXPECT_TRUE(served_second == second);
  }
}

}  // namespace
}  // namespace hocket
