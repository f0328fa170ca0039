#pragma once

// The number of random cases in a test. Any thread.

#include <cstdint>

namespace hocket {

/// Returns `count`, or a quarter of it under a sanitizer, which makes each case about ten times
/// slower.
constexpr std::uint64_t rounds(std::uint64_t count) {
#ifdef HOCKET_SANITIZED
  return count / 4;
#else
  return count;
#endif
}

}  // namespace hocket
