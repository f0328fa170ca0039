#pragma once

// Values whose sum depends on the order of addition, and the sum in the order of ranks. Pure.

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace hocket {

/// Returns the summand of `rank` of a part that `seed` determines: signs and magnitudes vary, so
/// that another order of addition rounds differently.
inline std::vector<float> rank_values(std::uint64_t seed, int rank, std::size_t size) {
  std::mt19937_64 random(seed * 64 + static_cast<std::uint64_t>(rank));
  std::vector<float> values(size);
  for (float& value : values) {
    const auto drawn = static_cast<std::uint32_t>(random());
    const std::uint32_t exponent = 117 + (drawn >> 23) % 20;
    value = std::bit_cast<float>((drawn & 0x807fffffU) | exponent << 23);
  }
  return values;
}

/// Returns ((v0 + v1) + v2) + …
inline std::vector<float> sum_of_ranks(std::uint64_t seed, int ranks, std::size_t size) {
  std::vector<float> sum = rank_values(seed, 0, size);
  for (int rank = 1; rank < ranks; ++rank) {
    const auto summand = rank_values(seed, rank, size);
    for (std::size_t i = 0; i < size; ++i) sum[i] += summand[i];
  }
  return sum;
}

inline void expect_same_bits(std::span<const float> found, std::span<const float> expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(found[i]), std::bit_cast<std::uint32_t>(expected[i]))
        << "value " << i << ": " << found[i] << ", not " << expected[i];
  }
}

}  // namespace hocket
