// Attention by products, where there is no kernel for all of it (fused_kernels.cc). The scores of
// some rows are in memory, in float32, and their shares replace them there. A gradient makes them
// again from the logarithms of the rows' sums (Dao et al., 2022). The heads of a group have one
// matrix of queries, since their rows follow each other, so that the gradients of keys and values
// are sums over all of them in one product.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "kernels/cuda/product_kernels.h"
#include "kernels/cuda/product_steps.h"

namespace hocket::kernels {
namespace {

struct AttentionFacts {
  std::int64_t groups = 0;     ///< of all sequences
  std::int64_t rows = 0;       ///< of a group: those of its heads, one after the other
  std::int64_t positions = 0;  ///< rows of a head
  std::int64_t columns = 0, width = 0, value_width = 0;
  bool is_causal = false;
  float scale = 0;
  ElementType type = ElementType::float32;
  /// Groups that are in memory at once, or rows of one if it is too large.
  std::int64_t groups_at_once = 1, rows_at_once = 1;

  std::int64_t score_floats() const { return groups_at_once * rows_at_once * columns; }
  bool divides_rows() const { return rows_at_once < rows; }
};

/// Rows of as many groups: a batch of matrices.
struct AttentionPart {
  std::int64_t group = 0, groups = 1;
  std::int64_t row = 0, rows = 0;  ///< of each group
};

Result<AttentionFacts> attention_facts(const KernelSignature& signature,
                                       std::int64_t most_score_bytes) {
  const Shape &queries = signature.operands[0].shape, &keys = signature.operands[1].shape;
  AttentionFacts facts{.groups = queries[0] * keys[1],
                       .rows = queries[1] / keys[1] * queries[2],
                       .positions = queries[2],
                       .columns = keys[2],
                       .width = queries[3],
                       .value_width = signature.operands[2].shape[3],
                       .is_causal = signature.attributes.flag("causal"),
                       .type = element_type(signature.operands[0].numbers)};
  HOCKET_TRY(
      check_sizes({facts.groups, facts.rows, 2 * facts.columns, facts.width, facts.value_width}));
  const double scale = signature.attributes.number("scale");
  facts.scale =
      static_cast<float>(scale == 0 ? 1 / std::sqrt(static_cast<double>(facts.width)) : scale);
  const std::int64_t floats = most_score_bytes / 4;
  facts.rows_at_once = std::clamp<std::int64_t>(floats / facts.columns, 1, facts.rows);
  facts.groups_at_once =
      std::clamp<std::int64_t>(floats / (facts.rows * facts.columns), 1, facts.groups);
  return facts;
}

/// Calls visit(part) for all parts, in one order.
template <class Visit>
Result<void> each_part(const AttentionFacts& facts, const Visit& visit) {
  for (std::int64_t group = 0; group < facts.groups; group += facts.groups_at_once) {
    for (std::int64_t row = 0; row < facts.rows; row += facts.rows_at_once) {
      HOCKET_TRY(visit(AttentionPart{group, std::min(facts.groups_at_once, facts.groups - group),
                                     row, std::min(facts.rows_at_once, facts.rows - row)}));
    }
  }
  return {};
}

/// The matrices of a run. Those of a part are a batch; of several groups all rows are in it.
class AttentionMatrices {
 public:
  explicit AttentionMatrices(const AttentionFacts& facts) : facts_(facts) {}

  /// Rows of the queries, or with another width of y.
  DeviceMatrix of_rows(const void* values, const AttentionPart& part, std::int64_t width) const {
    return matrix(at(values, (part.group * facts_.rows + part.row) * width), facts_.type, part.rows,
                  width, facts_.rows * width);
  }
  /// All keys of the groups, or with another width the values.
  DeviceMatrix of_columns(const void* values, const AttentionPart& part, std::int64_t width) const {
    return matrix(at(values, part.group * facts_.columns * width), facts_.type, facts_.columns,
                  width, facts_.columns * width);
  }
  DeviceMatrix scores(float* memory, const AttentionPart& part) const {
    return matrix(memory, ElementType::float32, part.rows, facts_.columns,
                  part.rows * facts_.columns);
  }
  /// Returns the shares that replace the scores; their rows are as far from each other.
  DeviceMatrix shares(float* memory, const AttentionPart& part) const {
    DeviceMatrix made = scores(memory, part);
    const std::int64_t times = facts_.type == ElementType::float32 ? 1 : 2;
    made.type = facts_.type;
    made.row_stride = times * facts_.columns;
    made.batch_stride *= times;
    return made;
  }

 private:
  const void* at(const void* values, std::int64_t number) const {
    return static_cast<const std::byte*>(values) +
           number * static_cast<std::int64_t>(element_bytes(facts_.type));
  }
  static DeviceMatrix matrix(const void* values, ElementType type, std::int64_t rows,
                             std::int64_t columns, std::int64_t batch_stride) {
    return {.values = const_cast<void*>(values),
            .type = type,
            .rows = static_cast<int>(rows),
            .columns = static_cast<int>(columns),
            .batch_stride = batch_stride};
  }

  const AttentionFacts& facts_;
};

MatrixProduct product_of(const AttentionPart& part, const DeviceMatrix& a, const DeviceMatrix& b,
                         const DeviceMatrix& c) {
  MatrixProduct product;
  product.a = a;
  product.b = b;
  product.c = c;
  product.batch = static_cast<int>(part.groups);
  return product;
}

MatrixProduct scores_of(const AttentionPart& part, const DeviceMatrix& rows,
                        const DeviceMatrix& columns, const DeviceMatrix& scores) {
  MatrixProduct product = product_of(part, rows, columns, scores);
  product.transpose_b = true;
  return product;
}

ScoreRows score_rows(const AttentionFacts& facts, const AttentionPart& part) {
  return {.rows = part.groups * part.rows,
          .columns = facts.columns,
          .positions = facts.positions,
          .first = part.row,
          .is_causal = facts.is_causal};
}

Result<void> attend(const AttentionFacts& facts, const KnownProducts& products,
                    const KernelCall& call, const DeviceTask& task) {
  const AttentionMatrices of(facts);
  float* const memory = scratch_of(call);
  return each_part(facts, [&](const AttentionPart& part) -> Result<void> {
    MatrixProduct scores =
        scores_of(part, of.of_rows(call.operands[0], part, facts.width),
                  of.of_columns(call.operands[1], part, facts.width), of.scores(memory, part));
    scores.scale = facts.scale;
    HOCKET_TRY(products.multiply(scores, task));
    float* const log_sums = result_of(call, 1) + part.group * facts.rows + part.row;
    HOCKET_TRY(share_scores(score_rows(facts, part), facts.type, memory, log_sums, task.stream));
    return products.multiply(product_of(part, of.shares(memory, part),
                                        of.of_columns(call.operands[2], part, facts.value_width),
                                        of.of_rows(call.results[0], part, facts.value_width)),
                             task);
  });
}

/// Memory of a gradient: scores, slopes, and where rows are divided and not float32, sums for keys
/// and for values of a group, which are rounded at last.
struct GradientMemory {
  GradientMemory(const AttentionFacts& facts, void* scratch)
      : has_sums(facts.divides_rows() && facts.type != ElementType::float32) {
    const std::int64_t scores_bytes = padded(facts.score_floats() * 4);
    const std::int64_t keys_bytes = has_sums ? padded(facts.columns * facts.width * 4) : 0;
    const std::int64_t values_bytes = has_sums ? padded(facts.columns * facts.value_width * 4) : 0;
    auto* const begin = static_cast<std::byte*>(scratch);
    scores = reinterpret_cast<float*>(begin);
    slopes = reinterpret_cast<float*>(begin + scores_bytes);
    of_keys = reinterpret_cast<float*>(begin + 2 * scores_bytes);
    of_values = reinterpret_cast<float*>(begin + 2 * scores_bytes + keys_bytes);
    bytes = 2 * scores_bytes + keys_bytes + values_bytes;
  }

  bool has_sums;
  float *scores, *slopes, *of_keys, *of_values;
  std::int64_t bytes;
};

/// Adds the products of transposed shares or slopes with rows to the gradients of columns.
Result<void> add_to_columns(const AttentionFacts& facts, const KnownProducts& products,
                            const AttentionPart& part, const DeviceMatrix& shares,
                            const DeviceMatrix& rows, DeviceMatrix columns, float* sums,
                            const DeviceTask& task) {
  void* const result = columns.values;
  if (sums) {
    columns.values = sums;
    columns.type = ElementType::float32;
  }
  MatrixProduct product = product_of(part, shares, rows, columns);
  product.transpose_a = true;
  if (part.row > 0) product.added = columns.values;
  HOCKET_TRY(products.multiply(product, task));
  if (!sums || part.row + part.rows < facts.rows) return {};
  return round_numbers(std::int64_t{columns.rows} * columns.columns, facts.type, sums, result,
                       task.stream);
}

Result<void> attend_back(const AttentionFacts& facts, const KnownProducts& products,
                         const KernelCall& call, const DeviceTask& task) {
  const AttentionMatrices of(facts);
  const GradientMemory memory(facts, call.scratch);
  return each_part(facts, [&](const AttentionPart& part) -> Result<void> {
    const DeviceMatrix queries = of.of_rows(call.operands[0], part, facts.width);
    const DeviceMatrix keys = of.of_columns(call.operands[1], part, facts.width);
    const DeviceMatrix values = of.of_columns(call.operands[2], part, facts.value_width);
    const DeviceMatrix y = of.of_rows(call.operands[3], part, facts.value_width);
    const DeviceMatrix dy = of.of_rows(call.operands[5], part, facts.value_width);
    MatrixProduct scores = scores_of(part, queries, keys, of.scores(memory.scores, part));
    scores.scale = facts.scale;
    HOCKET_TRY(products.multiply(scores, task));
    HOCKET_TRY(
        products.multiply(scores_of(part, dy, values, of.scores(memory.slopes, part)), task));
    const float* const log_sums = operand_of(call, 4) + part.group * facts.rows + part.row;
    HOCKET_TRY(share_slopes(score_rows(facts, part), facts.type, facts.scale, memory.scores,
                            memory.slopes, y.values, dy.values, facts.value_width, log_sums,
                            task.stream));
    const DeviceMatrix shares = of.shares(memory.scores, part);
    const DeviceMatrix slopes = of.shares(memory.slopes, part);
    HOCKET_TRY(products.multiply(
        product_of(part, slopes, keys, of.of_rows(call.results[0], part, facts.width)), task));
    HOCKET_TRY(add_to_columns(facts, products, part, slopes, queries,
                              of.of_columns(call.results[1], part, facts.width),
                              memory.has_sums ? memory.of_keys : nullptr, task));
    return add_to_columns(facts, products, part, shares, dy,
                          of.of_columns(call.results[2], part, facts.value_width),
                          memory.has_sums ? memory.of_values : nullptr, task);
  });
}

}  // namespace

MadeKernel make_attention(const KernelSignature& signature,
                          const std::shared_ptr<KnownProducts>& products) {
  const auto made = attention_facts(signature, products->parts().most_score_bytes);
  HOCKET_TRY(made);
  if (auto fused = make_fused_attention(signature, made->scale, *products)) return fused;
  return cuda_kernel({.scratch_bytes = made->score_floats() * 4},
                     [=, facts = *made](const KernelCall& call, const DeviceTask& task) {
                       return attend(facts, *products, call, task);
                     });
}

MadeKernel make_attention_gradient(const KernelSignature& signature,
                                   const std::shared_ptr<KnownProducts>& products) {
  const auto made = attention_facts(signature, products->parts().most_score_bytes);
  HOCKET_TRY(made);
  if (auto fused = make_fused_attention(signature, made->scale, *products)) return fused;
  return cuda_kernel({.scratch_bytes = GradientMemory(*made, nullptr).bytes},
                     [=, facts = *made](const KernelCall& call, const DeviceTask& task) {
                       return attend_back(facts, *products, call, task);
                     });
}

}  // namespace hocket::kernels
