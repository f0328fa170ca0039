#pragma once

// Elements of the prime field of 2^61 − 1: numbers whose sums and products are exact, so that they
// are the same in any order. Two polynomials that are equal have the same values, bit for bit; two
// that are not have the same at a random point with a chance of their degree in 2^61 (Schwartz,
// 1980). Plain values; any thread.

#include <bit>
#include <compare>
#include <cstdint>
#include <limits>

#include "core/base/check.h"

namespace hocket {

class Residue {
 public:
  static constexpr std::uint64_t kModulus = (std::uint64_t{1} << 61) - 1;

  constexpr Residue() = default;
  /// The element m · 2^e for a number m · 2^e: exact, also for fractions. Formulas mix residues
  /// with numbers, as they mix doubles. Requires a finite number.
  constexpr Residue(double value) : Residue(of(value)) {}

  /// Returns the element of a whole number.
  static constexpr Residue of_word(std::uint64_t word) {
    Residue result;
    result.value_ = reduced((word & kModulus) + (word >> 61));
    return result;
  }

  /// Returns the number from 0 to 2^61 − 2 that the element is.
  constexpr std::uint64_t value() const { return value_; }
  /// Returns the number from −2^60 + 1 to 2^60 − 1 that the element is: a whole number of fewer
  /// bits comes back as it was.
  constexpr std::int64_t whole() const {
    const auto value = static_cast<std::int64_t>(value_);
    return value_ > kModulus / 2 ? value - static_cast<std::int64_t>(kModulus) : value;
  }

  friend constexpr Residue operator+(Residue a, Residue b) {
    return from_reduced(reduced(a.value_ + b.value_));
  }
  friend constexpr Residue operator-(Residue a, Residue b) {
    return from_reduced(reduced(a.value_ + kModulus - b.value_));
  }
  friend constexpr Residue operator-(Residue a) { return Residue() - a; }
  friend constexpr Residue operator*(Residue a, Residue b) {
    const Wide product = Wide{a.value_} * b.value_;
    return from_reduced(reduced((static_cast<std::uint64_t>(product) & kModulus) +
                                static_cast<std::uint64_t>(product >> 61)));
  }
  /// Division by 0 gives 0.
  friend constexpr Residue operator/(Residue a, Residue b) { return a * b.inverse(); }
  constexpr Residue& operator+=(Residue other) { return *this = *this + other; }
  constexpr Residue& operator*=(Residue other) { return *this = *this * other; }

  constexpr Residue power(std::uint64_t exponent) const {
    Residue result(1), square = *this;
    for (; exponent != 0; exponent >>= 1, square *= square)
      if ((exponent & 1) != 0) result *= square;
    return result;
  }
  /// Returns the element that this one times it is 1; 0 for 0. By Fermat's little theorem.
  constexpr Residue inverse() const { return power(kModulus - 2); }

  friend constexpr bool operator==(Residue, Residue) = default;
  /// The order of whole(), an order that sums and products do not keep.
  friend constexpr std::strong_ordering operator<=>(Residue a, Residue b) {
    return a.whole() <=> b.whole();
  }

 private:
  __extension__ using Wide = unsigned __int128;

  /// Requires less than 2 · kModulus.
  static constexpr std::uint64_t reduced(std::uint64_t sum) {
    return sum >= kModulus ? sum - kModulus : sum;
  }
  static constexpr Residue from_reduced(std::uint64_t value) {
    Residue result;
    result.value_ = value;
    return result;
  }

  static constexpr Residue of(double value) {
    static_assert(std::numeric_limits<double>::is_iec559);
    constexpr int kFractionBits = 52, kBias = 1023 + kFractionBits, kInfinite = 0x7ff;
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const int exponent = static_cast<int>(bits >> kFractionBits) & kInfinite;
    HOCKET_CHECK(exponent != kInfinite, "a residue is made of a finite number");
    constexpr std::uint64_t kOne = std::uint64_t{1} << kFractionBits;
    const std::uint64_t digits = (bits & (kOne - 1)) | (exponent == 0 ? 0 : kOne);
    // 2^61 is 1, so a power of two turns the 61 bits around. The bias and more are a multiple of
    // it.
    constexpr int kTurns = 61 * 18;
    const int shift = ((exponent == 0 ? 1 : exponent) - kBias + kTurns) % 61;
    const std::uint64_t turned = ((digits << shift) & kModulus) | (digits >> (61 - shift));
    const Residue magnitude = from_reduced(reduced(turned));
    return (bits >> 63) != 0 ? -magnitude : magnitude;
  }

  std::uint64_t value_ = 0;  ///< below kModulus
};

}  // namespace hocket
