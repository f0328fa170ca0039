#pragma once

// Detects drift: iterations under an unchanged configuration take a different time than before, for
// example because of other load on the link, another machine, or another job on the same machine.
// Pure; one thread.
//
// Rule: iterations are examined in blocks of kDriftBlock. A block is outside if its median differs
// from the reference's by more than kDriftShare and the rank-sum test (core/base/rank_sum.h)
// rejects at level kDriftLevel that its values have the reference's distribution. Two consecutive
// blocks outside on the same side are a drift; a single one is ignored. Among blocks distributed
// like the reference, one pair in 10⁶ is mistaken for a drift.

#include <cstddef>
#include <span>
#include <vector>

namespace hocket {

inline constexpr std::size_t kDriftBlock = 10;
inline constexpr double kDriftShare = 0.05;
inline constexpr double kDriftLevel = 0.001;

class DriftDetector {
 public:
  /// Without a reference, the first two blocks become the reference.
  explicit DriftDetector(std::vector<double> reference_ns = {});

  /// Adds an iteration. Returns true if it completes a drift; the two blocks of the drift then
  /// become the reference.
  bool add(double iteration_ns);

  /// Returns the reference's median; 0 if there is no reference yet.
  double reference_ns() const;

  /// Returns the median of the two blocks of the last drift; 0 if there was none.
  double drifted_to_ns() const { return drifted_to_ns_; }

 private:
  /// Returns −1 if the block is below the band, 1 if above, 0 if within.
  int side_of(const std::vector<double>& block) const;

  std::vector<double> reference_, block_, outside_;
  int outside_side_ = 0;
  double drifted_to_ns_ = 0;
};

}  // namespace hocket
