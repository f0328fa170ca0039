// Tables, choices and losses.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/graph/interpreter/computation.h"

namespace hocket {

Result<void> compute_embedding(Computation& computation) {
  const Rows table(computation, 0);
  for (std::size_t i = 0; i < computation.x(1).size(); ++i) {
    const auto index = computation.index(1, i, static_cast<std::int64_t>(table.count));
    HOCKET_TRY(index);
    std::copy_n(computation.x(0).data() + static_cast<std::size_t>(*index) * table.width,
                table.width, computation.y().data() + i * table.width);
  }
  return {};
}

Result<void> compute_embedding_gradient(Computation& computation) {
  const Rows rows(computation, 1);
  for (std::size_t i = 0; i < rows.count; ++i) {
    const auto index = computation.index(0, i, computation.attributes.integer("rows"));
    HOCKET_TRY(index);
    const double* const dy = computation.x(1).data() + i * rows.width;
    double* const row = computation.y().data() + static_cast<std::size_t>(*index) * rows.width;
    for (std::size_t j = 0; j < rows.width; ++j) row[j] += dy[j];
  }
  return {};
}

Result<void> compute_cross_entropy(Computation& computation) {
  const Rows rows(computation, 0);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const auto target = computation.index(1, row, static_cast<std::int64_t>(rows.width));
    HOCKET_TRY(target);
    const std::span logits(computation.x(0).data() + row * rows.width, rows.width);
    const ExponentialSum sum = exponential_sum(logits);
    // The logarithm of a sum that is near 1 is small beside the logits: they are subtracted first.
    computation.y()[row] =
        std::log(sum.sum) + (sum.most - logits[static_cast<std::size_t>(*target)]);
    computation.y(1)[row] = sum.logarithm();
  }
  return {};
}

Result<void> compute_cross_entropy_gradient(Computation& computation) {
  const Rows rows(computation, 0);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const auto target = computation.index(1, row, static_cast<std::int64_t>(rows.width));
    HOCKET_TRY(target);
    const double* const logits = computation.x(0).data() + row * rows.width;
    double* const dlogits = computation.y().data() + row * rows.width;
    for (std::size_t i = 0; i < rows.width; ++i) {
      const double at_target = static_cast<std::int64_t>(i) == *target ? 1 : 0;
      dlogits[i] =
          (std::exp(logits[i] - computation.x(2)[row]) - at_target) * computation.x(3)[row];
    }
  }
  return {};
}

void compute_top_k(Computation& computation) {
  const Rows rows(computation, 0);
  const auto count = static_cast<std::size_t>(computation.attributes.integer("count"));
  std::vector<std::size_t> order(rows.width);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const double* const x = computation.x(0).data() + row * rows.width;
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
      // Whatever is not a number comes first, so that there is an order at all.
      return std::isnan(x[one]) ? !std::isnan(x[other]) : x[one] > x[other];
    });
    for (std::size_t i = 0; i < count; ++i) {
      computation.y(0)[row * count + i] = x[order[i]];
      computation.y(1)[row * count + i] = static_cast<double>(order[i]);
    }
  }
}

Result<void> compute_top_k_gradient(Computation& computation) {
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

}  // namespace hocket
