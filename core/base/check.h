#pragma once

// Assertions that stay on in release builds, for broken invariants and misuse of an interface. A
// failed check prints its location and reason, then aborts; it is a bug, never a reaction to input.
// Any thread.

#include <cstdio>
#include <cstdlib>

#define HOCKET_CHECK(condition, why)                                                               \
  do {                                                                                             \
    if (!(condition)) [[unlikely]] {                                                               \
      std::fprintf(stderr, "%s:%d: check failed: %s (%s)\n", __FILE__, __LINE__, #condition, why); \
      std::abort();                                                                                \
    }                                                                                              \
  } while (false)
