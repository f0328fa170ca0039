#pragma once

// Types of the elements of tensors, on hosts and devices. Any thread.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hocket {

enum class ElementType : std::uint8_t {
  float32,
  bfloat16,  ///< the upper half of a float32, rounded to nearest, ties to even
  float16,   ///< binary16 of IEEE 754
};

/// The bits of an element that C++ has no type for.
enum class BFloat16 : std::uint16_t {};
enum class Float16 : std::uint16_t {};

constexpr std::size_t element_bytes(ElementType type) {
  return type == ElementType::float32 ? 4 : 2;
}

/// "float32", …
constexpr std::string_view to_string(ElementType type) {
  constexpr std::string_view names[] = {"float32", "bfloat16", "float16"};
  return names[static_cast<std::size_t>(type)];
}

}  // namespace hocket
