#pragma once

// How often a test of random cases draws one.

#include <cstdint>

namespace hocket {

/// `count`, or a quarter of it under a sanitizer, which makes each take some ten times as long.
constexpr std::uint64_t rounds(std::uint64_t count) {
#ifdef HOCKET_SANITIZED
  return count / 4;
#else
  return count;
#endif
}

}  // namespace hocket
