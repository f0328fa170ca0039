#pragma once

// Philox-4x32-10, a generator of random numbers that is a function of a counter and a key (Salmon
// et al., SC 2011, section 4). Pure.

#include <array>
#include <cstdint>

namespace hocket {

/// Returns four words of 32 random bits.
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                              std::array<std::uint32_t, 2> key) {
  constexpr int kPhiloxRounds = 10;
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t even = std::uint64_t{0xd2511f53} * counter[0];
    const std::uint64_t odd = std::uint64_t{0xcd9e8d57} * counter[2];
    counter = {static_cast<std::uint32_t>(odd >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(odd),
               static_cast<std::uint32_t>(even >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(even)};
    key = {key[0] + 0x9e3779b9, key[1] + 0xbb67ae85};
  }
  return counter;
}

}  // namespace hocket
