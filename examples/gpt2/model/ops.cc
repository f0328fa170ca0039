#include "examples/gpt2/model/ops.h"

#include <cblas.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace hocket {
namespace {

constexpr float kLayerNormEpsilon = 1e-5f;

/// Returns e^x with a relative error of about 1e-7, with x clamped to ±60: values beyond make no
/// difference to the sums they enter here, and products with them would become denormal, which is
/// very slow. Written so that a compiler vectorises it, unlike std::exp. Range reduction and
/// polynomial as in Cephes' expf (Moshier, Methods and Programs for Mathematical Functions, 1989).
inline float fast_exp(float x) {
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  // Adding 1.5·2^23 leaves the nearest integer in the low bits of the mantissa.
  constexpr float kRounder = 12582912.0f;
  x = x < -60.0f ? -60.0f : x;
  x = x > 60.0f ? 60.0f : x;
  const float shifted = x * kLog2E + kRounder;
  const float n = shifted - kRounder;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float power_of_two =
      std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) << 23) + 0x3f800000u);
  return (p * r * r + r + 1.0f) * power_of_two;
}

/// c = alpha·op(a)·op(b) + beta·c, where c is m × n and k the inner dimension; ld… are row strides.
void multiply(CBLAS_TRANSPOSE transpose_a, CBLAS_TRANSPOSE transpose_b, int m, int n, int k,
              float alpha, const float* a, int lda, const float* b, int ldb, float beta, float* c,
              int ldc) {
  cblas_sgemm(CblasRowMajor, transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c,
              ldc);
}

/// Computes the part of c = aᵀ·b; a is tokens × rows of c, and b is tokens × columns of c.
void multiply_gradient(const GradientPart& part, const float* a, int rows, const float* b,
                       int columns, float* c) {
  const auto first = static_cast<std::size_t>(part.token_begin);
  multiply(CblasTrans, CblasNoTrans, part.row_end - part.row_begin, columns,
           part.token_end - part.token_begin, 1.0f, a + first * rows + part.row_begin, rows,
           b + first * columns, columns, part.add ? 1.0f : 0.0f,
           c + static_cast<std::size_t>(part.row_begin) * columns, columns);
}

/// Replaces the first `count` elements of `row` by their softmax.
void softmax(float* row, int count) {
  float largest = row[0];
  for (int i = 1; i < count; ++i) largest = std::max(largest, row[i]);
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int i = 0; i < count; ++i) {
    row[i] = fast_exp(row[i] - largest);
    sum += row[i];
  }
  const float scale = 1.0f / sum;
  for (int i = 0; i < count; ++i) row[i] *= scale;
}

/// Offsets and strides of one head of one sequence in the buffers of attention.
struct Head {
  std::size_t query, key, value, weights, y;
  int size, qkv_stride, y_stride;
};

Head head_at(const AttentionShape& shape, int batch, int head) {
  const std::size_t width = shape.width, sequence = shape.sequence;
  const int size = shape.width / shape.heads;
  const std::size_t row = batch * sequence, column = static_cast<std::size_t>(head) * size;
  const std::size_t query = row * 3 * width + column;
  return {.query = query,
          .key = query + width,
          .value = query + 2 * width,
          .weights = (static_cast<std::size_t>(batch) * shape.heads + head) * sequence * sequence,
          .y = row * width + column,
          .size = size,
          .qkv_stride = 3 * shape.width,
          .y_stride = shape.width};
}

float attention_scale(const Head& head) {
  return 1.0f / std::sqrt(static_cast<float>(head.size));
}

/// Computes the gradient through a softmax of `count` weights: replaces dw by the gradient of its
/// argument.
void softmax_backward(const float* weights, float* dw, int count) {
  float dot = 0;
#pragma omp simd reduction(+ : dot)
  for (int i = 0; i < count; ++i) dot += weights[i] * dw[i];
  for (int i = 0; i < count; ++i) dw[i] = weights[i] * (dw[i] - dot);
}

// √(2/π) and the cubic coefficient of GELU's tanh form. 0.5·(1 + tanh(u)) is computed as the
// logistic function of 2u, which is equal.
constexpr float kGeluScale = 0.7978845608f, kGeluCubic = 0.044715f;

inline float logistic(float x) {
  return 1.0f / (1.0f + fast_exp(-x));
}

}  // namespace

void use_one_blas_thread() {
  [[maybe_unused]] static const bool once = [] {
    openblas_set_num_threads(1);
    return true;
  }();
}

void embedding_forward(const EmbeddingShape& shape, Tokens tokens, ConstFloats token_table,
                       ConstFloats position_table, Floats y) {
  const std::size_t width = shape.width;
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    const float* token = token_table.data() + tokens[row] * width;
    const float* position = position_table.data() + (row % shape.sequence) * width;
    float* out = y.data() + row * width;
    for (std::size_t i = 0; i < width; ++i) out[i] = token[i] + position[i];
  }
}

void embedding_backward(const EmbeddingShape& shape, Tokens tokens, ConstFloats dy,
                        Floats dtoken_table, Floats dposition_table, bool add) {
  const std::size_t width = shape.width;
  if (!add) std::fill(dposition_table.begin(), dposition_table.end(), 0.0f);
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    const float* in = dy.data() + row * width;
    float* token = dtoken_table.data() + tokens[row] * width;
    float* position = dposition_table.data() + (row % shape.sequence) * width;
    for (std::size_t i = 0; i < width; ++i) token[i] += in[i];
    for (std::size_t i = 0; i < width; ++i) position[i] += in[i];
  }
}

void layer_norm_forward(const LayerNormShape& shape, ConstFloats x, ConstFloats gain,
                        ConstFloats bias, Floats y, Floats statistics) {
  const std::size_t width = shape.width;
  for (int row = 0; row < shape.rows; ++row) {
    const float* in = x.data() + row * width;
    float* out = y.data() + row * width;
    float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < width; ++i) sum += in[i];
    const float mean = sum / static_cast<float>(width);
#pragma omp simd reduction(+ : squares)
    for (std::size_t i = 0; i < width; ++i) squares += (in[i] - mean) * (in[i] - mean);
    const float inverse = 1.0f / std::sqrt(squares / static_cast<float>(width) + kLayerNormEpsilon);
#pragma omp simd
    for (std::size_t i = 0; i < width; ++i) out[i] = (in[i] - mean) * inverse * gain[i] + bias[i];
    statistics[2 * row] = mean;
    statistics[2 * row + 1] = inverse;
  }
}

void layer_norm_backward_input(const LayerNormShape& shape, ConstFloats x, ConstFloats gain,
                               ConstFloats statistics, ConstFloats dy, ConstFloats skip,
                               Floats dx) {
  const std::size_t width = shape.width;
  for (int row = 0; row < shape.rows; ++row) {
    const float* in = x.data() + row * width;
    const float* gradient = dy.data() + row * width;
    float* out = dx.data() + row * width;
    const float mean = statistics[2 * row], inverse = statistics[2 * row + 1];
    float sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
    for (std::size_t i = 0; i < width; ++i) {
      const float scaled = gradient[i] * gain[i];
      sum += scaled;
      product += scaled * (in[i] - mean);
    }
    const float offset = sum / static_cast<float>(width);
    const float slope = product * inverse * inverse / static_cast<float>(width);
#pragma omp simd
    for (std::size_t i = 0; i < width; ++i) {
      out[i] = inverse * (gradient[i] * gain[i] - offset - slope * (in[i] - mean));
    }
    if (!skip.empty()) residual_add(skip.subspan(row * width, width), {out, width});
  }
}

void layer_norm_backward_weight(const LayerNormShape& shape, ConstFloats x, ConstFloats statistics,
                                ConstFloats dy, Floats dgain, Floats dbias, bool add) {
  const std::size_t width = shape.width;
  if (!add) {
    std::fill(dgain.begin(), dgain.end(), 0.0f);
    std::fill(dbias.begin(), dbias.end(), 0.0f);
  }
  for (int row = 0; row < shape.rows; ++row) {
    const float* in = x.data() + row * width;
    const float* gradient = dy.data() + row * width;
    const float mean = statistics[2 * row], inverse = statistics[2 * row + 1];
    float* gain = dgain.data();
    float* bias = dbias.data();
#pragma omp simd
    for (std::size_t i = 0; i < width; ++i) {
      gain[i] += gradient[i] * (in[i] - mean) * inverse;
      bias[i] += gradient[i];
    }
  }
}

void linear_forward(const LinearShape& shape, ConstFloats x, ConstFloats weight, ConstFloats bias,
                    Floats y) {
  for (int row = 0; row < shape.rows; ++row) {
    std::copy(bias.begin(), bias.end(), y.begin() + static_cast<std::ptrdiff_t>(row) * shape.out);
  }
  multiply(CblasNoTrans, CblasNoTrans, shape.rows, shape.out, shape.in, 1.0f, x.data(), shape.in,
           weight.data(), shape.out, 1.0f, y.data(), shape.out);
}

void linear_backward_input(const LinearShape& shape, ConstFloats dy, ConstFloats weight,
                           Floats dx) {
  multiply(CblasNoTrans, CblasTrans, shape.rows, shape.in, shape.out, 1.0f, dy.data(), shape.out,
           weight.data(), shape.out, 0.0f, dx.data(), shape.in);
}

void linear_backward_weight(const LinearShape& shape, const GradientPart& part, ConstFloats x,
                            ConstFloats dy, Floats dweight, Floats dbias) {
  multiply_gradient(part, x.data(), shape.in, dy.data(), shape.out, dweight.data());
  if (part.row_end < shape.in) return;
  if (!part.add) std::fill(dbias.begin(), dbias.end(), 0.0f);
  for (int row = part.token_begin; row < part.token_end; ++row) {
    residual_add(dy.subspan(static_cast<std::size_t>(row) * shape.out, shape.out), dbias);
  }
}

void head_forward(const LinearShape& shape, ConstFloats x, ConstFloats table, Floats logits) {
  multiply(CblasNoTrans, CblasTrans, shape.rows, shape.out, shape.in, 1.0f, x.data(), shape.in,
           table.data(), shape.in, 0.0f, logits.data(), shape.out);
}

void head_backward_input(const LinearShape& shape, ConstFloats dlogits, ConstFloats table,
                         Floats dx) {
  multiply(CblasNoTrans, CblasNoTrans, shape.rows, shape.in, shape.out, 1.0f, dlogits.data(),
           shape.out, table.data(), shape.in, 0.0f, dx.data(), shape.in);
}

void head_backward_weight(const LinearShape& shape, const GradientPart& part, ConstFloats x,
                          ConstFloats dlogits, Floats dtable) {
  multiply_gradient(part, dlogits.data(), shape.out, x.data(), shape.in, dtable.data());
}

void attention_forward(const AttentionShape& shape, ConstFloats qkv, Floats weights, Floats y) {
  const int sequence = shape.sequence;
  for (int batch = 0; batch < shape.batch; ++batch) {
    for (int index = 0; index < shape.heads; ++index) {
      const Head head = head_at(shape, batch, index);
      float* w = weights.data() + head.weights;
      multiply(CblasNoTrans, CblasTrans, sequence, sequence, head.size, attention_scale(head),
               qkv.data() + head.query, head.qkv_stride, qkv.data() + head.key, head.qkv_stride,
               0.0f, w, sequence);
      for (int t = 0; t < sequence; ++t) {
        float* row = w + static_cast<std::size_t>(t) * sequence;
        softmax(row, t + 1);
        std::fill(row + t + 1, row + sequence, 0.0f);
      }
      multiply(CblasNoTrans, CblasNoTrans, sequence, head.size, sequence, 1.0f, w, sequence,
               qkv.data() + head.value, head.qkv_stride, 0.0f, y.data() + head.y, head.y_stride);
    }
  }
}

void attention_backward(const AttentionShape& shape, ConstFloats qkv, ConstFloats weights,
                        ConstFloats dy, Floats scratch, Floats dqkv) {
  const int sequence = shape.sequence;
  float* dw = scratch.data();
  for (int batch = 0; batch < shape.batch; ++batch) {
    for (int index = 0; index < shape.heads; ++index) {
      const Head head = head_at(shape, batch, index);
      const float scale = attention_scale(head);
      const float* w = weights.data() + head.weights;
      const float* dhead = dy.data() + head.y;
      multiply(CblasTrans, CblasNoTrans, sequence, head.size, sequence, 1.0f, w, sequence, dhead,
               head.y_stride, 0.0f, dqkv.data() + head.value, head.qkv_stride);
      multiply(CblasNoTrans, CblasTrans, sequence, sequence, head.size, 1.0f, dhead, head.y_stride,
               qkv.data() + head.value, head.qkv_stride, 0.0f, dw, sequence);
      for (int t = 0; t < sequence; ++t) {
        const std::size_t row = static_cast<std::size_t>(t) * sequence;
        softmax_backward(w + row, dw + row, t + 1);
        std::fill(dw + row + t + 1, dw + row + sequence, 0.0f);
      }
      multiply(CblasNoTrans, CblasNoTrans, sequence, head.size, sequence, scale, dw, sequence,
               qkv.data() + head.key, head.qkv_stride, 0.0f, dqkv.data() + head.query,
               head.qkv_stride);
      multiply(CblasTrans, CblasNoTrans, sequence, head.size, sequence, scale, dw, sequence,
               qkv.data() + head.query, head.qkv_stride, 0.0f, dqkv.data() + head.key,
               head.qkv_stride);
    }
  }
}

// The loops below first copy pointers and a count out of the spans; otherwise the compiler does not
// vectorise them.

void gelu_forward(ConstFloats x, Floats y) {
  const std::size_t count = x.size();
  const float* in = x.data();
  float* out = y.data();
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) {
    const float v = in[i];
    out[i] = v * logistic(2 * kGeluScale * (v + kGeluCubic * v * v * v));
  }
}

void gelu_backward(ConstFloats x, Floats gradient) {
  const std::size_t count = x.size();
  const float* in = x.data();
  float* d = gradient.data();
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) {
    const float v = in[i];
    const float s = logistic(2 * kGeluScale * (v + kGeluCubic * v * v * v));
    const float inner = 2 * kGeluScale * (1.0f + 3 * kGeluCubic * v * v);
    d[i] *= s + v * s * (1.0f - s) * inner;
  }
}

void residual_add(ConstFloats x, Floats y) {
  const std::size_t count = x.size();
  const float* in = x.data();
  float* out = y.data();
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) out[i] += in[i];
}

float cross_entropy(int vocabulary, Floats logits, Tokens targets) {
  const auto rows = static_cast<float>(targets.size());
  double loss = 0;
  for (std::size_t row = 0; row < targets.size(); ++row) {
    float* values = logits.data() + row * vocabulary;
    const float of_target = values[targets[row]];
    float largest = values[0];
    for (int i = 1; i < vocabulary; ++i) largest = std::max(largest, values[i]);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < vocabulary; ++i) {
      values[i] = fast_exp(values[i] - largest);
      sum += values[i];
    }
    const float scale = 1.0f / (sum * rows);
#pragma omp simd
    for (int i = 0; i < vocabulary; ++i) values[i] *= scale;
    values[targets[row]] -= 1.0f / rows;
    loss += std::log(static_cast<double>(sum)) + largest - of_target;
  }
  return static_cast<float>(loss / rows);
}

void adamw_update(const AdamW& options, std::int64_t update, bool decay, double gradient_scale,
                  ConstFloats gradients, Floats parameters, Floats first_moment,
                  Floats second_moment) {
  const auto t = static_cast<double>(update);
  const auto beta1 = static_cast<float>(options.beta1), beta2 = static_cast<float>(options.beta2);
  const auto correction1 = static_cast<float>(1.0 / (1.0 - std::pow(options.beta1, t)));
  const auto correction2 = static_cast<float>(1.0 / (1.0 - std::pow(options.beta2, t)));
  const auto rate = static_cast<float>(options.learning_rate),
             epsilon = static_cast<float>(options.epsilon);
  const auto keep =
      static_cast<float>(decay ? 1.0 - options.learning_rate * options.weight_decay : 1.0);
  const auto scale = static_cast<float>(gradient_scale);
  const std::size_t count = gradients.size();
  const float* gradient = gradients.data();
  float* parameter = parameters.data();
  float* first = first_moment.data();
  float* second = second_moment.data();
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) {
    const float g = gradient[i] * scale;
    const float m = beta1 * first[i] + (1.0f - beta1) * g;
    const float v = beta2 * second[i] + (1.0f - beta2) * g * g;
    first[i] = m;
    second[i] = v;
    parameter[i] =
        keep * parameter[i] - rate * (m * correction1) / (std::sqrt(v * correction2) + epsilon);
  }
}

void subtract_steps(const AdamW& options, bool decay, ConstFloats steps, Floats parameters) {
  const auto keep =
      static_cast<float>(decay ? 1.0 - options.learning_rate * options.weight_decay : 1.0);
  const float* step = steps.data();
  float* parameter = parameters.data();
#pragma omp simd
  for (std::size_t i = 0; i < parameters.size(); ++i) parameter[i] = keep * parameter[i] - step[i];
}

}  // namespace hocket
