// The ways of rows to the slots of experts, and back. What gives a row has rows for units; what
// gives slots goes through the rows in order, as one unit.

#include <algorithm>
#include <cstring>

#include "kernels/host/host_kernel.h"
#include "kernels/host/vectors.h"

namespace hocket {
namespace {

/// The slots that rows have, as operands say: experts, and places behind them.
struct ExpertSlots {
  ExpertSlots(const ValueType& experts, const Shape& slots, std::size_t operand)
      : rows(experts.shape[0]),
        choices(experts.shape[1]),
        expert_count(slots[0]),
        capacity(slots[1]),
        width(slots[2]),
        operand(operand) {}

  /// Calls visit(choice, first number of the slot) for each slot that a row has.
  template <class Visit>
  Result<void> each(const KernelCall& call, std::int64_t row, const Visit& visit) const {
    const auto* const experts = operand_of<std::int32_t>(call, operand);
    const auto* const places = operand_of<std::int32_t>(call, operand + 1);
    for (std::int64_t i = row * choices; i < (row + 1) * choices; ++i) {
      if (experts[i] < 0 || experts[i] >= expert_count)
        return wrong_index("experts", experts[i], expert_count, i);
      if (places[i] < -1 || places[i] >= capacity)
        return wrong_index("places", places[i], capacity, i, -1);
      if (places[i] >= 0) visit(i, (experts[i] * capacity + places[i]) * width);
    }
    return {};
  }

  std::int64_t rows, choices, expert_count, capacity, width;
  std::size_t operand;
};

/// y += x · factor
struct AddScaledLoop {
  [[gnu::always_inline]] static inline void run(std::int64_t width, const float* x, float factor,
                                                float* y) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) y[i] += x[i] * factor;
  }
};

struct DotLoop {
  [[gnu::always_inline]] static inline void run(std::int64_t width, const float* x, const float* y,
                                                float* product) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < width; ++i) sum += x[i] * y[i];
    *product = sum;
  }
};

}  // namespace

MadeKernel make_dispatch(const KernelSignature& signature) {
  const ValueRows rows(signature.operands[0]);
  const std::int64_t choices = signature.operands[1].shape[1];
  const std::int64_t experts = signature.attributes.integer("expert_count");
  const std::int64_t capacity = signature.attributes.integer("capacity");
  const std::int64_t bytes = experts * std::int64_t{sizeof(std::int32_t)};
  return host_kernel({.scratch_bytes = bytes},
                     [=](const KernelCall& call, UnitRange) -> Result<void> {
                       auto* const taken = static_cast<std::int32_t*>(call.scratch);
                       std::fill_n(taken, experts, 0);
                       float* const slots = result_of(call, 0);
                       std::fill_n(slots, experts * capacity * rows.width, 0.0f);
                       for (std::int64_t i = 0; i < rows.count * choices; ++i) {
                         const std::int64_t expert = operand_of<std::int32_t>(call, 1)[i];
                         if (expert < 0 || expert >= experts)
                           return wrong_index("experts", expert, experts, i);
                         std::int32_t& place = taken[expert];
                         const bool is_full = place >= capacity;
                         result_of<std::int32_t>(call, 1)[i] = is_full ? -1 : place;
                         if (is_full) continue;
                         std::memcpy(slots + (expert * capacity + place++) * rows.width,
                                     operand_of(call, 0) + i / choices * rows.width,
                                     static_cast<std::size_t>(rows.width) * sizeof(float));
                       }
                       return {};
                     });
}

MadeKernel make_dispatch_gradient(const KernelSignature& signature) {
  const ExpertSlots slots(signature.operands[0], signature.operands[2].shape, 0);
  return host_kernel(
      {.units = slots.rows}, [slots](const KernelCall& call, UnitRange range) -> Result<void> {
        for (std::int64_t row = range.begin; row < range.end; ++row) {
          float* const dx = result_of(call) + row * slots.width;
          std::fill_n(dx, slots.width, 0.0f);
          HOCKET_TRY(slots.each(call, row, [&](std::int64_t, std::int64_t slot) {
            run_loop<AddScaledLoop>(slots.width, operand_of(call, 2) + slot, 1.0f, dx);
          }));
        }
        return {};
      });
}

MadeKernel make_combine(const KernelSignature& signature) {
  const ExpertSlots slots(signature.operands[1], signature.operands[0].shape, 1);
  return host_kernel(
      {.units = slots.rows}, [slots](const KernelCall& call, UnitRange range) -> Result<void> {
        for (std::int64_t row = range.begin; row < range.end; ++row) {
          float* const y = result_of(call) + row * slots.width;
          std::fill_n(y, slots.width, 0.0f);
          HOCKET_TRY(slots.each(call, row, [&](std::int64_t choice, std::int64_t slot) {
            run_loop<AddScaledLoop>(slots.width, operand_of(call, 0) + slot,
                                    operand_of(call, 3)[choice], y);
          }));
        }
        return {};
      });
}

MadeKernel make_combine_gradient(const KernelSignature& signature) {
  const ExpertSlots slots(signature.operands[1], signature.operands[0].shape, 1);
  const std::int64_t slot_numbers = signature.operands[0].count();
  return host_kernel({}, [=](const KernelCall& call, UnitRange) -> Result<void> {
    float* const dslots = result_of(call, 0);
    float* const dweights = result_of(call, 1);
    std::fill_n(dslots, slot_numbers, 0.0f);
    std::fill_n(dweights, slots.rows * slots.choices, 0.0f);
    for (std::int64_t row = 0; row < slots.rows; ++row) {
      const float* const dy = operand_of(call, 4) + row * slots.width;
      HOCKET_TRY(slots.each(call, row, [&](std::int64_t choice, std::int64_t slot) {
        run_loop<AddScaledLoop>(slots.width, dy, operand_of(call, 3)[choice], dslots + slot);
        run_loop<DotLoop>(slots.width, dy, operand_of(call, 0) + slot, dweights + choice);
      }));
    }
    return {};
  });
}

}  // namespace hocket
