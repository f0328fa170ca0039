#include "core/sim/jitter.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numbers>

namespace hocket {
namespace {

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA
/// 2014, figure 14).
std::uint64_t mix(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Returns a uniform number in (0, 1).
double uniform(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

/// Returns a standard normal number (Box and Muller).
double normal(std::uint64_t bits) {
  const double radius = std::sqrt(-2 * std::log(uniform(bits)));
  return radius * std::cos(2 * std::numbers::pi * uniform(mix(bits)));
}

}  // namespace

double jitter_factor(const Jitter& jitter, std::int64_t rank, std::int64_t launch,
                     std::uint32_t index) {
  std::uint64_t bits = mix(jitter.seed);
  for (const std::uint64_t part :
       {static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(launch), std::uint64_t{index}})
    bits = mix(bits ^ part);
  switch (jitter.kind) {
    case JitterKind::none:
      return 1;
    case JitterKind::uniform:
      return std::max(0.0, 1 + jitter.scale * (2 * uniform(bits) - 1));
    case JitterKind::normal:
      return std::max(0.0, 1 + jitter.scale * normal(bits));
    case JitterKind::lognormal:
      return std::exp(jitter.scale * normal(bits));
    case JitterKind::exponential:
      return 1 - jitter.scale * std::log(uniform(bits));
  }
  return 1;
}

}  // namespace hocket
