#include "core/collective/value_span.h"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

namespace hocket {
namespace {

/// Elements that are added up at a time, so that the float32 sums stay in the nearest cache.
constexpr std::size_t kBlock = 2048;

/// The arithmetic type of an element.
template <ElementType type>
using Number = std::conditional_t<
    type == ElementType::float32, float,
    std::conditional_t<type == ElementType::bfloat16, Eigen::bfloat16, Eigen::half>>;

template <class T>
auto numbers(ValueSpan values, std::size_t begin, std::size_t count) {
  return Eigen::Map<Eigen::ArrayX<T>>(static_cast<T*>(values.data()) + begin,
                                      static_cast<Eigen::Index>(count));
}

template <class T>
void add_up_numbers(std::span<const ValueSpan> summands, ValueSpan sum) {
  std::array<float, kBlock> memory;
  for (std::size_t begin = 0; begin < sum.size(); begin += kBlock) {
    const std::size_t count = std::min(kBlock, sum.size() - begin);
    Eigen::Map<Eigen::ArrayXf> total(memory.data(), static_cast<Eigen::Index>(count));
    total = numbers<T>(summands.front(), begin, count).template cast<float>();
    for (const ValueSpan& summand : summands.subspan(1))
      total += numbers<T>(summand, begin, count).template cast<float>();
    numbers<T>(sum, begin, count) = total.cast<T>();
  }
}

/// Calls body.operator()<T>() for the arithmetic type of `type`.
void with_numbers(ElementType type, const auto& body) {
  switch (type) {
    case ElementType::float32:
      return body.template operator()<Number<ElementType::float32>>();
    case ElementType::bfloat16:
      return body.template operator()<Number<ElementType::bfloat16>>();
    case ElementType::float16:
      return body.template operator()<Number<ElementType::float16>>();
  }
}

}  // namespace

void copy(ValueSpan from, ValueSpan to) {
  HOCKET_CHECK(from.type() == to.type() && from.size() == to.size(), "alike values");
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size_bytes());
}

void add_up(std::span<const ValueSpan> summands, ValueSpan sum) {
  HOCKET_CHECK(!summands.empty(), "at least one summand");
  for (const ValueSpan& summand : summands)
    HOCKET_CHECK(summand.type() == sum.type() && summand.size() == sum.size(), "alike summands");
  with_numbers(sum.type(), [&]<class T>() { add_up_numbers<T>(summands, sum); });
}

void make_undefined(ValueSpan values) {
  with_numbers(values.type(), [&]<class T>() {
    numbers<T>(values, 0, values.size()).setConstant(std::numeric_limits<T>::quiet_NaN());
  });
}

}  // namespace hocket
