#pragma once

// Element types of matrices and vectors on a device. Pure.

#include <cstddef>
#include <cstdint>

namespace hocket {

enum class ElementType : std::uint8_t {
  float32,
  bfloat16,  ///< the upper half of a float32, rounded to nearest, ties to even
};

constexpr std::size_t element_bytes(ElementType type) {
  return type == ElementType::float32 ? 4 : 2;
}

}  // namespace hocket
