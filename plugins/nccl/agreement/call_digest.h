#pragma once

// A rolling hash of the calls of a communicator, by which ranks see that they count the same calls.
// Two multiplications a call. Pure functions; any thread.

#include <cstdint>

namespace hocket::nccl::call_digest {

/// Digest before the first call.
inline constexpr std::uint64_t kEmpty = 0x9e3779b97f4a7c15;

/// Is a bijection, so that digests that differ stay different while equal calls follow.
constexpr std::uint64_t mix(std::uint64_t x) {
  x *= 0xd6e8feb86659fd93;
  return x ^ (x >> 32);
}

/// Returns the digest of the calls of `digest` followed by one of `function` on `bytes` bytes with
/// `operations` aggregated operations.
constexpr std::uint64_t add(std::uint64_t digest, std::uint32_t function, std::uint64_t bytes,
                            std::uint32_t operations) {
  return mix(mix(digest ^ bytes) ^ (std::uint64_t{operations} << 32 | function));
}

}  // namespace hocket::nccl::call_digest
