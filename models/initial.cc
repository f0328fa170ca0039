#include "models/initial.h"

#include <algorithm>
#include <array>

#include "core/random/philox.h"

namespace hocket {
namespace {

/// FNV-1a, 64 bits.
std::uint64_t name_hash(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

constexpr std::uint32_t low_word(std::uint64_t bits) {
  return static_cast<std::uint32_t>(bits);
}
constexpr std::uint32_t high_word(std::uint64_t bits) {
  return static_cast<std::uint32_t>(bits >> 32);
}

constexpr std::int64_t kUniforms = 16, kMostOfUniform = 0xffff;
/// 1 / deviation of the sum of sixteen uniform numbers from 0 to 65535: √(16 · (2^32 − 1) / 12).
constexpr double kSumScale = 1.3214498960651507e-05;

}  // namespace

void draw_initial(const Distribution& distribution, std::uint64_t seed, std::string_view name,
                  std::int64_t first, std::span<float> values) {
  if (distribution.kind != DistributionKind::normal) {
    std::ranges::fill(values, distribution.kind == DistributionKind::ones ? 1.0f : 0.0f);
    return;
  }
  const std::array<std::uint32_t, 2> key{low_word(seed), high_word(seed)};
  const std::uint64_t hash = name_hash(name);
  const double scale = distribution.deviation * kSumScale;
  auto place = static_cast<std::uint64_t>(first);
  for (float& value : values) {
    std::int64_t sum = -kUniforms * kMostOfUniform / 2;
    for (std::uint64_t half = 0; half < 2; ++half) {
      const std::uint64_t counter = 2 * place + half;
      const auto words =
          philox({low_word(counter), high_word(counter), low_word(hash), high_word(hash)}, key);
      for (const std::uint32_t word : words) sum += (word & kMostOfUniform) + (word >> 16);
    }
    value = static_cast<float>(static_cast<double>(sum) * scale);
    ++place;
  }
}

}  // namespace hocket
