// Rotation by position. The units are positions, so that the angles of one are made once for all
// rows that have it.

#include <cmath>
#include <vector>

#include "kernels/host/host_kernel.h"
#include "kernels/host/vectors.h"

namespace hocket {
namespace {

/// Positions of which one has sines and cosines of its own; those between follow by the sum of
/// angles, in double precision.
constexpr std::int64_t kCoarse = 64;

/// Sines and cosines of angles position · frequency for each pair.
class TurnTable {
 public:
  TurnTable(std::int64_t positions, std::int64_t pairs, double base, double direction,
            std::int64_t step)
      : pairs_(pairs) {
    for (std::int64_t position = 0; position < positions; position += step) {
      for (std::int64_t i = 0; i < pairs; ++i) {
        const double exponent = -static_cast<double>(i) / static_cast<double>(pairs);
        const double angle = direction * static_cast<double>(position) * std::pow(base, exponent);
        cosines_.push_back(std::cos(angle));
        sines_.push_back(std::sin(angle));
      }
    }
  }
  const double* cosines(std::int64_t index) const { return cosines_.data() + index * pairs_; }
  const double* sines(std::int64_t index) const { return sines_.data() + index * pairs_; }

 private:
  const std::int64_t pairs_;
  std::vector<double> cosines_, sines_;
};

/// Makes the cosines and sines of the sum of two angles for each pair.
struct SumOfAnglesLoop {
  [[gnu::always_inline]] static inline void run(std::int64_t pairs, const double* cosines,
                                                const double* sines, const double* other_cosines,
                                                const double* other_sines, float* cosines_of_sum,
                                                float* sines_of_sum) {
#pragma omp simd
    for (std::int64_t i = 0; i < pairs; ++i) {
      cosines_of_sum[i] =
          static_cast<float>(cosines[i] * other_cosines[i] - sines[i] * other_sines[i]);
      sines_of_sum[i] =
          static_cast<float>(sines[i] * other_cosines[i] + cosines[i] * other_sines[i]);
    }
  }
};

/// Turns rows that are `stride` apart.
struct TurnLoop {
  [[gnu::always_inline]] static inline void run(std::int64_t rows, std::int64_t stride,
                                                std::int64_t pairs, const float* cosines,
                                                const float* sines, const float* x, float* y) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* const low = x + row * stride;
      const float* const high = low + pairs;
      float* const out_low = y + row * stride;
      float* const out_high = out_low + pairs;
#pragma omp simd
      for (std::int64_t i = 0; i < pairs; ++i) {
        const float a = low[i], b = high[i];
        out_low[i] = a * cosines[i] - b * sines[i];
        out_high[i] = b * cosines[i] + a * sines[i];
      }
    }
  }
};

}  // namespace

MadeKernel make_rotary(const KernelSignature& signature) {
  const Shape& shape = signature.operands[0].shape;
  const ValueRows rows(signature.operands[0]);
  const std::int64_t positions = shape[shape.size() - 2], pairs = rows.width / 2;
  const double base = signature.attributes.number("base");
  const double direction = signature.attributes.flag("inverse") ? -1 : 1;
  const TurnTable coarse(positions, pairs, base, direction, kCoarse);
  const TurnTable fine(std::min(positions, kCoarse), pairs, base, direction, 1);
  KernelPlan plan{.units = positions,
                  .scratch_bytes = 2 * pairs * std::int64_t{sizeof(float)},
                  .in_place = {{0, 0}}};
  return host_kernel(std::move(plan), [=](const KernelCall& call, UnitRange range) {
    auto* const cosines = static_cast<float*>(call.scratch);
    float* const sines = cosines + pairs;
    for (std::int64_t position = range.begin; position < range.end; ++position) {
      const std::int64_t one = position / kCoarse, other = position % kCoarse;
      run_loop<SumOfAnglesLoop>(pairs, coarse.cosines(one), coarse.sines(one), fine.cosines(other),
                                fine.sines(other), cosines, sines);
      const std::int64_t first = position * rows.width;
      run_loop<TurnLoop>(rows.count / positions, positions * rows.width, pairs,
                         static_cast<const float*>(cosines), static_cast<const float*>(sines),
                         operand_of(call, 0) + first, result_of(call) + first);
    }
  });
}

}  // namespace hocket
