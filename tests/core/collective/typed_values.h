#pragma once

// Values whose element type a test chooses as it runs, and which it sees as floats. Converts by
// itself, so that sums are checked against another arithmetic than that of the sources.

#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "core/collective/value_span.h"

namespace hocket {

inline constexpr ElementType kElementTypes[] = {ElementType::float32, ElementType::bfloat16,
                                                ElementType::float16};

inline ElementType random_type(std::mt19937_64& random) {
  return kElementTypes[random() % std::size(kElementTypes)];
}

/// Returns the bits of the element of `type` nearest to `value`, ties to even, in the lower bytes.
inline std::uint32_t bits_of(ElementType type, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (type == ElementType::float32) return bits;
  if (type == ElementType::float16)
    return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
  if ((bits & 0x7fff'ffff) > 0x7f80'0000) return bits >> 16 | 1;  // NaN
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

inline float float_of(ElementType type, std::uint32_t bits) {
  if (type == ElementType::float32) return std::bit_cast<float>(bits);
  if (type == ElementType::bfloat16) return std::bit_cast<float>(bits << 16);
  return static_cast<float>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits)));
}

/// Returns the value of `type` nearest to `value`.
inline float rounded(ElementType type, float value) {
  return float_of(type, bits_of(type, value));
}

class TypedValues {
 public:
  TypedValues(ElementType type, std::size_t size)
      : type_(type), size_(size), memory_((size * element_bytes(type) + 3) / 4) {}
  TypedValues(ElementType type, std::span<const float> values) : TypedValues(type, values.size()) {
    for (std::size_t i = 0; i < values.size(); ++i) set(i, values[i]);
  }

  std::size_t size() const { return size_; }
  ValueSpan span() { return {memory_.data(), size_, type_}; }

  void set(std::size_t i, float value) {
    const std::uint32_t bits = bits_of(type_, value);
    std::memcpy(place(i), &bits, element_bytes(type_));
  }
  float operator[](std::size_t i) const {
    std::uint32_t bits = 0;
    std::memcpy(&bits, const_cast<TypedValues*>(this)->place(i), element_bytes(type_));
    return float_of(type_, bits);
  }
  std::vector<float> floats() const {
    std::vector<float> values(size_);
    for (std::size_t i = 0; i < size_; ++i) values[i] = (*this)[i];
    return values;
  }

 private:
  std::byte* place(std::size_t i) {
    return reinterpret_cast<std::byte*>(memory_.data()) + i * element_bytes(type_);
  }

  ElementType type_;
  std::size_t size_;
  std::vector<std::uint32_t> memory_;
};

}  // namespace hocket
