#pragma once

// The values that a collective moves: a span whose element type is known when the program runs. It
// does not own them, and two ranks may use different addresses. Any thread.

#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/check.h"
#include "core/step/element_type.h"

namespace hocket {

template <class T>
concept Element = std::same_as<T, float> || std::same_as<T, BFloat16> || std::same_as<T, Float16>;

template <Element T>
inline constexpr ElementType kElementType = std::same_as<T, float>      ? ElementType::float32
                                            : std::same_as<T, BFloat16> ? ElementType::bfloat16
                                                                        : ElementType::float16;

class ValueSpan {
 public:
  constexpr ValueSpan() = default;
  template <Element T>
  constexpr ValueSpan(T* data, std::size_t size)
      : data_(data), size_(size), type_(kElementType<T>) {}
  template <Element T>
  constexpr ValueSpan(std::span<T> values) : ValueSpan(values.data(), values.size()) {}
  template <Element T, class Allocator>
  constexpr ValueSpan(std::vector<T, Allocator>& values)
      : ValueSpan(values.data(), values.size()) {}
  template <Element T, std::size_t count>
  constexpr ValueSpan(T (&values)[count]) : ValueSpan(values, count) {}
  /// `size` elements of `type`, aligned as their type is.
  constexpr ValueSpan(void* data, std::size_t size, ElementType type)
      : data_(data), size_(size), type_(type) {}

  constexpr ElementType type() const { return type_; }
  constexpr void* data() const { return data_; }
  /// Number of elements.
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr std::size_t element_bytes() const { return hocket::element_bytes(type_); }
  constexpr std::size_t size_bytes() const { return size_ * element_bytes(); }

  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(data_), size_bytes()}; }
  /// Requires begin + count ≤ size().
  ValueSpan subspan(std::size_t begin, std::size_t count) const {
    return {static_cast<std::byte*>(data_) + begin * element_bytes(), count, type_};
  }
  /// Requires elements of type T.
  template <Element T>
  std::span<T> as() const {
    HOCKET_CHECK(type_ == kElementType<T>, "the type that the elements have");
    return {static_cast<T*>(data_), size_};
  }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
  ElementType type_ = ElementType::float32;
};

/// Copies `from` to `to`, which are of one type and size and do not overlap.
void copy(ValueSpan from, ValueSpan to);

/// Replaces `sum` by the sum of `summands`, all of its type and size. Each element is added up in
/// float32, in the order of the summands, and rounded once, to nearest with ties to even. `sum` may
/// be one of the summands.
void add_up(std::span<const ValueSpan> summands, ValueSpan sum);

/// Makes all elements NaN.
void make_undefined(ValueSpan values);

}  // namespace hocket
