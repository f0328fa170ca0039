#pragma once

// The activations that a product may be followed by. Private to kernels/cuda.

#include <cstdint>
#include <string_view>

namespace hocket::kernels {

enum class Curve : std::uint8_t { none, relu, gelu, silu };

constexpr Curve curve_of(std::string_view word) {
  if (word == "relu") return Curve::relu;
  if (word == "gelu") return Curve::gelu;
  return word == "silu" ? Curve::silu : Curve::none;
}

}  // namespace hocket::kernels
