#pragma once

// The functions of which the formulas of operations are made, for doubles and for residues. Private
// to core/graph/interpreter. Pure.
//
// Residues have no exponentials, logarithms and angles: theirs are arbitrary functions of the
// argument, of which these laws hold as they do for real numbers:
//  1. exp(0) = 1 and exp(−x) = 1 / exp(x), but not exp(a + b) = exp(a) · exp(b);
//  2. sigmoid(x) = 1 / (1 + exp(−x)) and tanh(x) = 1 − 2 / (1 + exp(2x));
//  3. √(a · b) = √a · √b, and √(a · a) = a for a = 2^n, but (√a)² is a or −a;
//  4. cos² + sin² = 1, and backwards turns what an angle has turned;
//  5. powers with whole exponents are products.

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/graph/interpreter/residue.h"

namespace hocket {

/// The cosine and the sine of an angle.
template <class T>
struct Turn {
  T cosine, sine;
};

inline double exponential_of(double x) {
  return std::exp(x);
}
inline double logarithm_of(double x) {
  return std::log(x);
}
inline double root_of(double x) {
  return std::sqrt(x);
}
inline double tanh_of(double x) {
  return std::tanh(x);
}
inline double sigmoid_of(double x) {
  // No exponential of a large number, which would be infinite.
  const double e = std::exp(-std::abs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}
inline double power_of(double x, std::int64_t exponent) {
  return std::pow(x, static_cast<double>(exponent));
}
inline bool is_number(double x) {
  return !std::isnan(x);
}
inline bool is_finite_number(double x) {
  return std::isfinite(x);
}
inline std::int64_t whole_of(double x) {
  return static_cast<std::int64_t>(x);
}

/// Returns an element other than 0 that looks random, by SplitMix64's finaliser (Steele et al.,
/// 2014).
inline Residue mixed(std::uint64_t function, Residue x) {
  std::uint64_t word = x.value() + function * 0x9e3779b97f4a7c15;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
  word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
  const Residue result = Residue::of_word(word ^ (word >> 31));
  return result == 0 ? 1 : result;
}

inline Residue exponential_of(Residue x) {
  if (x == 0) return 1;
  return x > 0 ? mixed(1, x) : mixed(1, -x).inverse();
}
inline Residue logarithm_of(Residue x) {
  return x == 1 ? 0 : mixed(2, x);
}
/// One of the two square roots of x or −x, whichever has any (Lagrange).
inline Residue root_of(Residue x) {
  return x.power((Residue::kModulus + 1) / 4);
}
inline Residue tanh_of(Residue x) {
  return 1 - 2 / (1 + exponential_of(2 * x));
}
inline Residue sigmoid_of(Residue x) {
  return 1 / (1 + exponential_of(-x));
}
/// Requires an exponent of 0 or more.
inline Residue power_of(Residue x, std::int64_t exponent) {
  return x.power(static_cast<std::uint64_t>(exponent));
}
template <class T>
Turn<T> turn_of(double angle);
template <>
inline Turn<double> turn_of<double>(double angle) {
  return {std::cos(angle), std::sin(angle)};
}
/// The point of the circle with the slope of a random number. No square is −1 in this field.
template <>
inline Turn<Residue> turn_of<Residue>(double angle) {
  if (angle == 0) return {1, 0};
  const Residue magnitude = mixed(3, std::abs(angle)), slope = angle < 0 ? -magnitude : magnitude;
  const Residue scale = 1 / (1 + slope * slope);
  return {(1 - slope * slope) * scale, 2 * slope * scale};
}
inline bool is_number(Residue) {
  return true;
}
inline bool is_finite_number(Residue) {
  return true;
}
inline std::int64_t whole_of(Residue x) {
  return x.whole();
}

/// Returns what is not above any other number.
template <class T>
T least_number();
template <>
inline double least_number<double>() {
  return -std::numeric_limits<double>::infinity();
}
template <>
inline Residue least_number<Residue>() {
  return Residue::of_word(Residue::kModulus / 2 + 1);
}

}  // namespace hocket
