#pragma once

// The places of a value's numbers in operands that are repeated, or put in another order. Device
// code, and what the host gives it. Pure.

#include <array>
#include <cstdint>

#include "kernels/cuda/device/device_values.h"
#include "kernels/repeated.h"

namespace hocket::kernels {

/// A walk (kernels/repeated.h) as a device takes it.
template <int Count>
struct StridedWalk {
  int rank = 1;
  std::int64_t sizes[kMostDimensions] = {};
  std::int64_t strides[kMostDimensions][Count] = {};

  explicit StridedWalk(const Repeated<static_cast<std::size_t>(Count)>& all)
      : rank(static_cast<int>(all.rank)) {
    for (std::size_t i = 0; i < all.rank; ++i) {
      sizes[i] = all.sizes[i];
      for (std::size_t j = 0; j < Count; ++j) strides[i][j] = all.strides[i][j];
    }
  }

  /// Sets the places of number `index`.
  __device__ void find(std::int64_t index, std::int64_t (&places)[Count]) const {
    for (int j = 0; j < Count; ++j) places[j] = 0;
    for (int i = rank - 1; i >= 0; --i) {
      std::int64_t at = index;
      if (i > 0) {
        // A division of 64 bits takes several times as long.
        const std::int64_t size = sizes[i];
        const std::int64_t next = (index | size) >> 32 == 0 ? static_cast<std::uint32_t>(index) /
                                                                  static_cast<std::uint32_t>(size)
                                                            : index / size;
        at = index - next * size;
        index = next;
      }
      for (int j = 0; j < Count; ++j) places[j] += at * strides[i][j];
    }
  }
  __device__ std::int64_t find(std::int64_t index) const {
    std::int64_t places[Count];
    find(index, places);
    return places[0];
  }
};

/// Returns true if numbers can be taken `n` at a time: `n` neighbours are neighbours in each
/// operand or the same number, and begin at multiples of `n`.
template <std::size_t Count>
bool goes_on_in_packs(const Repeated<Count>& all, std::int64_t n) {
  if (all.width() % n != 0) return false;
  for (std::size_t j = 0; j < Count; ++j) {
    if (all.inner(j) == 0) continue;
    if (all.inner(j) != 1) return false;
    for (std::size_t i = 0; i + 1 < all.rank; ++i)
      if (all.strides[i][j] % n != 0) return false;
  }
  return true;
}

}  // namespace hocket::kernels
