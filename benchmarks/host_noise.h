#pragma once

// Iteration times of a job under the noise of hosts, in virtual time and without a daemon: each
// kind is correlated from step to step in a way of its own. Deterministic. One thread.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <string>

namespace hocket {

enum class NoiseKind {
  independent,  ///< 5 % of an iteration
  wandering,    ///< AR(1) with a memory of 30 steps, 8 % wide, and 3 % of an iteration
  slow,         ///< AR(1) with a memory of 500 steps, 6 % wide, and 3 % of an iteration
  bursts,       ///< 5 to 40 steps that take 1.6 times as long, once in 100 steps, and 3 %
  stragglers,   ///< one iteration in twenty takes up to three times as long, and 3 %
  periodic,     ///< every 25th takes half as long again, a wave of 10 % over 90 steps, and 2 %
  quiet,        ///< 1 % of an iteration
};

inline constexpr std::array kHostNoise = {NoiseKind::independent, NoiseKind::wandering,
                                          NoiseKind::slow,        NoiseKind::bursts,
                                          NoiseKind::stragglers,  NoiseKind::periodic};

inline std::string to_string(NoiseKind kind) {
  constexpr std::array kNames = {"independent", "wandering", "slow", "bursts",
                                 "stragglers",  "periodic",  "quiet"};
  return kNames[static_cast<std::size_t>(kind)];
}

class HostNoise {
 public:
  HostNoise(NoiseKind kind, std::uint64_t seed) : kind_(kind), random_(seed) {}

  /// Returns the next iteration's time relative to that of a job without noise.
  double operator()() {
    ++step_;
    return std::max(0.3, draw());
  }

 private:
  double normal(double mean, double deviation) {
    return std::normal_distribution<>(mean, deviation)(random_);
  }
  bool chance(double share) { return std::bernoulli_distribution(share)(random_); }

  double draw() {
    switch (kind_) {
      case NoiseKind::independent:
        return normal(1, 0.05);
      case NoiseKind::wandering:
        level_ = 0.97 * level_ + normal(0, 0.02);
        return 1 + level_ + normal(0, 0.03);
      case NoiseKind::slow:
        level_ = 0.998 * level_ + normal(0, 0.004);
        return 1 + level_ + normal(0, 0.03);
      case NoiseKind::bursts:
        if (burst_ == 0 && chance(0.01)) burst_ = std::uniform_int_distribution(5, 40)(random_);
        burst_ = std::max(0, burst_ - 1);
        return normal(1, 0.03) * (burst_ > 0 ? 1.6 : 1);
      case NoiseKind::stragglers:
        return normal(1, 0.03) *
               (chance(0.05) ? std::uniform_real_distribution(1.0, 3.0)(random_) : 1);
      case NoiseKind::periodic:
        return normal(1, 0.02) * (step_ % 25 == 0 ? 1.5 : 1) *
               (1 + 0.1 * std::sin(2 * std::numbers::pi * step_ / 90));
      case NoiseKind::quiet:
        break;
    }
    return normal(1, 0.01);
  }

  NoiseKind kind_;
  std::mt19937_64 random_;
  double level_ = 0;
  int burst_ = 0;
  int step_ = 0;
};

}  // namespace hocket
