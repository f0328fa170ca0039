#pragma once

// Values that parameters have before the first step. They are drawn by a generator that is a
// function of the seed, the parameter's name and the number's place (core/random/philox.h), so any
// rank draws any part of any parameter by itself. Pure; any thread.

#include <cstdint>
#include <span>
#include <string_view>

namespace hocket {

enum class DistributionKind { zeros, ones, normal };

struct Distribution {
  DistributionKind kind = DistributionKind::zeros;
  double deviation = 0;  ///< of a normal distribution, whose mean is 0

  bool operator==(const Distribution&) const = default;
};

constexpr Distribution normal(double deviation) {
  return {DistributionKind::normal, deviation};
}

/// Sets `values` to the numbers from place `first` on of the parameter `name`, in the order of its
/// dimensions, innermost last. Those of a normal distribution are sums of sixteen uniform ones
/// (central limit theorem), within 6.93 deviations: sums of whole numbers are the same everywhere,
/// whereas the usual transforms depend on the last digit of a math library's logarithm.
void draw_initial(const Distribution& distribution, std::uint64_t seed, std::string_view name,
                  std::int64_t first, std::span<float> values);

}  // namespace hocket
