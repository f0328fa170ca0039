#pragma once

// Notices that a configuration no longer takes the time it took: another load on the link, another
// machine, another job beside it. Pure; one thread.
//
// The rule. Iterations are looked at in blocks of kDriftBlock. A block is outside when its median
// differs from the reference's by more than kDriftShare and its values could hardly be of the same
// distribution (rank-sum test, core/base/rank_sum.h, at level kDriftLevel). Two blocks in a row
// outside on the same side are a drift; one is a hiccup. Of blocks like the reference one in 10⁶
// pairs is taken for a drift.

#include <cstddef>
#include <span>
#include <vector>

namespace hocket {

inline constexpr std::size_t kDriftBlock = 10;
inline constexpr double kDriftShare = 0.05;
inline constexpr double kDriftLevel = 0.001;

class DriftDetector {
 public:
  /// Without a reference, the first two blocks are it.
  explicit DriftDetector(std::vector<double> reference_ns = {});

  /// True when this iteration completes a drift. Goes on with what is measured then as reference.
  bool add(double iteration_ns);

  /// Of the reference; 0 while there is none.
  double reference_ns() const;

  /// Of the two blocks that were the last drift; 0 without one.
  double drifted_to_ns() const { return drifted_to_ns_; }

 private:
  /// −1 below, 1 above, 0 within the band.
  int side_of(const std::vector<double>& block) const;

  std::vector<double> reference_, block_, outside_;
  int outside_side_ = 0;
  double drifted_to_ns_ = 0;
};

}  // namespace hocket
