// Normalisation of rows, and softmax.

#include <algorithm>

#include "core/graph/interpreter/computation.h"

namespace hocket {
namespace {

/// Returns the mean of term(i) for the numbers of a row.
template <class T, class Term>
T mean_of(std::size_t width, Term term) {
  T sum = 0;
  for (std::size_t i = 0; i < width; ++i) sum += term(i);
  return sum / T(static_cast<double>(width));
}

/// Adds the residual to the gradient of x, if there is one.
template <class T>
void add_residual(Computation<T>& computation) {
  const auto place = operand_place(computation.kind, computation.attributes, "residual");
  if (!place) return;
  std::vector<T>& dx = computation.y();
  for (std::size_t i = 0; i < dx.size(); ++i) dx[i] += computation.x(*place)[i];
}

}  // namespace

template <class T>
void compute_layer_norm(Computation<T>& computation) {
  const Rows rows(computation, 0);
  const std::vector<T>&gain = computation.x(1), &bias = computation.x(2);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const T* const x = computation.x(0).data() + row * rows.width;
    T* const y = computation.y().data() + row * rows.width;
    const T mean = mean_of<T>(rows.width, [&](std::size_t i) { return x[i]; });
    const T variance =
        mean_of<T>(rows.width, [&](std::size_t i) { return (x[i] - mean) * (x[i] - mean); });
    const T inverse = 1 / root_of(variance + computation.attributes.number("epsilon"));
    for (std::size_t i = 0; i < rows.width; ++i) y[i] = (x[i] - mean) * inverse * gain[i] + bias[i];
    computation.y(1)[row] = mean;
    computation.y(2)[row] = inverse;
  }
}

template <class T>
void compute_layer_norm_gradient(Computation<T>& computation) {
  const Rows rows(computation, 0);
  const std::vector<T>& gain = computation.x(1);
  std::vector<T>&dgain = computation.y(1), &dbias = computation.y(2);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const T* const x = computation.x(0).data() + row * rows.width;
    const T* const dy = computation.x(4).data() + row * rows.width;
    T* const dx = computation.y().data() + row * rows.width;
    const T mean = computation.x(2)[row], inverse = computation.x(3)[row];
    const auto normal = [&](std::size_t i) { return (x[i] - mean) * inverse; };
    const T mean_slope = mean_of<T>(rows.width, [&](std::size_t i) { return dy[i] * gain[i]; });
    const T mean_product =
        mean_of<T>(rows.width, [&](std::size_t i) { return dy[i] * gain[i] * normal(i); });
    for (std::size_t i = 0; i < rows.width; ++i) {
      dx[i] = inverse * (dy[i] * gain[i] - mean_slope - normal(i) * mean_product);
      dgain[i] += dy[i] * normal(i);
      dbias[i] += dy[i];
    }
  }
  add_residual(computation);
}

template <class T>
void compute_rms_norm(Computation<T>& computation) {
  const Rows rows(computation, 0);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const T* const x = computation.x(0).data() + row * rows.width;
    T* const y = computation.y().data() + row * rows.width;
    const T square = mean_of<T>(rows.width, [&](std::size_t i) { return x[i] * x[i]; });
    const T inverse = 1 / root_of(square + computation.attributes.number("epsilon"));
    for (std::size_t i = 0; i < rows.width; ++i) y[i] = x[i] * inverse * computation.x(1)[i];
    computation.y(1)[row] = inverse;
  }
}

template <class T>
void compute_rms_norm_gradient(Computation<T>& computation) {
  const Rows rows(computation, 0);
  const std::vector<T>& gain = computation.x(1);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const T* const x = computation.x(0).data() + row * rows.width;
    const T* const dy = computation.x(3).data() + row * rows.width;
    T* const dx = computation.y().data() + row * rows.width;
    const T inverse = computation.x(2)[row];
    const T mean_product =
        mean_of<T>(rows.width, [&](std::size_t i) { return dy[i] * gain[i] * x[i] * inverse; });
    for (std::size_t i = 0; i < rows.width; ++i) {
      dx[i] = inverse * (dy[i] * gain[i] - x[i] * inverse * mean_product);
      computation.y(1)[i] += dy[i] * x[i] * inverse;
    }
  }
  add_residual(computation);
}

template <class T>
ExponentialSum<T> exponential_sum(std::span<const T> row) {
  ExponentialSum<T> result{.most = *std::max_element(row.begin(), row.end())};
  // A row of negative infinities has a sum of 0, whose logarithm is negative infinity again.
  if (result.most == least_number<T>()) result.most = 0;
  for (const T x : row) result.sum += exponential_of(x - result.most);
  return result;
}

template ExponentialSum<double> exponential_sum(std::span<const double> row);
template ExponentialSum<Residue> exponential_sum(std::span<const Residue> row);

template <class T>
void compute_softmax(Computation<T>& computation) {
  const Rows rows(computation, 0);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const std::span x(computation.x(0).data() + row * rows.width, rows.width);
    T* const y = computation.y().data() + row * rows.width;
    const ExponentialSum<T> sum = exponential_sum<T>(x);
    for (std::size_t i = 0; i < rows.width; ++i) y[i] = sum.share(x[i]);
  }
}

template <class T>
void compute_softmax_gradient(Computation<T>& computation) {
  const Rows rows(computation, 0);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const T* const y = computation.x(0).data() + row * rows.width;
    const T* const dy = computation.x(1).data() + row * rows.width;
    T* const dx = computation.y().data() + row * rows.width;
    T product = 0;
    for (std::size_t i = 0; i < rows.width; ++i) product += y[i] * dy[i];
    for (std::size_t i = 0; i < rows.width; ++i) dx[i] = y[i] * (dy[i] - product);
  }
}

HOCKET_FOR_ALL_NUMBERS(void, compute_layer_norm);
HOCKET_FOR_ALL_NUMBERS(void, compute_layer_norm_gradient);
HOCKET_FOR_ALL_NUMBERS(void, compute_rms_norm);
HOCKET_FOR_ALL_NUMBERS(void, compute_rms_norm_gradient);
HOCKET_FOR_ALL_NUMBERS(void, compute_softmax);
HOCKET_FOR_ALL_NUMBERS(void, compute_softmax_gradient);

}  // namespace hocket
