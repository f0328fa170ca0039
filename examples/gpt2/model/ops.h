#pragma once

// The operations of a GPT-2-style model (Radford et al., "Language models are unsupervised
// multitask learners", 2019, section 2.3) on float32 host memory, forward and backward. Matrices
// are row-major and dense; a "row" is one token of one sequence, rows of a batch in order. Outputs
// are overwritten unless said otherwise and must not overlap inputs. For a d… argument, read
// "gradient of the loss with respect to".
//
// Pure functions of their arguments: thread-safe on distinct outputs, no allocation, the same bits
// for the same input on one machine. Sizes that do not fit the shape are a bug of the caller.

#include <cstddef>
#include <cstdint>
#include <span>

namespace hocket {

/// Makes OpenBLAS compute on the calling thread, since the scheduler's streams provide the
/// parallelism. Must be called once per process before the first matrix product.
void use_one_blas_thread();

using Floats = std::span<float>;
using ConstFloats = std::span<const float>;
/// Token numbers, each in [0, vocabulary).
using Tokens = std::span<const std::int32_t>;

struct EmbeddingShape {
  int batch = 0, sequence = 0, vocabulary = 0, width = 0;
};

/// y[b·sequence + t] = token_table[tokens[b·sequence + t]] + position_table[t].
/// token_table: vocabulary × width, position_table: sequence × width, y: batch·sequence × width.
void embedding_forward(const EmbeddingShape& shape, Tokens tokens, ConstFloats token_table,
                       ConstFloats position_table, Floats y);

/// Adds to dtoken_table, which the output head, tied to it, has written before. Adds to
/// dposition_table with `add`, and otherwise overwrites it.
void embedding_backward(const EmbeddingShape& shape, Tokens tokens, ConstFloats dy,
                        Floats dtoken_table, Floats dposition_table, bool add = false);

struct LayerNormShape {
  int rows = 0, width = 0;
};

/// Layer normalisation (Ba, Kiros, Hinton, arXiv:1607.06450, section 3), each row on its own, with
/// epsilon 1e-5 added to the variance. x, y: rows × width; gain, bias: width; statistics: rows × 2,
/// mean and reciprocal standard deviation of each row, for the backward pass.
void layer_norm_forward(const LayerNormShape& shape, ConstFloats x, ConstFloats gain,
                        ConstFloats bias, Floats y, Floats statistics);

/// Computes dx, plus `skip` if it is not empty: the gradient that reaches x along the residual
/// connection. Both are rows × width.
void layer_norm_backward_input(const LayerNormShape& shape, ConstFloats x, ConstFloats gain,
                               ConstFloats statistics, ConstFloats dy, ConstFloats skip, Floats dx);

/// Adds to dgain and dbias with `add`; otherwise overwrites them.
void layer_norm_backward_weight(const LayerNormShape& shape, ConstFloats x, ConstFloats statistics,
                                ConstFloats dy, Floats dgain, Floats dbias, bool add = false);

struct LinearShape {
  int rows = 0, in = 0, out = 0;
};

/// y = x·weight + bias. x: rows × in, weight: in × out, bias: out, y: rows × out.
void linear_forward(const LinearShape& shape, ConstFloats x, ConstFloats weight, ConstFloats bias,
                    Floats y);

/// dx = dy·weightᵀ.
void linear_backward_input(const LinearShape& shape, ConstFloats dy, ConstFloats weight, Floats dx);

/// Part of a weight's gradient to compute: a range of its rows, summed over a range of the batch's
/// rows.
struct GradientPart {
  int row_begin = 0, row_end = 0;      ///< rows of the weight; a bias belongs to the last row
  int token_begin = 0, token_end = 0;  ///< rows of the batch
  bool add = false;                    ///< adds to existing values instead of overwriting them

  bool operator==(const GradientPart&) const = default;
};

/// Returns the part that is the whole gradient.
constexpr GradientPart whole_weight(const LinearShape& shape) {
  return {.row_begin = 0, .row_end = shape.in, .token_begin = 0, .token_end = shape.rows};
}
/// Returns the same for the head, whose table has one row per output.
constexpr GradientPart whole_table(const LinearShape& shape) {
  return {.row_begin = 0, .row_end = shape.out, .token_begin = 0, .token_end = shape.rows};
}

/// dweight = xᵀ·dy, dbias = the sum of dy's rows; computes only `part` of both.
void linear_backward_weight(const LinearShape& shape, const GradientPart& part, ConstFloats x,
                            ConstFloats dy, Floats dweight, Floats dbias);

/// The output head, tied to the token embedding (Press, Wolf, arXiv:1608.05859): logits = x·tableᵀ.
/// x: rows × in, table: out × in, logits: rows × out.
void head_forward(const LinearShape& shape, ConstFloats x, ConstFloats table, Floats logits);
void head_backward_input(const LinearShape& shape, ConstFloats dlogits, ConstFloats table,
                         Floats dx);
void head_backward_weight(const LinearShape& shape, const GradientPart& part, ConstFloats x,
                          ConstFloats dlogits, Floats dtable);

struct AttentionShape {
  int batch = 0, sequence = 0, heads = 0, width = 0;  ///< `width` is a multiple of `heads`
  bool operator==(const AttentionShape&) const = default;
};

/// Multi-head causal self-attention (Vaswani et al., arXiv:1706.03762, sections 3.2.1 to 3.2.3):
/// position t attends to positions up to t. qkv: batch·sequence × 3·width; a row holds query, key
/// and value, each with its heads in order; weights: batch × heads × sequence ×
/// sequence, the softmax, for the backward pass; y: batch·sequence × width.
void attention_forward(const AttentionShape& shape, ConstFloats qkv, Floats weights, Floats y);

/// scratch: sequence × sequence; its contents are unspecified afterwards.
void attention_backward(const AttentionShape& shape, ConstFloats qkv, ConstFloats weights,
                        ConstFloats dy, Floats scratch, Floats dqkv);

/// GELU in its tanh form (Hendrycks, Gimpel, arXiv:1606.08415, section 2), element by element.
void gelu_forward(ConstFloats x, Floats y);
/// Replaces dy in `gradient` by dx.
void gelu_backward(ConstFloats x, Floats gradient);

/// y += x.
void residual_add(ConstFloats x, Floats y);

/// Returns the mean over the rows of −log softmax(logits)[target], and replaces the logits by its
/// gradient. logits: rows × vocabulary.
float cross_entropy(int vocabulary, Floats logits, Tokens targets);

/// AdamW: Adam (Kingma, Ba, arXiv:1412.6980, algorithm 1, with bias correction) with decoupled
/// weight decay (Loshchilov, Hutter, arXiv:1711.05101, algorithm 2).
struct AdamW {
  double learning_rate = 5e-4;
  double beta1 = 0.9, beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
};

/// Consecutive elements that are updated alike.
struct AdamWRange {
  std::size_t size = 0;
  bool decay = false;  ///< weight decay applies to them
};
/// Most ranges of one update of a backend.
inline constexpr std::size_t kMostAdamWRanges = 8;

/// Updates `parameters` and both moments in place with gradient_scale·gradients. `update` counts
/// from 1. `decay` enables weight decay.
void adamw_update(const AdamW& options, std::int64_t update, bool decay, double gradient_scale,
                  ConstFloats gradients, Floats parameters, Floats first_moment,
                  Floats second_moment);

/// Does the rest of adamw_update() where servers have made of the gradients the `steps` of the
/// optimiser (core/collective/optimizer_step.h): the weight decay, and the subtraction. The bits
/// are the same.
void subtract_steps(const AdamW& options, bool decay, ConstFloats steps, Floats parameters);

}  // namespace hocket
