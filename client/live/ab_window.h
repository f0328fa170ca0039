#pragma once

// A/B window: measures a candidate against the current configuration while a job trains. Blocks of
// iterations alternate as current, candidate, candidate, current, current, …, so that slow drift
// affects both sides equally. The last iterations before the window are the first block. A pure
// state machine, fed with measurements. Not thread-safe.
//
// A block has a fixed number of iterations and excludes the first ones after a switch. Further
// iterations that run until a switch takes effect count in the comparison of single iterations but
// belong to no block. After each pair of blocks from the second on, a configuration is faster if
// both hold:
// - all its iterations are faster by the rank-sum test (core/base/rank_sum.h), at a level shared by
// all
//   looks (look_level() in core/protocol/promotion_rule.h), so the noise of single iterations does
//   not explain it;
// - the medians of its blocks are faster pair by pair, by a bound at 90 % (paired_gain() there), so
//   a slowdown that lasts for some time does not explain it either.
// The window ends undecided as soon as the gain so far, if it stays the same, would still be within
// the noise after the last pair (stochastic curtailment under the current trend: Lan, Simon and
// Halperin, Sequential Analysis 1982). A wrong early end keeps the configuration that an undecided
// window keeps (keep_undecided).
//
// The guard ends the window early when the candidate is slower than the noise explains: by the
// rank-sum test against the last iterations of the current configuration, after 2, 4, 8, …
// iterations of the candidate. Look k has the level guard_level / 2^k, so all looks of a window
// together drop an equally fast candidate in less than guard_level of cases (Bonferroni). A single
// iteration longer than longest_ns also ends the window, even one that is excluded from the blocks.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hocket {

struct AbWindowOptions {
  int block_iterations = 4;
  int dropped_iterations = 1;  ///< dropped after each switch
  int most_pairs = 6;
  double guard_level = 0.1;
  /// True if a candidate that is neither faster nor slower beyond the noise is kept.
  bool keep_undecided = false;
  /// A candidate's iteration longer than this ends the window.
  std::int64_t longest_ns = std::numeric_limits<std::int64_t>::max();
};

enum class AbSide { current, candidate };

struct AbWindowVerdict {
  bool keep = false;
  /// The candidate is not kept, is slower beyond the noise, and must not be tried again.
  bool slower = false;
  /// Explanation for the user: "7.2 % faster", "slower by 12.0 %".
  std::string reason;
};

class AbWindow {
 public:
  /// `before_ns`: the latest iterations under the current configuration, in order. Requires at
  /// least kFewestBefore and at least block_iterations of them.
  AbWindow(const AbWindowOptions& options, std::span<const std::int64_t> before_ns);

  /// Adds the next iteration, which ran with `side`. `under_way`: number of further iterations that
  /// would still run with the same side if a switch was requested now. Does nothing once there is a
  /// verdict.
  void add(AbSide side, std::int64_t iteration_ns, int under_way = 0);

  /// Returns the side to run next. After the verdict, the side that the verdict chose.
  AbSide next() const;
  const std::optional<AbWindowVerdict>& verdict() const { return verdict_; }

  /// Iterations measured within the window so far, in order.
  const std::vector<std::int64_t>& current_ns() const { return measured_[0]; }
  const std::vector<std::int64_t>& candidate_ns() const { return measured_[1]; }

  /// Number of the current configuration's iterations the guard uses: fewer are not conclusive,
  /// older ones are outdated.
  static constexpr std::size_t kFewestBefore = 6, kMostRecent = 24;

 private:
  /// Returns the side of block `index`.
  static AbSide side_of(std::size_t index) {
    return index % 4 == 1 || index % 4 == 2 ? AbSide::candidate : AbSide::current;
  }
  void measured(AbSide side, std::int64_t iteration_ns);
  void close_block();
  void guard();
  void judge();
  void end(bool keep, bool slower, const std::string& reason) {
    verdict_ = AbWindowVerdict{keep, slower, reason};
  }

  AbWindowOptions options_;
  std::size_t blocks_ = 0;         // number of closed blocks
  std::vector<double> block_;      // iterations of the open block
  std::optional<AbSide> running_;  // side of the last iteration
  int since_switch_ = 0;
  int under_way_ = 0;
  std::deque<double> recent_current_;  // at most kMostRecent
  std::vector<double> candidate_;
  std::vector<double> medians_[2];  // medians of the closed blocks, by side
  std::vector<std::int64_t> measured_[2];
  std::optional<AbWindowVerdict> verdict_;
};

}  // namespace hocket
