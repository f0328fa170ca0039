#pragma once

// Steps of matrix products and attention beside the products. Each puts its work into a stream, as
// kernels/kernel.h says. Private to kernels/cuda.

#include <cstddef>
#include <cstdint>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "core/step/element_type.h"
#include "kernels/cuda/curve.h"

namespace hocket::kernels {

/// Finishes a product z of `rows` rows of `columns` numbers: y = f(z + bias) · g′(before) +
/// residual. An operand that is not there is null, and its step is left out.
struct FinishedProduct {
  std::int64_t rows = 0, columns = 0;
  Curve activation = Curve::none, gradient = Curve::none;
  ElementType narrow = ElementType::float32;  ///< of the bias, `before` and `kept`
  ElementType from = ElementType::float32;    ///< of z
  ElementType to = ElementType::float32;      ///< of the residual and of y
  const void* z = nullptr;                    ///< may be y or `kept`
  const void* bias = nullptr;
  const void* before = nullptr;
  const void* residual = nullptr;  ///< may be y
  void* kept = nullptr;            ///< receives z + bias
  void* y = nullptr;
};

Result<void> finish_product(const FinishedProduct& product, DeviceStream stream);

/// Scores of attention: `rows` rows of `columns` numbers, in float32. Row i is that of position
/// (first + i) mod `positions`, which sees all columns, or if `causal` the first
/// position + columns − positions + 1 of them.
struct ScoreRows {
  std::int64_t rows = 0, columns = 0, positions = 0, first = 0;
  bool is_causal = false;
};

/// Makes the shares of each row, of `type`, in the memory of the scores' rows; with zeros for what
/// it does not see. The rows of shares begin `columns` floats from each other, as the scores do.
/// Also gives the logarithm of the row's sum.
Result<void> share_scores(const ScoreRows& scores, ElementType type, float* memory, float* log_sums,
                          DeviceStream stream);

/// Makes shares of scores by their rows' log_sums, and in the memory of the slopes of the shares
/// those of the scores, times `scale`. y and dy have `width` numbers in a row.
Result<void> share_slopes(const ScoreRows& scores, ElementType type, float scale, float* memory,
                          float* slopes, const void* y, const void* dy, std::int64_t width,
                          const float* log_sums, DeviceStream stream);

/// Rounds float32 numbers.
Result<void> round_numbers(std::int64_t count, ElementType type, const float* from, void* to,
                           DeviceStream stream);

}  // namespace hocket::kernels
