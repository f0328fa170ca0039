#pragma once

// An array of fixed capacity that touches its memory only as it fills. Not thread-safe.

#include <cstddef>
#include <memory>
#include <type_traits>

namespace hocket {

template <class T>
class FixedBuffer {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  explicit FixedBuffer(std::size_t capacity)
      : capacity_(capacity), values_(std::allocator<T>().allocate(capacity)) {}
  ~FixedBuffer() { std::allocator<T>().deallocate(values_, capacity_); }
  FixedBuffer(const FixedBuffer&) = delete;
  FixedBuffer& operator=(const FixedBuffer&) = delete;

  /// Returns false if the buffer is full.
  bool push_back(const T& value) {
    if (size_ == capacity_) return false;
    put(size_++, value);
    return true;
  }
  /// Stores a value at `index`, for callers that assign indices themselves instead of push_back().
  void put(std::size_t index, const T& value) { std::construct_at(values_ + index, value); }
  void truncate(std::size_t size) { size_ = size; }

  const T& operator[](std::size_t index) const { return values_[index]; }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  std::size_t left() const { return capacity_ - size_; }

 private:
  const std::size_t capacity_;
  T* const values_;
  std::size_t size_ = 0;
};

}  // namespace hocket
