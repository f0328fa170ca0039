#pragma once

// The state of an optimiser that a parameter server keeps for the parameters whose gradients it
// sums: moments by tensor and offset. A tensor may be cut into other parts in each step. One thread
// at a time, except that moments which were taken may be used by any thread until they are given
// back.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// Consecutive values of a tensor on a server.
struct TensorRange {
  std::uint32_t tensor = 0;
  std::size_t offset = 0, values = 0;

  bool operator==(const TensorRange&) const = default;
};

class OptimizerState {
 public:
  static constexpr int kMostMoments = 2;

  /// The moments of `values` values from `begin` of a range on.
  struct Piece {
    std::size_t begin = 0, values = 0;
    std::array<std::span<float>, kMostMoments> moments = {};
  };

  /// Returns the memory that take() would allocate.
  std::size_t missing_bytes(const TensorRange& range, int moments) const;

  /// Returns the moments of a range in pieces, in order; those that were never taken are 0.
  /// invalid_argument if some of the range is taken already; unavailable if there is no memory.
  Result<std::vector<Piece>> take(const TensorRange& range, int moments);
  void give(const TensorRange& range);

  std::size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  using Moment = std::unique_ptr<float[], Free>;
  /// The values of a part of the step in which they were first updated.
  struct Segment {
    std::size_t values = 0;
    std::array<Moment, kMostMoments> moments = {};
  };
  using Segments = std::map<std::pair<std::uint32_t, std::size_t>, Segment>;  ///< tensor, offset
  /// A stretch of a range that lies in one segment, or in none.
  struct Stretch {
    std::size_t offset = 0, values = 0;
    Segments::const_iterator segment;
  };

  Stretch stretch_at(const TensorRange& range, std::size_t offset) const;
  std::vector<Stretch> stretches(const TensorRange& range) const;

  Segments segments_;
  std::vector<TensorRange> taken_;
  std::size_t bytes_ = 0;
};

}  // namespace hocket
