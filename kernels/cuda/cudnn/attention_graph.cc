#include "kernels/cuda/cudnn/attention_graph.h"

namespace hocket {
namespace {

using Tensor = TensorGraph::Tensor;

constexpr cudnnDataType_t kElement = CUDNN_DATA_BFLOAT16;

/// Dense, with `columns` numbers for each head and position.
HeadsLayout dense_layout(const FusedAttentionShape& shape, std::int64_t columns) {
  return dense_heads(shape.batch(), shape.heads(), shape.positions(), columns);
}
HeadsLayout statistics_layout(const FusedAttentionShape& shape) {
  return dense_layout(shape, 1);
}
HeadsLayout weights_layout(const FusedAttentionShape& shape) {
  return dense_layout(shape, shape.positions());
}

/// The operations shared by both passes.
class AttentionGraph {
 public:
  AttentionGraph(const FusedAttentionShape& shape, TensorGraph& graph)
      : shape_(shape),
        graph_(graph),
        scale_(graph_.number(attention_tensor::scale)),
        statistics_(graph_.memory(attention_tensor::statistics, statistics_layout(shape),
                                  CUDNN_DATA_FLOAT)) {}

  void forward();
  void backward(GradientSums sums);

 private:
  Tensor of_qkv(std::int64_t id) { return graph_.memory(id, shape_.inputs, kElement); }
  Tensor of_qkv_transposed(std::int64_t id) {
    return graph_.memory(id, transposed(shape_.inputs), kElement);
  }
  Tensor of_output(std::int64_t id) { return graph_.memory(id, shape_.outputs, kElement); }
  Tensor weights() { return graph_.between(weights_layout(shape_)); }
  Tensor row_numbers() { return graph_.between(statistics_layout(shape_)); }

  /// Returns query · keyᵀ, scaled.
  Tensor scores(Tensor query, Tensor key_transposed);
  /// Returns `scores` where the key is not after the query if the shape is causal, and −∞
  /// elsewhere.
  Tensor seen(Tensor scores);
  /// Returns Σ over a head's columns of output · doutput.
  Tensor output_products(Tensor output, Tensor doutput);
  /// Returns the transpose of `weights`, as a factor of a product.
  Tensor transposed_factor(Tensor weights);

  const FusedAttentionShape shape_;
  TensorGraph& graph_;
  Tensor scale_, statistics_;
};

Tensor AttentionGraph::scores(Tensor query, Tensor key_transposed) {
  const Tensor products = weights(), scaled = weights();
  graph_.multiply(query, key_transposed, products);
  graph_.pointwise(CUDNN_POINTWISE_MUL, {products, scale_}, scaled);
  return scaled;
}

Tensor AttentionGraph::seen(Tensor scores) {
  if (!shape_.is_causal) return scores;
  const HeadsLayout layout = weights_layout(shape_);
  const Tensor row = graph_.between(layout, CUDNN_DATA_INT32);
  const Tensor column = graph_.between(layout, CUDNN_DATA_INT32);
  const Tensor is_seen = graph_.between(layout, CUDNN_DATA_BOOLEAN);
  const Tensor chosen = weights();
  graph_.index_on(2, scores, row);
  graph_.index_on(3, scores, column);
  graph_.pointwise(CUDNN_POINTWISE_CMP_GE, {row, column}, is_seen, CUDNN_DATA_BOOLEAN);
  graph_.pointwise(CUDNN_POINTWISE_BINARY_SELECT,
                   {scores, graph_.number(attention_tensor::masked), is_seen}, chosen);
  return chosen;
}

void AttentionGraph::forward() {
  const Tensor query = of_qkv(attention_tensor::query);
  const Tensor key = of_qkv_transposed(attention_tensor::key);
  const Tensor value = of_qkv(attention_tensor::value);
  const Tensor output = of_output(attention_tensor::output);

  const Tensor masked = seen(scores(query, key));
  const Tensor highest = row_numbers(), sum = row_numbers(), log_sum = row_numbers();
  const Tensor below = weights(), powers = weights();
  const Tensor shares = graph_.between(weights_layout(shape_), kElement);
  graph_.reduce(CUDNN_REDUCE_TENSOR_MAX, masked, highest);
  graph_.pointwise(CUDNN_POINTWISE_SUB, {masked, highest}, below);
  graph_.pointwise(CUDNN_POINTWISE_EXP, {below}, powers);
  graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, powers, sum);
  graph_.pointwise(CUDNN_POINTWISE_LOG, {sum}, log_sum);
  graph_.pointwise(CUDNN_POINTWISE_ADD, {highest, log_sum}, statistics_);
  graph_.pointwise(CUDNN_POINTWISE_DIV, {powers, sum}, shares);
  graph_.multiply(shares, value, output);
}

Tensor AttentionGraph::output_products(Tensor output, Tensor doutput) {
  const Tensor products = graph_.between(dense_layout(shape_, shape_.width()));
  const Tensor sums = row_numbers();
  const Tensor kept =
      graph_.memory(attention_tensor::output_products, statistics_layout(shape_), CUDNN_DATA_FLOAT);
  graph_.pointwise(CUDNN_POINTWISE_MUL, {doutput, output}, products);
  graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, products, sums);
  // The pattern that cuDNN looks for has dropout's factor here, which is 1.
  graph_.pointwise(CUDNN_POINTWISE_MUL, {sums, graph_.number(attention_tensor::one)}, kept);
  return kept;
}

Tensor AttentionGraph::transposed_factor(Tensor weights) {
  const Tensor factor = graph_.between(transposed(weights_layout(shape_)), kElement);
  graph_.transpose(weights, factor);
  return factor;
}

void AttentionGraph::backward(GradientSums sums) {
  const Tensor query = of_qkv(attention_tensor::query);
  const Tensor key = of_qkv_transposed(attention_tensor::key);
  const Tensor value = of_qkv_transposed(attention_tensor::value);
  const Tensor doutput = of_output(attention_tensor::doutput);
  const Tensor products = output_products(of_output(attention_tensor::output), doutput);

  const Tensor below = weights(), shares = weights();
  graph_.pointwise(CUDNN_POINTWISE_SUB, {scores(query, key), statistics_}, below);
  graph_.pointwise(CUDNN_POINTWISE_EXP, {seen(below)}, shares);
  graph_.multiply(transposed_factor(shares), doutput, of_qkv(attention_tensor::dvalue));

  const Tensor dshares = weights(), around = weights(), dbelow = weights(), dscores = weights();
  graph_.multiply(doutput, value, dshares);
  graph_.pointwise(CUDNN_POINTWISE_SUB, {dshares, products}, around);
  graph_.pointwise(CUDNN_POINTWISE_MUL, {around, shares}, dbelow);
  graph_.pointwise(CUDNN_POINTWISE_MUL, {dbelow, scale_}, dscores);
  graph_.multiply(transposed_factor(dscores), query, of_qkv(attention_tensor::dkey));

  const Tensor key_rows = graph_.between(shape_.inputs, kElement);
  const Tensor dquery = of_qkv(attention_tensor::dquery);
  graph_.transpose(key, key_rows);
  if (sums == GradientSums::ordered) {
    graph_.multiply(dscores, key_rows, dquery);
    return;
  }
  const Tensor dquery_sums = graph_.memory(attention_tensor::dquery_sums,
                                           dense_layout(shape_, shape_.width()), CUDNN_DATA_FLOAT);
  graph_.multiply(dscores, key_rows, dquery_sums);
  graph_.pointwise(CUDNN_POINTWISE_IDENTITY, {dquery_sums}, dquery);
}

}  // namespace

void add_attention_forward(const FusedAttentionShape& shape, TensorGraph& graph) {
  AttentionGraph(shape, graph).forward();
}

void add_attention_backward(const FusedAttentionShape& shape, GradientSums sums,
                            TensorGraph& graph) {
  AttentionGraph(shape, graph).backward(sums);
}

}  // namespace hocket
