#include "core/graph/value_type.h"

#include <algorithm>
#include <array>

#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::array<std::string_view, kNumberTypes> kNames{"float32", "bfloat16", "float16",
                                                            "int32"};
constexpr std::size_t kShownTypeBytes = 40;

}  // namespace

std::string_view to_string(NumberType type) {
  return kNames[static_cast<std::size_t>(type)];
}

Result<NumberType> parse_number_type(std::string_view text) {
  const auto found = std::ranges::find(kNames, text);
  if (found != kNames.end()) return static_cast<NumberType>(found - kNames.begin());
  return failure(ErrorCode::invalid_argument,
                 "expected a type of numbers, float32, bfloat16, float16 or int32, found \"" +
                     printable(text, kShownTypeBytes) + "\"");
}

Result<void> check_shape(const Shape& shape) {
  if (shape.size() > kMostDimensions) {
    return failure(ErrorCode::invalid_argument,
                   "expected at most " + std::to_string(kMostDimensions) + " dimensions, found " +
                       std::to_string(shape.size()));
  }
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 1 || size > kMostNumbers / count) {
      return failure(ErrorCode::invalid_argument,
                     "expected sizes from 1, and at most 2^48 numbers, found " + to_string(shape));
    }
    count *= size;
  }
  return {};
}

std::int64_t count_of(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

Result<Shape> broadcast_shape(const Shape& one, const Shape& other) {
  Shape shape(std::max(one.size(), other.size()), 1);
  const auto size_at = [&](const Shape& of, std::size_t i) {
    const std::size_t lacks = shape.size() - of.size();
    return i < lacks ? 1 : of[i - lacks];
  };
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t a = size_at(one, i), b = size_at(other, i);
    if (a != b && a != 1 && b != 1) {
      return failure(ErrorCode::invalid_argument, "the shapes " + to_string(one) + " and " +
                                                      to_string(other) +
                                                      " cannot be broadcast to one");
    }
    shape[i] = std::max(a, b);
  }
  return shape;
}

std::string to_string(const ValueType& type) {
  return std::string(to_string(type.numbers)) + to_string(type.shape);
}

}  // namespace hocket
