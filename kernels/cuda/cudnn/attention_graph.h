#pragma once

// Attention as graphs of operations that cuDNN matches to its fused kernels (FlashAttention; Dao,
// arXiv:2307.08691, algorithms 1 and 2), in bfloat16. The statistics are those of a row's softmax,
// log Σ exp of its scores, so that the backward pass need not go over them again. Pure.

#include <cstdint>

#include "kernels/cuda/cudnn/cudnn_graph.h"
#include "kernels/cuda/fused_attention.h"

namespace hocket {

/// Ids of the tensors in memory and of the numbers that a plan is given when it runs.
namespace attention_tensor {
inline constexpr std::int64_t query = 1, key = 2, value = 3, output = 4, statistics = 5;
inline constexpr std::int64_t dquery = 6, dkey = 7, dvalue = 8, doutput = 9;
/// Scratch of the backward pass, float32: one number per head and position.
inline constexpr std::int64_t output_products = 10;
/// Scratch of the backward pass, float32: as many elements as the queries.
inline constexpr std::int64_t dquery_sums = 11;
/// The shape's scale, −∞, 1.
inline constexpr std::int64_t scale = 12, masked = 13, one = 14;
}  // namespace attention_tensor

/// Order in which the backward pass sums the gradients of a query over the keys: fixed, with the
/// same bits each time; or arbitrary, in float32 scratch (attention_tensor::dquery_sums), for
/// devices for which cuDNN has no kernel with a fixed order.
enum class GradientSums { ordered, unordered };

void add_attention_forward(const FusedAttentionShape& shape, TensorGraph& graph);
void add_attention_backward(const FusedAttentionShape& shape, GradientSums sums,
                            TensorGraph& graph);

}  // namespace hocket
