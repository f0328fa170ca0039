// Attention. The scores of some rows of one head at a time are in memory, and of these only the
// columns that the rows see; a gradient makes them again (Dao et al., 2022). The units are heads,
// those of a gradient the groups of heads that share keys and values.

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/host/blas.h"
#include "kernels/host/host_kernel.h"
#include "kernels/host/row_sums.h"
#include "kernels/host/vector_maths.h"
#include "kernels/host/vectors.h"

namespace hocket {
namespace {

/// Rows whose scores are in memory: enough for products at full speed, few enough that a causal
/// head computes little that it does not see and that the scores stay in a cache. Where there are
/// few columns, fewer rows see many that the first of them do not.
constexpr std::int64_t kMostScoreRows = 64, kFewScoreRows = 32, kFewColumns = 256;

struct AttentionFacts {
  std::int64_t batch = 0, heads = 0, groups = 0, rows = 0, columns = 0, width = 0, value_width = 0;
  bool is_causal = false;
  float scale = 0;

  std::int64_t group_of(std::int64_t head) const {
    return head / heads * groups + head % heads * groups / heads;
  }
  /// Returns how many columns a row of a head sees: the first ones.
  std::int64_t seen(std::int64_t row) const {
    return is_causal ? row + columns - rows + 1 : columns;
  }
  std::int64_t score_rows() const {
    return std::min(columns <= kFewColumns ? kFewScoreRows : kMostScoreRows, rows);
  }
  std::int64_t score_numbers() const { return score_rows() * columns; }
};

Result<AttentionFacts> attention_facts(const KernelSignature& signature) {
  const Shape &queries = signature.operands[0].shape, &keys = signature.operands[1].shape;
  AttentionFacts facts{.batch = queries[0],
                       .heads = queries[1],
                       .groups = keys[1],
                       .rows = queries[2],
                       .columns = keys[2],
                       .width = queries[3],
                       .value_width = signature.operands[2].shape[3],
                       .is_causal = signature.attributes.flag("causal")};
  for (const std::int64_t size : {facts.columns, facts.width, facts.value_width})
    HOCKET_TRY(check_blas_size(size));
  const double scale = signature.attributes.number("scale");
  facts.scale =
      static_cast<float>(scale == 0 ? 1 / std::sqrt(static_cast<double>(facts.width)) : scale);
  return facts;
}

/// Some rows of a head.
struct ScoreBlock {
  std::int64_t first = 0;  ///< row
  std::int64_t rows = 0;
  std::int64_t seen = 0;  ///< columns of the last row, which sees most
};

ScoreBlock block_at(const AttentionFacts& facts, std::int64_t first) {
  const std::int64_t rows = std::min(facts.score_rows(), facts.rows - first);
  return {first, rows, facts.seen(first + rows - 1)};
}

/// Returns how many columns are computed for a row that sees some: whole vectors, as far as there
/// are scores, since the rest of a loop takes as long as several of them.
[[gnu::always_inline]] inline std::int64_t whole_vectors(std::int64_t seen, std::int64_t scores) {
  constexpr std::int64_t kLanes = 8;
  const std::int64_t padded = (seen + kLanes - 1) / kLanes * kLanes;
  return padded < scores ? padded : scores;
}

/// Replaces scores by their exponentials, with zeros behind what a row sees, divided by that of the
/// row's largest score. Gives the sums of these, and the logarithms of the sums of all.
struct ScoreSoftmaxLoop {
  [[gnu::always_inline]] static inline void run(const AttentionFacts* facts, ScoreBlock block,
                                                float* scores, float* sums, float* log_sums) {
    for (std::int64_t i = 0; i < block.rows; ++i) {
      float* const row = scores + i * block.seen;
      const std::int64_t seen = facts->seen(block.first + i);
      const std::int64_t padded = whole_vectors(seen, block.seen);
      for (std::int64_t j = seen; j < padded; ++j) row[j] = -std::numeric_limits<float>::infinity();
      const float most = finite_maximum(row, padded);
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t j = 0; j < padded; ++j) {
        const float each = small_exponential(row[j] - most);
        row[j] = each;
        sum += each;
      }
      for (std::int64_t j = seen; j < block.seen; ++j) row[j] = 0;
      sums[i] = sum;
      log_sums[i] = std::log(sum) + most;
    }
  }
};

struct DivideRowsLoop {
  [[gnu::always_inline]] static inline void run(float* y, std::int64_t rows, std::int64_t width,
                                                const float* sums) {
    for (std::int64_t i = 0; i < rows; ++i) {
      const float scale = 1.0f / sums[i];
      float* const row = y + i * width;
#pragma omp simd
      for (std::int64_t j = 0; j < width; ++j) row[j] *= scale;
    }
  }
};

void attend_head(const AttentionFacts& facts, const KernelCall& call, std::int64_t head) {
  const std::int64_t first_key = facts.group_of(head) * facts.columns;
  const float* const queries = operand_of(call, 0) + head * facts.rows * facts.width;
  const float* const keys = operand_of(call, 1) + first_key * facts.width;
  const float* const values = operand_of(call, 2) + first_key * facts.value_width;
  float* const y = result_of(call, 0) + head * facts.rows * facts.value_width;
  float* const log_sums = result_of(call, 1) + head * facts.rows;
  auto* const scores = static_cast<float*>(call.scratch);
  for (std::int64_t first = 0; first < facts.rows; first += facts.score_rows()) {
    const ScoreBlock block = block_at(facts, first);
    float* const out = y + first * facts.value_width;
    blas_multiply(block.rows, block.seen, facts.width, facts.scale,
                  {queries + first * facts.width, facts.width}, {keys, facts.width, true}, 0,
                  scores, block.seen);
    float sums[kMostScoreRows];
    run_loop<ScoreSoftmaxLoop>(&facts, block, scores, static_cast<float*>(sums), log_sums + first);
    blas_multiply(block.rows, facts.value_width, block.seen, 1, {scores, block.seen},
                  {values, facts.value_width}, 0, out, facts.value_width);
    run_loop<DivideRowsLoop>(out, block.rows, facts.value_width, static_cast<const float*>(sums));
  }
}

/// Replaces scores by their shares of the rows' sums, and the slopes by those of the scores.
struct ScoreGradientLoop {
  [[gnu::always_inline]] static inline void run(const AttentionFacts* facts, ScoreBlock block,
                                                float* scores, float* slopes, const float* y,
                                                const float* dy, const float* log_sums) {
    const std::int64_t width = facts->value_width;
    for (std::int64_t i = 0; i < block.rows; ++i) {
      float* const row = scores + i * block.seen;
      float* const row_slopes = slopes + i * block.seen;
      const float* const row_y = y + i * width;
      const float* const row_dy = dy + i * width;
      const std::int64_t seen = facts->seen(block.first + i);
      const std::int64_t padded = whole_vectors(seen, block.seen);
      const float log_sum = log_sums[i];
      float mean = 0;
#pragma omp simd reduction(+ : mean)
      for (std::int64_t j = 0; j < width; ++j) mean += row_y[j] * row_dy[j];
#pragma omp simd
      for (std::int64_t j = 0; j < padded; ++j) {
        const float share = small_exponential(row[j] - log_sum);
        row[j] = share;
        row_slopes[j] = share * (row_slopes[j] - mean);
      }
      for (std::int64_t j = seen; j < block.seen; ++j) row[j] = row_slopes[j] = 0;
    }
  }
};

/// Adds what a block of a head gives to the gradients of its group's keys and values, or overwrites
/// them.
void attend_back(const AttentionFacts& facts, const KernelCall& call, std::int64_t head,
                 std::int64_t first, bool overwrites) {
  const ScoreBlock block = block_at(facts, first);
  const std::int64_t row = head * facts.rows + first;
  const std::int64_t first_key = facts.group_of(head) * facts.columns;
  const float* const queries = operand_of(call, 0) + row * facts.width;
  const float* const keys = operand_of(call, 1) + first_key * facts.width;
  const float* const values = operand_of(call, 2) + first_key * facts.value_width;
  const float* const y = operand_of(call, 3) + row * facts.value_width;
  const float* const log_sums = operand_of(call, 4) + row;
  const float* const dy = operand_of(call, 5) + row * facts.value_width;
  auto* const scores = static_cast<float*>(call.scratch);
  float* const slopes = scores + facts.score_numbers();
  const float beta = overwrites ? 0 : 1;

  blas_multiply(block.rows, block.seen, facts.width, facts.scale, {queries, facts.width},
                {keys, facts.width, true}, 0, scores, block.seen);
  blas_multiply(block.rows, block.seen, facts.value_width, 1, {dy, facts.value_width},
                {values, facts.value_width, true}, 0, slopes, block.seen);
  run_loop<ScoreGradientLoop>(&facts, block, scores, slopes, y, dy, log_sums);
  blas_multiply(block.rows, facts.width, block.seen, facts.scale, {slopes, block.seen},
                {keys, facts.width}, 0, result_of(call, 0) + row * facts.width, facts.width);
  blas_multiply(block.seen, facts.width, block.rows, facts.scale, {slopes, block.seen, true},
                {queries, facts.width}, beta, result_of(call, 1) + first_key * facts.width,
                facts.width);
  blas_multiply(block.seen, facts.value_width, block.rows, 1, {scores, block.seen, true},
                {dy, facts.value_width}, beta, result_of(call, 2) + first_key * facts.value_width,
                facts.value_width);
}

/// The last rows see all columns that any row sees: with them first, each block adds to what is
/// there. All columns are seen by the last row.
void attend_group_back(const AttentionFacts& facts, const KernelCall& call, std::int64_t group) {
  const std::int64_t heads = facts.heads / facts.groups;
  const std::int64_t last = (facts.rows - 1) / facts.score_rows() * facts.score_rows();
  for (std::int64_t i = 0; i < heads; ++i) {
    for (std::int64_t first = last; first >= 0; first -= facts.score_rows())
      attend_back(facts, call, group * heads + i, first, i == 0 && first == last);
  }
}

}  // namespace

MadeKernel make_attention(const KernelSignature& signature) {
  const auto facts = attention_facts(signature);
  HOCKET_TRY(facts);
  const std::int64_t bytes = facts->score_numbers() * std::int64_t{sizeof(float)};
  return host_kernel({.units = facts->batch * facts->heads, .scratch_bytes = bytes},
                     [facts = *facts](const KernelCall& call, UnitRange range) {
                       for (std::int64_t head = range.begin; head < range.end; ++head)
                         attend_head(facts, call, head);
                     });
}

MadeKernel make_attention_gradient(const KernelSignature& signature) {
  const auto facts = attention_facts(signature);
  HOCKET_TRY(facts);
  const std::int64_t bytes = 2 * facts->score_numbers() * std::int64_t{sizeof(float)};
  return host_kernel({.units = facts->batch * facts->groups, .scratch_bytes = bytes},
                     [facts = *facts](const KernelCall& call, UnitRange range) {
                       for (std::int64_t group = range.begin; group < range.end; ++group)
                         attend_group_back(facts, call, group);
                     });
}

}  // namespace hocket
