// Normalisation of rows, and softmax.

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/graph/interpreter/computation.h"

namespace hocket {
namespace {

/// Returns the mean of term(i) for the numbers of a row.
template <class Term>
double mean_of(std::size_t width, Term term) {
  double sum = 0;
  for (std::size_t i = 0; i < width; ++i) sum += term(i);
  return sum / static_cast<double>(width);
}

/// Adds the residual to the gradient of x, if there is one.
void add_residual(Computation& computation) {
  const auto place = operand_place(computation.kind, computation.attributes, "residual");
  if (!place) return;
  std::vector<double>& dx = computation.y();
  for (std::size_t i = 0; i < dx.size(); ++i) dx[i] += computation.x(*place)[i];
}

}  // namespace

void compute_layer_norm(Computation& computation) {
  const Rows rows(computation, 0);
  const std::vector<double>&gain = computation.x(1), &bias = computation.x(2);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const double* const x = computation.x(0).data() + row * rows.width;
    double* const y = computation.y().data() + row * rows.width;
    const double mean = mean_of(rows.width, [&](std::size_t i) { return x[i]; });
    const double variance =
        mean_of(rows.width, [&](std::size_t i) { return (x[i] - mean) * (x[i] - mean); });
    const double inverse = 1 / std::sqrt(variance + computation.attributes.number("epsilon"));
    for (std::size_t i = 0; i < rows.width; ++i) y[i] = (x[i] - mean) * inverse * gain[i] + bias[i];
    computation.y(1)[row] = mean;
    computation.y(2)[row] = inverse;
  }
}

void compute_layer_norm_gradient(Computation& computation) {
  const Rows rows(computation, 0);
  const std::vector<double>& gain = computation.x(1);
  std::vector<double>&dgain = computation.y(1), &dbias = computation.y(2);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const double* const x = computation.x(0).data() + row * rows.width;
    const double* const dy = computation.x(4).data() + row * rows.width;
    double* const dx = computation.y().data() + row * rows.width;
    const double mean = computation.x(2)[row], inverse = computation.x(3)[row];
    const auto normal = [&](std::size_t i) { return (x[i] - mean) * inverse; };
    const double mean_slope = mean_of(rows.width, [&](std::size_t i) { return dy[i] * gain[i]; });
    const double mean_product =
        mean_of(rows.width, [&](std::size_t i) { return dy[i] * gain[i] * normal(i); });
    for (std::size_t i = 0; i < rows.width; ++i) {
      dx[i] = inverse * (dy[i] * gain[i] - mean_slope - normal(i) * mean_product);
      dgain[i] += dy[i] * normal(i);
      dbias[i] += dy[i];
    }
  }
  add_residual(computation);
}

void compute_rms_norm(Computation& computation) {
  const Rows rows(computation, 0);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const double* const x = computation.x(0).data() + row * rows.width;
    double* const y = computation.y().data() + row * rows.width;
    const double square = mean_of(rows.width, [&](std::size_t i) { return x[i] * x[i]; });
    const double inverse = 1 / std::sqrt(square + computation.attributes.number("epsilon"));
    for (std::size_t i = 0; i < rows.width; ++i) y[i] = x[i] * inverse * computation.x(1)[i];
    computation.y(1)[row] = inverse;
  }
}

void compute_rms_norm_gradient(Computation& computation) {
  const Rows rows(computation, 0);
  const std::vector<double>& gain = computation.x(1);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const double* const x = computation.x(0).data() + row * rows.width;
    const double* const dy = computation.x(3).data() + row * rows.width;
    double* const dx = computation.y().data() + row * rows.width;
    const double inverse = computation.x(2)[row];
    const double mean_product =
        mean_of(rows.width, [&](std::size_t i) { return dy[i] * gain[i] * x[i] * inverse; });
    for (std::size_t i = 0; i < rows.width; ++i) {
      dx[i] = inverse * (dy[i] * gain[i] - x[i] * inverse * mean_product);
      computation.y(1)[i] += dy[i] * x[i] * inverse;
    }
  }
  add_residual(computation);
}

ExponentialSum exponential_sum(std::span<const double> row) {
  ExponentialSum result{.most = *std::max_element(row.begin(), row.end())};
  // A row of negative infinities has a sum of 0, whose logarithm is negative infinity again.
  if (result.most == -std::numeric_limits<double>::infinity()) result.most = 0;
  for (const double x : row) result.sum += std::exp(x - result.most);
  return result;
}

void compute_softmax(Computation& computation) {
  const Rows rows(computation, 0);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const std::span x(computation.x(0).data() + row * rows.width, rows.width);
    double* const y = computation.y().data() + row * rows.width;
    const ExponentialSum sum = exponential_sum(x);
    for (std::size_t i = 0; i < rows.width; ++i) y[i] = sum.share(x[i]);
  }
}

void compute_softmax_gradient(Computation& computation) {
  const Rows rows(computation, 0);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const double* const y = computation.x(0).data() + row * rows.width;
    const double* const dy = computation.x(1).data() + row * rows.width;
    double* const dx = computation.y().data() + row * rows.width;
    double product = 0;
    for (std::size_t i = 0; i < rows.width; ++i) product += y[i] * dy[i];
    for (std::size_t i = 0; i < rows.width; ++i) dx[i] = y[i] * (dy[i] - product);
  }
}

}  // namespace hocket
