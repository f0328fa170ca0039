#pragma once

// Types of the values of a graph: a type of numbers and a shape. Plain values; any thread.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// Types of the numbers in a value.
enum class NumberType : std::uint8_t {
  float32,
  bfloat16,
  float16,
  int32,  ///< tokens, indices and counts, by which nothing is differentiated
};

inline constexpr std::size_t kNumberTypes = 4;

/// "float32", …
std::string_view to_string(NumberType type);
Result<NumberType> parse_number_type(std::string_view text);

constexpr std::int64_t number_bytes(NumberType type) {
  return type == NumberType::float32 || type == NumberType::int32 ? 4 : 2;
}
constexpr bool is_floating(NumberType type) {
  return type != NumberType::int32;
}

/// Sizes of the dimensions, outermost first; a scalar has none.
using Shape = std::vector<std::int64_t>;

inline constexpr std::size_t kMostDimensions = 8;
/// Most numbers in a value.
inline constexpr std::int64_t kMostNumbers = std::int64_t{1} << 48;

/// invalid_argument for more than kMostDimensions, sizes below 1 and more than kMostNumbers.
Result<void> check_shape(const Shape& shape);
/// Returns the product of the sizes. Requires a shape that check_shape() accepts.
std::int64_t count_of(const Shape& shape);
/// Returns "[4, 64]".
std::string to_string(const Shape& shape);

/// Returns the shape that both shapes are broadcast to: dimensions are matched from the innermost,
/// and one of size 1, or that a shape lacks, is repeated (NumPy's rules). invalid_argument where
/// two sizes differ otherwise.
Result<Shape> broadcast_shape(const Shape& one, const Shape& other);

struct ValueType {
  NumberType numbers = NumberType::float32;
  Shape shape = {};

  std::int64_t count() const { return count_of(shape); }
  std::int64_t bytes() const { return count() * number_bytes(numbers); }

  bool operator==(const ValueType&) const = default;
};

/// Returns "float32[4, 64]".
std::string to_string(const ValueType& type);

}  // namespace hocket
