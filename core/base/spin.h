#pragma once

// Waiting without sleeping, for what happens within a microsecond or two.

#include <mutex>

namespace hocket {

/// Tells the processor that this thread spins.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Locks `mutex`, which is held for much less time than a sleep takes; sleeps when it is not.
inline std::unique_lock<std::mutex> lock_spinning(std::mutex& mutex) {
  constexpr int kTries = 200;
  for (int i = 0; i < kTries; ++i) {
    std::unique_lock lock(mutex, std::try_to_lock);
    if (lock) return lock;
    spin_pause();
  }
  return std::unique_lock(mutex);
}

}  // namespace hocket
