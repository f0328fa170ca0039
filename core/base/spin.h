#pragma once

// Waits without sleeping, for events that are a microsecond or two away. Any thread.

#include <mutex>

namespace hocket {

/// Tells the processor that this thread is spinning.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Locks `mutex`. Spins first, for a mutex that is held much shorter than a sleep takes; sleeps if
/// that fails.
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
