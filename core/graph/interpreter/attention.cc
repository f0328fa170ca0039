// Attention, and the rotation of what it multiplies.

#include <cmath>

#include "core/graph/interpreter/computation.h"

namespace hocket {
namespace {

/// The rows of queries, each with the keys and values that it sees.
template <class T>
struct QueryRows {
  explicit QueryRows(const Computation<T>& computation)
      : computation(computation),
        heads(size(0, 1)),
        groups(size(1, 1)),
        rows(size(0, 2)),
        columns(size(1, 2)),
        width(size(0, 3)),
        value_width(size(2, 3)),
        count(size(0, 0) * heads * rows),
        scale(computation.attributes.number("scale")) {
    if (scale == 0) scale = 1 / root_of(T(static_cast<double>(width)));
  }

  /// Returns how many columns a row sees: the first ones.
  std::size_t seen(std::size_t row) const {
    if (!computation.attributes.flag("causal")) return columns;
    return row % rows + columns - rows + 1;
  }
  /// Returns the number of the row's first key and value among those of all groups.
  std::size_t first_key(std::size_t row) const {
    const std::size_t head = row / rows % heads, batch = row / rows / heads;
    return (batch * groups + head * groups / heads) * columns;
  }
  /// Returns scale · query · key for each column that the row sees.
  std::vector<T> scores(std::size_t row) const {
    std::vector<T> scores(seen(row));
    const T* const query = computation.x(0).data() + row * width;
    const T* key = computation.x(1).data() + first_key(row) * width;
    for (T& score : scores) {
      for (std::size_t i = 0; i < width; ++i) score += query[i] * key[i];
      score *= scale;
      key += width;
    }
    return scores;
  }
  std::size_t size(std::size_t operand, std::size_t dimension) const {
    return static_cast<std::size_t>(computation.shape(operand)[dimension]);
  }

  const Computation<T>& computation;
  const std::size_t heads, groups, rows, columns, width, value_width;
  /// Rows of all heads of the batch.
  const std::size_t count;
  T scale;
};

}  // namespace

template <class T>
void compute_attention(Computation<T>& computation) {
  const QueryRows<T> rows(computation);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const std::vector<T> scores = rows.scores(row);
    const ExponentialSum<T> sum = exponential_sum<T>(scores);
    const T* value = computation.x(2).data() + rows.first_key(row) * rows.value_width;
    T* const y = computation.y().data() + row * rows.value_width;
    for (const T score : scores) {
      const T share = sum.share(score);
      for (std::size_t i = 0; i < rows.value_width; ++i) y[i] += share * value[i];
      value += rows.value_width;
    }
    computation.y(1)[row] = sum.logarithm();
  }
}

namespace {

/// Adds what a row gives to the gradients, with the shares that its logarithm of the sum says (Dao
/// et al., 2022, appendix B.2).
template <class T>
void add_gradients(Computation<T>& computation, const QueryRows<T>& rows, std::size_t row) {
  const std::size_t width = rows.width, value_width = rows.value_width;
  const std::size_t first = rows.first_key(row);
  const T* const query = computation.x(0).data() + row * width;
  const T* const y = computation.x(3).data() + row * value_width;
  const T* const dy = computation.x(5).data() + row * value_width;
  T* const dquery = computation.y(0).data() + row * width;
  T mean_slope = 0;
  for (std::size_t i = 0; i < value_width; ++i) mean_slope += y[i] * dy[i];

  const std::vector<T> scores = rows.scores(row);
  for (std::size_t column = 0; column < scores.size(); ++column) {
    const T* const key = computation.x(1).data() + (first + column) * width;
    const T* const value = computation.x(2).data() + (first + column) * value_width;
    T* const dkey = computation.y(1).data() + (first + column) * width;
    T* const dvalue = computation.y(2).data() + (first + column) * value_width;
    const T share = exponential_of(scores[column] - computation.x(4)[row]);
    T slope = 0;
    for (std::size_t i = 0; i < value_width; ++i) {
      slope += dy[i] * value[i];
      dvalue[i] += share * dy[i];
    }
    const T dscore = share * (slope - mean_slope) * rows.scale;
    for (std::size_t i = 0; i < width; ++i) {
      dquery[i] += dscore * key[i];
      dkey[i] += dscore * query[i];
    }
  }
}

}  // namespace

template <class T>
void compute_attention_gradient(Computation<T>& computation) {
  const QueryRows<T> rows(computation);
  for (std::size_t row = 0; row < rows.count; ++row) add_gradients(computation, rows, row);
}

template <class T>
void compute_rotary(Computation<T>& computation) {
  const Rows rows(computation, 0);
  const Shape& shape = computation.shape(0);
  const auto positions = static_cast<std::size_t>(shape[shape.size() - 2]);
  const double base = computation.attributes.number("base");
  const auto first = static_cast<double>(computation.attributes.integer("begin"));
  const double direction = computation.attributes.flag("inverse") ? -1 : 1;
  const std::size_t half = rows.width / 2;
  for (std::size_t row = 0; row < rows.count; ++row) {
    const T* const x = computation.x(0).data() + row * rows.width;
    T* const y = computation.y().data() + row * rows.width;
    for (std::size_t i = 0; i < half; ++i) {
      const double exponent = -2 * static_cast<double>(i) / static_cast<double>(rows.width);
      const double angle =
          direction * (first + static_cast<double>(row % positions)) * std::pow(base, exponent);
      const auto [cosine, sine] = turn_of<T>(angle);
      y[i] = x[i] * cosine - x[i + half] * sine;
      y[i + half] = x[i + half] * cosine + x[i] * sine;
    }
  }
}

HOCKET_FOR_ALL_NUMBERS(void, compute_attention);
HOCKET_FOR_ALL_NUMBERS(void, compute_attention_gradient);
HOCKET_FOR_ALL_NUMBERS(void, compute_rotary);

}  // namespace hocket
