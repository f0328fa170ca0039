#pragma once

// Detects drift: iterations under an unchanged configuration take a different time than before, for
// example because of other load on the link, another machine, or another job on the same machine.
// Pure; one thread.
//
// The noise of a host is correlated: it wanders for hundreds of iterations, and comes in bursts. So
// iterations are not compared as if they were independent. What windows of them differ by without a
// drift is measured:
// - The level of a window is the kDriftQuantile quantile of the logarithms of its times. Bursts
//   lengthen iterations, so a low quantile moves only when nearly all iterations do.
// - After each kDriftBlock iterations the level of the last kDriftWindow is compared with that of
//   the 1, 2, 4 and 8 windows before it. All such differences since the job began, except the
//   latest, which a drift would have changed, measure the noise at this time scale, with whatever
//   correlation it has (batch means: Law and Carson, Operations Research 1979). The reference whose
//   differences have been smallest is used: a long one where the level returns to its mean, a short
//   one where it wanders.
// - The edge is the largest difference between the medians of kDriftEdge iterations before and
//   after a place, near the beginning of the last window. A drift often begins at once, which noise
//   that wanders does not. Its noise is measured at all places in the same way.
// - Level and edge are standardised: the normal quantile of their probability by Student's t, with
//   the root mean square of what was measured as its scale. Until there is enough of it, the scale
//   is mostly kUsualScale, as if kUsualWindows had been seen (a conjugate prior of the variance:
//   Gelman et al., Bayesian Data Analysis, section 2.6). The root of the sum of both squares is the
//   evidence; the edge counts at most kMostOfEdge times as much as the level.
// - A difference beyond kDriftShare with more evidence than kDriftEvidence is a drift. For a
//   gradual change under normal noise that is a probability of 6 in 10⁷ at each look.
//   benchmarks/live_verdicts_benchmark.cc prints the rates under several kinds of noise.

#include <array>
#include <cstddef>
#include <deque>
#include <span>
#include <vector>

namespace hocket {

inline constexpr std::size_t kDriftBlock = 20;
inline constexpr std::size_t kDriftWindow = 8 * kDriftBlock;
inline constexpr double kDriftQuantile = 0.2;
inline constexpr double kDriftShare = 0.05;
inline constexpr std::size_t kDriftEdge = 8;
inline constexpr double kDriftEvidence = 5;
inline constexpr double kMostOfEdge = 1.5;

class DriftDetector {
 public:
  /// The first 2 · kDriftWindow iterations, of which `reference_ns` are the first, are compared
  /// with nothing.
  explicit DriftDetector(std::span<const double> reference_ns = {}) { restart(reference_ns); }

  /// Forgets the times, because the configuration is another one, and keeps what is known of the
  /// noise.
  void restart(std::span<const double> reference_ns = {});

  /// Adds an iteration. Returns true if it completes a drift; the last window then becomes the
  /// reference.
  bool add(double iteration_ns);

  /// Returns the level before the last drift, and since then; 0 if there was none.
  double drifted_from_ns() const { return drifted_from_ns_; }
  double drifted_to_ns() const { return drifted_to_ns_; }

  /// Returns the level of the last kDriftWindow iterations since the configuration changed; 0 while
  /// there are fewer.
  double level_ns() const;

  /// Returns the relative change that is a drift now if it is gradual.
  double needed_share() const;

 private:
  /// Differences measured so far.
  struct Noise {
    double squares = 0, windows = 0;  ///< sum of squares, and the number of windows they stand for
    std::deque<double> latest = {};   ///< of the last window, not in the sum yet

    double scale() const;
    double needed(double evidence) const;
    double evidence(double difference) const;
    void pass();
  };
  static constexpr std::array<std::size_t, 4> kReferences = {1, 2, 4, 8};
  static constexpr double kUsualScale = 0.04, kUsualWindows = 10;

  bool look();
  double step_at(std::size_t place) const;
  double edge(std::size_t begin, double direction) const;

  std::deque<double> logs_;  // at most the last window and the longest reference
  std::size_t in_block_ = 0;
  std::array<Noise, kReferences.size()> noise_;
  Noise edges_;
  double drifted_from_ns_ = 0, drifted_to_ns_ = 0;
};

}  // namespace hocket
