// The ways of rows to the slots of experts, and back.

#include <optional>
#include <unordered_map>

#include "core/graph/interpreter/computation.h"

namespace hocket {
namespace {

/// The slots that rows have, as operands say: experts, and places behind them.
template <class T>
struct TakenSlots {
  TakenSlots(const Computation<T>& computation, std::size_t experts, const Shape& slots)
      : computation(computation),
        experts(experts),
        expert_count(slots[0]),
        capacity(slots[1]),
        rows(static_cast<std::size_t>(computation.shape(experts)[0])),
        choices(static_cast<std::size_t>(computation.shape(experts)[1])),
        width(static_cast<std::size_t>(slots[2])) {}

  /// Returns the place of the first number of the slot that a choice has; none for a place of −1.
  Result<std::optional<std::size_t>> find(std::size_t row, std::size_t choice) const {
    const std::size_t i = row * choices + choice;
    const auto expert = computation.index_in_part(experts, i, expert_count);
    HOCKET_TRY(expert);
    const auto place = computation.index(experts + 1, i, capacity, -1);
    HOCKET_TRY(place);
    if (!*expert || *place < 0) return std::nullopt;
    return static_cast<std::size_t>(**expert * capacity + *place) * width;
  }

  /// Calls visit(row, row · choices + choice, first number of the slot) for each slot.
  template <class Visit>
  Result<void> each(Visit visit) const {
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t choice = 0; choice < choices; ++choice) {
        const auto slot = find(row, choice);
        HOCKET_TRY(slot);
        if (*slot) visit(row, row * choices + choice, **slot);
      }
    }
    return {};
  }

  const Computation<T>& computation;
  /// The operand with the experts; the one with the places comes after it.
  const std::size_t experts;
  const std::int64_t expert_count, capacity;
  const std::size_t rows, choices, width;
};

}  // namespace

template <class T>
Result<void> compute_dispatch(Computation<T>& computation) {
  const Rows rows(computation, 0);
  const auto choices = static_cast<std::size_t>(computation.shape(1)[1]);
  const std::int64_t experts = computation.attributes.integer("expert_count");
  const std::int64_t capacity = computation.attributes.integer("capacity");
  // Also of experts that are not of this part: places are those of all.
  std::unordered_map<std::int64_t, std::int64_t> taken;
  for (std::size_t i = 0; i < rows.count * choices; ++i) {
    const auto expert = computation.index_in_part(1, i, experts);
    HOCKET_TRY(expert);
    std::int64_t& place = taken[whole_of(computation.x(1)[i])];
    computation.y(1)[i] = place < capacity ? static_cast<double>(place) : -1;
    if (place == capacity) continue;
    const std::int64_t mine = place++;
    if (!*expert) continue;
    const auto slot = static_cast<std::size_t>(**expert * capacity + mine) * rows.width;
    for (std::size_t j = 0; j < rows.width; ++j)
      computation.y(0)[slot + j] = computation.x(0)[i / choices * rows.width + j];
  }
  return {};
}

template <class T>
Result<void> compute_dispatch_gradient(Computation<T>& computation) {
  const TakenSlots slots(computation, 0, computation.shape(2));
  return slots.each([&](std::size_t row, std::size_t, std::size_t slot) {
    for (std::size_t j = 0; j < slots.width; ++j)
      computation.y()[row * slots.width + j] += computation.x(2)[slot + j];
  });
}

template <class T>
Result<void> compute_combine(Computation<T>& computation) {
  const TakenSlots slots(computation, 1, computation.shape(0));
  return slots.each([&](std::size_t row, std::size_t choice, std::size_t slot) {
    for (std::size_t j = 0; j < slots.width; ++j) {
      computation.y()[row * slots.width + j] +=
          computation.x(0)[slot + j] * computation.x(3)[choice];
    }
  });
}

template <class T>
Result<void> compute_combine_gradient(Computation<T>& computation) {
  const TakenSlots slots(computation, 1, computation.shape(0));
  return slots.each([&](std::size_t row, std::size_t choice, std::size_t slot) {
    for (std::size_t j = 0; j < slots.width; ++j) {
      const T dy = computation.x(4)[row * slots.width + j];
      computation.y(0)[slot + j] += dy * computation.x(3)[choice];
      computation.y(1)[choice] += dy * computation.x(0)[slot + j];
    }
  });
}

HOCKET_FOR_ALL_NUMBERS(Result<void>, compute_dispatch);
HOCKET_FOR_ALL_NUMBERS(Result<void>, compute_dispatch_gradient);
HOCKET_FOR_ALL_NUMBERS(Result<void>, compute_combine);
HOCKET_FOR_ALL_NUMBERS(Result<void>, compute_combine_gradient);

}  // namespace hocket
