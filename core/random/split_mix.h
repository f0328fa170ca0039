#pragma once

// Counter-based random numbers: a number depends only on its key and index, so every rank, thread
// and standard library produces the same ones. Pure functions.

#include <cstdint>

namespace hocket {

/// Returns number `index` of the sequence of `key`: SplitMix64 (Steele, Lea, Flood, "Fast
/// splittable pseudorandom number generators", OOPSLA 2014) with its state computed from the index.
/// A result may serve as the key of another sequence.
constexpr std::uint64_t random_bits(std::uint64_t key, std::uint64_t index) {
  std::uint64_t z = key + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Uses of random numbers in a job; each has a sequence of its own.
enum class RandomUse : std::uint64_t { parameters, batches };

constexpr std::uint64_t random_key(std::uint64_t seed, RandomUse use) {
  return random_bits(seed, static_cast<std::uint64_t>(use));
}

/// Returns number `index` of an approximately normal sequence with mean 0 and variance 1, within
/// ±6: the sum of twelve uniform numbers (central limit theorem). Exact in integers, whereas the
/// usual transforms depend on the last digit of a math library's logarithm.
constexpr float random_normal(std::uint64_t key, std::uint64_t index) {
  std::int64_t sum = 0;
  for (std::uint64_t word = 0; word < 3; ++word) {
    const std::uint64_t bits = random_bits(key, 3 * index + word);
    for (int shift = 0; shift < 64; shift += 16) {
      sum += static_cast<std::int64_t>((bits >> shift) & 0xffff);
    }
  }
  return static_cast<float>(sum - 6 * 65535) / 65536.0f;
}

}  // namespace hocket
