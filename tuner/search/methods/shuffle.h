#pragma once

// A random order of 0 … size − 1 that takes no memory: i ↦ (a·i + b) mod size with a coprime to
// size. Immutable; thread-safe.

#include <cstdint>

namespace hocket {

class Shuffle {
 public:
  /// size ≥ 1. The order is chosen by `seed`.
  Shuffle(std::uint64_t size, std::uint64_t seed);

  std::uint64_t size() const { return size_; }

  /// The `index`-th in the order, index < size().
  std::uint64_t operator[](std::uint64_t index) const;

 private:
  std::uint64_t size_, factor_, offset_;
};

}  // namespace hocket
