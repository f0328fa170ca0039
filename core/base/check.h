#pragma once

// Always-on checks for what must not happen: a broken invariant or a misused interface. A failed
// check prints where and why, then aborts; it is a bug, never a reaction to input.

#include <cstdio>
#include <cstdlib>

#define HOCKET_CHECK(condition, why)                                                               \
  do {                                                                                             \
    if (!(condition)) [[unlikely]] {                                                               \
      std::fprintf(stderr, "%s:%d: check failed: %s (%s)\n", __FILE__, __LINE__, #condition, why); \
      std::abort();                                                                                \
    }                                                                                              \
  } while (false)
