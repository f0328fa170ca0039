#pragma once

// Memory that ranks share, and what lets them wait for each other in it without hanging when one of
// them is killed. The arena is filled before the fork; everything else any process and thread may
// call.

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>

namespace hocket::nccl_host {

/// Zeroed memory at the same address in all forked processes. Objects in it are never destroyed.
class SharedArena {
 public:
  /// Throws std::bad_alloc.
  explicit SharedArena(std::size_t bytes);
  ~SharedArena();
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;

  template <class T>
  T* make(std::size_t count = 1) {
    return new (take(count * sizeof(T), alignof(T))) T[count]();
  }

 private:
  void* take(std::size_t bytes, std::size_t alignment);

  std::byte* memory_;
  std::size_t bytes_, used_ = 0;
};

/// Lock that survives the death of its owner: the next one to lock gets it. The guarded state must
/// be usable whatever the owner left undone.
class SharedMutex {
 public:
  SharedMutex();
  void lock();
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_;
};

/// Waits until `word` may have changed from `expected`, at most `limit`.
void wait_for_change(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                     std::chrono::milliseconds limit);
void wake_all(const std::atomic<std::uint32_t>& word);

}  // namespace hocket::nccl_host
