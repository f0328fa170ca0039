#include "profiler/cupti/buffer_pool.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "core/base/check.h"

namespace hocket {
namespace {

constexpr std::size_t kRecordAlignment = 8;
constexpr std::size_t kLeastBufferBytes = 1024;

std::size_t whole_records(std::size_t bytes) {
  const std::size_t enough = std::max(bytes, kLeastBufferBytes);
  return (enough + kRecordAlignment - 1) / kRecordAlignment * kRecordAlignment;
}

/// Keeps `memory` until the process ends, where leak checkers find it.
void keep(std::uint8_t* memory) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::uint8_t*>;
  std::lock_guard lock(mutex);
  kept->push_back(memory);
}

}  // namespace

// calloc() does not touch large memory, so unused buffers take no physical memory.
BufferPool::BufferPool(BufferPoolOptions options)
    : buffer_bytes_(whole_records(options.buffer_bytes)),
      memory_(static_cast<std::uint8_t*>(
          std::calloc(std::max<std::size_t>(options.buffers, 1), buffer_bytes_))),
      states_(std::max<std::size_t>(options.buffers, 1), State::free) {
  HOCKET_CHECK(memory_ != nullptr, "there is no memory for CUPTI's buffers");
  for (std::size_t i = states_.size(); i > 0; --i) free_.push_back(i - 1);
}

BufferPool::~BufferPool() {
  // CUPTI may still write into buffers that it holds.
  held_ == 0 ? std::free(memory_) : keep(memory_);
}

std::span<std::uint8_t> BufferPool::request() {
  std::lock_guard lock(mutex_);
  if (is_closed_ || free_.empty()) {
    ++counts_.refused;
    return {};
  }
  const std::size_t index = free_.back();
  free_.pop_back();
  states_[index] = State::held;
  ++held_;
  ++counts_.requests;
  return {memory_of(index), buffer_bytes_};
}

bool BufferPool::complete(std::uint8_t* buffer, std::size_t valid_bytes) {
  {
    std::lock_guard lock(mutex_);
    const auto at = reinterpret_cast<std::uintptr_t>(buffer);
    const auto first = reinterpret_cast<std::uintptr_t>(memory_);
    const std::size_t index = at < first ? states_.size() : (at - first) / buffer_bytes_;
    if (index >= states_.size()) return false;
    if (buffer != memory_of(index) || states_[index] != State::held) {
      ++counts_.strays;
      return false;
    }
    if (valid_bytes > buffer_bytes_) ++counts_.cut;
    ++counts_.completed;
    states_[index] = State::full;
    --held_;
    full_.push_back({index, {buffer, std::min(valid_bytes, buffer_bytes_)}});
  }
  changed_.notify_all();
  return true;
}

std::size_t BufferPool::held() const {
  std::lock_guard lock(mutex_);
  return held_;
}

std::optional<FilledBuffer> BufferPool::take(std::int64_t timeout_ns) {
  std::unique_lock lock(mutex_);
  const auto is_over = [this] { return !full_.empty() || is_closed_; };
  if (timeout_ns < 0) {
    changed_.wait(lock, is_over);
  } else {
    changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), is_over);
  }
  if (full_.empty()) return std::nullopt;
  const FilledBuffer buffer = full_.front();
  full_.pop_front();
  states_[buffer.index] = State::reading;
  ++reading_;
  return buffer;
}

void BufferPool::give_back(const FilledBuffer& buffer) {
  {
    std::lock_guard lock(mutex_);
    HOCKET_CHECK(buffer.index < states_.size() && states_[buffer.index] == State::reading,
                 "give_back() of a buffer that nobody reads");
  }
  // The lock is not held, since CUPTI's threads may wait for it. This thread owns the buffer now.
  std::memset(memory_of(buffer.index), 0, buffer_bytes_);
  {
    std::lock_guard lock(mutex_);
    states_[buffer.index] = State::free;
    --reading_;
    free_.push_back(buffer.index);
  }
  changed_.notify_all();
}

void BufferPool::close() {
  {
    std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  changed_.notify_all();
}

bool BufferPool::is_closed() const {
  std::lock_guard lock(mutex_);
  return is_closed_;
}

void BufferPool::wait_until_read() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return full_.empty() && reading_ == 0; });
}

BufferPoolCounts BufferPool::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace hocket
