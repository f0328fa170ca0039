#include "tuner/space/sobol_sequence.h"

#include <boost/random/sobol.hpp>
#include <random>

namespace hocket {
namespace {

double unit_interval(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace

std::vector<UnitPoint> sobol_points(std::size_t dimensions, std::uint64_t first, std::size_t count,
                                    std::uint64_t seed) {
  std::mt19937_64 random(seed);
  UnitPoint shift(dimensions);
  for (double& coordinate : shift) coordinate = unit_interval(random());

  boost::random::sobol sequence(dimensions);
  sequence.discard(first * dimensions);
  std::vector<UnitPoint> points(count, UnitPoint(dimensions));
  for (auto& point : points) {
    for (std::size_t i = 0; i < dimensions; ++i) {
      const double sum = unit_interval(sequence()) + shift[i];
      point[i] = sum < 1 ? sum : sum - 1;
    }
  }
  return points;
}

}  // namespace hocket
