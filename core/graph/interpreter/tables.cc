// Tables, choices and losses.

#include <algorithm>
#include <numeric>

#include "core/graph/interpreter/computation.h"

namespace hocket {

template <class T>
Result<void> compute_embedding(Computation<T>& computation) {
  const Rows table(computation, 0);
  for (std::size_t i = 0; i < computation.x(1).size(); ++i) {
    const auto index = computation.index_in_part(1, i, static_cast<std::int64_t>(table.count));
    HOCKET_TRY(index);
    if (!*index) continue;
    std::copy_n(computation.x(0).data() + static_cast<std::size_t>(**index) * table.width,
                table.width, computation.y().data() + i * table.width);
  }
  return {};
}

template <class T>
Result<void> compute_embedding_gradient(Computation<T>& computation) {
  const Rows rows(computation, 1);
  for (std::size_t i = 0; i < rows.count; ++i) {
    const auto index = computation.index_in_part(0, i, computation.attributes.integer("rows"));
    HOCKET_TRY(index);
    if (!*index) continue;
    const T* const dy = computation.x(1).data() + i * rows.width;
    T* const row = computation.y().data() + static_cast<std::size_t>(**index) * rows.width;
    for (std::size_t j = 0; j < rows.width; ++j) row[j] += dy[j];
  }
  return {};
}

template <class T>
Result<void> compute_cross_entropy(Computation<T>& computation) {
  const Rows rows(computation, 0);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const auto target = computation.index(1, row, static_cast<std::int64_t>(rows.width));
    HOCKET_TRY(target);
    const std::span logits(computation.x(0).data() + row * rows.width, rows.width);
    const ExponentialSum<T> sum = exponential_sum<T>(logits);
    // The logarithm of a sum that is near 1 is small beside the logits: they are subtracted first.
    computation.y()[row] =
        logarithm_of(sum.sum) + (sum.most - logits[static_cast<std::size_t>(*target)]);
    computation.y(1)[row] = sum.logarithm();
  }
  return {};
}

template <class T>
Result<void> compute_cross_entropy_gradient(Computation<T>& computation) {
  const Rows rows(computation, 0);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const auto target = computation.index_in_part(1, row, static_cast<std::int64_t>(rows.width));
    HOCKET_TRY(target);
    const T* const logits = computation.x(0).data() + row * rows.width;
    T* const dlogits = computation.y().data() + row * rows.width;
    for (std::size_t i = 0; i < rows.width; ++i) {
      const T at_target = *target == static_cast<std::int64_t>(i) ? 1 : 0;
      dlogits[i] =
          (exponential_of(logits[i] - computation.x(2)[row]) - at_target) * computation.x(3)[row];
    }
  }
  return {};
}

template <class T>
void compute_exponential_sum(Computation<T>& computation) {
  const Rows rows(computation, 0);
  for (std::size_t i = 0; i < rows.count * rows.width; ++i) {
    const std::size_t row = i / rows.width;
    computation.y()[row] += exponential_of(computation.x(0)[i] - computation.x(1)[row]);
  }
}

template <class T>
Result<void> compute_pick(Computation<T>& computation) {
  const Rows rows(computation, 0);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const auto index = computation.index_in_part(1, row, static_cast<std::int64_t>(rows.width));
    HOCKET_TRY(index);
    if (*index)
      computation.y()[row] = computation.x(0)[row * rows.width + static_cast<std::size_t>(**index)];
  }
  return {};
}

template <class T>
void compute_top_k(Computation<T>& computation) {
  const Rows rows(computation, 0);
  const auto count = static_cast<std::size_t>(computation.attributes.integer("count"));
  std::vector<std::size_t> order(rows.width);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const T* const x = computation.x(0).data() + row * rows.width;
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
      // Whatever is not a number comes first, so that there is an order at all.
      return !is_number(x[one]) ? is_number(x[other]) : x[one] > x[other];
    });
    for (std::size_t i = 0; i < count; ++i) {
      computation.y(0)[row * count + i] = x[order[i]];
      computation.y(1)[row * count + i] = static_cast<double>(order[i]);
    }
  }
}

template <class T>
Result<void> compute_top_k_gradient(Computation<T>& computation) {
  const Rows rows(computation, 0);
  const std::int64_t size = computation.attributes.integer("size");
  for (std::size_t i = 0; i < rows.count * rows.width; ++i) {
    const auto index = computation.index(0, i, size);
    HOCKET_TRY(index);
    const std::size_t row = i / rows.width * static_cast<std::size_t>(size);
    computation.y()[row + static_cast<std::size_t>(*index)] += computation.x(1)[i];
  }
  return {};
}

HOCKET_FOR_ALL_NUMBERS(Result<void>, compute_embedding);
HOCKET_FOR_ALL_NUMBERS(Result<void>, compute_embedding_gradient);
HOCKET_FOR_ALL_NUMBERS(Result<void>, compute_cross_entropy);
HOCKET_FOR_ALL_NUMBERS(Result<void>, compute_cross_entropy_gradient);
HOCKET_FOR_ALL_NUMBERS(void, compute_exponential_sum);
HOCKET_FOR_ALL_NUMBERS(Result<void>, compute_pick);
HOCKET_FOR_ALL_NUMBERS(void, compute_top_k);
HOCKET_FOR_ALL_NUMBERS(Result<void>, compute_top_k_gradient);

}  // namespace hocket
