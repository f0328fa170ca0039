#pragma once

// A random permutation of 0 … size − 1 in constant memory: i ↦ (a·i + b) mod size with a coprime to
// size. Immutable; thread-safe.

#include <cstdint>

namespace hocket {

class Shuffle {
 public:
  /// Requires size ≥ 1. `seed` selects the permutation.
  Shuffle(std::uint64_t size, std::uint64_t seed);

  std::uint64_t size() const { return size_; }

  /// Returns the `index`-th element, index < size().
  std::uint64_t operator[](std::uint64_t index) const;

 private:
  std::uint64_t size_, factor_, offset_;
};

}  // namespace hocket
