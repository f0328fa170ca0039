#pragma once

// bfloat16 and float16, made of float32 and back. Rounded to nearest, of two the even one; without
// branches, so that a compiler vectorises it. Private to kernels/host. Pure.

#include <bit>
#include <cstdint>

namespace hocket {

class Bfloat16 {
 public:
  /// A value that is no number becomes 0x7fff, as on a device.
  [[gnu::always_inline]] explicit Bfloat16(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    bits_ = static_cast<std::uint16_t>(x == x ? rounded : 0x7fffu);
  }
  [[gnu::always_inline]] explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16);
  }

 private:
  std::uint16_t bits_;
};

class Float16 {
 public:
  [[gnu::always_inline]] explicit Float16(float x) {
    const auto all = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t bits = all & 0x7fffffffu;
    // A normal number: another bias, and the last 13 bits rounded away.
    const std::uint32_t normal = (bits - (112u << 23) + 0xfffu + (bits >> 13 & 1u)) >> 13;
    // A smaller one: adding 0.5 lets the processor round to a multiple of 2^-24.
    const std::uint32_t small =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(bits) + 0.5f) - 0x3f000000u;
    std::uint32_t found = bits < 113u << 23 ? small : normal;
    found = bits >= 0x477ff000u ? 0x7c00u : found;  // from 65,520 on
    found = bits > 0x7f800000u ? 0x7fffu : found;
    bits_ = static_cast<std::uint16_t>(found | (all >> 16 & 0x8000u));
  }
  [[gnu::always_inline]] explicit operator float() const {
    const std::uint32_t bits = bits_ & 0x7fffu;
    const std::uint32_t normal = (bits << 13) + (112u << 23);
    // A subnormal number: a mantissa with the exponent of 2^-14, less 2^-14.
    const float least = std::bit_cast<float>(113u << 23);
    const auto small =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>((bits << 13) + (113u << 23)) - least);
    std::uint32_t found = bits < 0x400u ? small : normal;
    found = bits >= 0x7c00u ? (bits << 13) | 0x7f800000u : found;
    return std::bit_cast<float>(found | static_cast<std::uint32_t>(bits_ & 0x8000u) << 16);
  }

 private:
  std::uint16_t bits_;
};

}  // namespace hocket
