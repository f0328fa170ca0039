#include "tests/plugins/nccl/host/shared/shared_memory.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

namespace hocket::nccl_host {

SharedArena::SharedArena(std::size_t bytes) : bytes_(bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<std::byte*>(memory);
}

SharedArena::~SharedArena() {
  munmap(memory_, bytes_);
}

void* SharedArena::take(std::size_t bytes, std::size_t alignment) {
  // Ranks write to neighbouring objects: each begins a cache line of its own.
  if (alignment < 64) alignment = 64;
  const std::size_t begin = (used_ + alignment - 1) / alignment * alignment;
  if (begin + bytes > bytes_) throw std::bad_alloc();
  used_ = begin + bytes;
  return memory_ + begin;
}

SharedMutex::SharedMutex() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex_, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

void SharedMutex::lock() {
  if (pthread_mutex_lock(&mutex_) == EOWNERDEAD) pthread_mutex_consistent(&mutex_);
}

namespace {

long futex(const std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* limit) {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  return syscall(SYS_futex, reinterpret_cast<const std::uint32_t*>(&word), operation, value, limit,
                 nullptr, 0);
}

}  // namespace

void wait_for_change(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                     std::chrono::milliseconds limit) {
  const timespec time{limit.count() / 1000, limit.count() % 1000 * 1'000'000};
  futex(word, FUTEX_WAIT, expected, &time);
}

void wake_all(const std::atomic<std::uint32_t>& word) {
  futex(word, FUTEX_WAKE, INT_MAX, nullptr);
}

}  // namespace hocket::nccl_host
