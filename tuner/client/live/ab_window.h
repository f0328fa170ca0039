#pragma once

// Measures a candidate configuration against the current one while a job trains: blocks of
// iterations in turn, current, candidate, candidate, current, current, …, so that what drifts
// slowly hits both alike. The last iterations before the window are the first block. A pure state
// machine, fed by measurements. Not thread-safe.
//
// A block is as many iterations as it is long, without the first ones after a switch; further ones,
// which run until a switch takes effect, are compared, too, but belong to no block. After each pair
// of blocks from the second on, one configuration is faster when both hold:
// - all its iterations are, by the rank-sum test (core/base/rank_sum.h), at a level that all looks
// share
//   (look_level() in core/protocol/promotion_rule.h): the noise of single iterations does not
//   explain it;
// - the medians of its blocks are, pair by pair, by a bound at 90 % (paired_gain() there): so what
//   slows a stretch of the job does not, either.
// And the window ends undecided as soon as the gain so far, were it to stay as it is, would still
// be within the noise after the last pair (stochastic curtailment under the current trend: Lan,
// Simon and Halperin, Sequential Analysis 1982). Who errs there stays with what the job has.
//
// The guard ends the window at once when the candidate is slower than the noise explains: by the
// rank-sum test against the last iterations of the current configuration, after 2, 4, 8, …
// iterations of the candidate, where look k has the level guard_level / 2^k, so that all looks of
// any window together drop an equal candidate in less than guard_level of cases (Bonferroni). And
// at once when a single iteration is longer than longest_ns, even one that is not counted.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hocket {

struct WindowOptions {
  int block_iterations = 4;
  int dropped_iterations = 1;  ///< after each switch
  int most_pairs = 6;
  double guard_level = 0.1;
  /// Whether a candidate that is neither better nor worse beyond the noise is kept.
  bool keep_undecided = false;
  /// A candidate's iteration that takes longer ends the window.
  std::int64_t longest_ns = std::numeric_limits<std::int64_t>::max();
};

enum class Side { current, candidate };

struct WindowVerdict {
  bool keep = false;
  /// Not kept, and slower beyond the noise: not to be tried again.
  bool slower = false;
  /// For people: "7.2 % faster", "slower by 12.0 %".
  std::string reason;
};

class Window {
 public:
  /// `before_ns`: the latest iterations under the current configuration, in order; at least
  /// kFewestBefore and block_iterations.
  Window(const WindowOptions& options, std::span<const std::int64_t> before_ns);

  /// The next iteration, and what it ran with. `under_way` is how many further iterations would run
  /// with the same if a switch was asked for now. Nothing once there is a verdict.
  void add(Side side, std::int64_t iteration_ns, int under_way = 0);

  /// What to run next; the current configuration once there is a verdict against the candidate.
  Side next() const;
  const std::optional<WindowVerdict>& verdict() const { return verdict_; }

  /// Measured so far within the window, in order.
  const std::vector<std::int64_t>& current_ns() const { return measured_[0]; }
  const std::vector<std::int64_t>& candidate_ns() const { return measured_[1]; }

  /// Of the current configuration, for the guard: fewer tell too little, more are too old.
  static constexpr std::size_t kFewestBefore = 6, kMostRecent = 24;

 private:
  /// The side of block `index`.
  static Side side_of(std::size_t index) {
    return index % 4 == 1 || index % 4 == 2 ? Side::candidate : Side::current;
  }
  void measured(Side side, std::int64_t iteration_ns);
  void close_block();
  void guard();
  void judge();
  void end(bool keep, bool slower, const std::string& reason) {
    verdict_ = WindowVerdict{keep, slower, reason};
  }

  WindowOptions options_;
  std::size_t blocks_ = 0;       // closed
  std::vector<double> block_;    // of the open one
  std::optional<Side> running_;  // of the last iteration
  int since_switch_ = 0;
  int under_way_ = 0;
  std::deque<double> recent_current_;  // at most kMostRecent
  std::vector<double> candidate_;
  std::vector<double> medians_[2];  // of the closed blocks, by side
  std::vector<std::int64_t> measured_[2];
  std::optional<WindowVerdict> verdict_;
};

}  // namespace hocket
