#pragma once

// The number of random cases in a test. Any thread.

#include <cstdint>
#include <cstdlib>

namespace hocket {

/// Returns `count`, or a quarter of it under a sanitizer, which makes each case about ten times
/// slower; HOCKET_TEST_ROUNDS times as many in a longer run.
inline std::uint64_t rounds(std::uint64_t count) {
#ifdef HOCKET_SANITIZED
  count /= 4;
#endif
  const char* const times = std::getenv("HOCKET_TEST_ROUNDS");
  return times == nullptr ? count : count * std::strtoull(times, nullptr, 10);
}

}  // namespace hocket
