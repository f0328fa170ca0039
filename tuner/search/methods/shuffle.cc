#include "tuner/search/methods/shuffle.h"

#include <numeric>
#include <random>

namespace hocket {
namespace {

__extension__ using Wide = unsigned __int128;

}  // namespace

Shuffle::Shuffle(std::uint64_t size, std::uint64_t seed) : size_(size) {
  std::mt19937_64 random(seed);
  offset_ = random() % size;
  do {
    factor_ = random() % size;
  } while (std::gcd(factor_, size) != 1);
}

std::uint64_t Shuffle::operator[](std::uint64_t index) const {
  return static_cast<std::uint64_t>((Wide{factor_} * index + offset_) % size_);
}

}  // namespace hocket
