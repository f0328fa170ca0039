#pragma once

// A/B window: measures a candidate against the current configuration while a job trains. A pure
// state machine, fed with measurements. Not thread-safe.
//
// The noise of a host is correlated: it wanders over many iterations, and comes in bursts. So
// blocks of a few iterations alternate, and iterations are compared only with those next to them.
// Four blocks are a group, in the order current, candidate, candidate, current or the reverse; a
// coin decides which, except for the first group, which begins with the last iterations before the
// window. What a group says is one number, its gain: the mean of the logarithms of the current
// configuration's blocks minus that of the candidate's. A slow change cancels out, and as the coin
// knows nothing of the noise, the gain of an equal candidate is as likely to be above 0 as below,
// whatever the correlation is (Fisher, The Design of Experiments, 1935, chapter III; switchback
// experiments: Bojinov, Simchi-Levi and Zhao, Management Science 2023). Groups are so far apart
// that their gains are hardly correlated.
//
// A block has block_iterations, without the first ones after a switch. Iterations that run until a
// switch takes effect belong to it, too.
//
// Looks take place after the numbers of groups in kLooks. The candidate is faster or slower if the
// trimmed mean of the gains differs from 0 by Student's t (Tukey and McLaughlin, Sankhya A 1963;
// Yuen, Biometrika 1974); a fifth is trimmed at each end, so a burst that begins or ends within a
// group does not count. The error is at least the one which the scatter within blocks implies. All
// looks have one level (Pocock, Biometrika 1977), as in core/protocol/promotion_rule.h, such that a
// whole search of kCandidates equal candidates keeps one in at most kSearchError of cases, and
// drops one as slower in at most as many (Bonferroni).
//
// Few groups tell little of how much their gains scatter. So what the windows before measured of it
// counts, too, as the prior of a variance (Gelman et al., Bayesian Data Analysis, section 2.6). The
// first window has what the iterations before it say, cut into groups without a candidate.
//
// The window ends undecided after the last look, after most_iterations (where a switch takes effect
// many iterations later, a group has many), after usual_iterations unless its gain, if it stays the
// same, is beyond the noise after half as many groups again, or once the upper bound of the gain,
// at kHopeConfidence, is below kLeastGain, or would be within the noise after the last look
// (stochastic curtailment: Lan, Simon and Halperin, Sequential Analysis 1982). So a window is not
// longer where the noise is larger: it then finds larger gains alone. An undecided candidate is
// kept if keep_undecided; then the bound is that of the loss.
//
// The guard limits the cost of a slow candidate. When all iterations of its block take kSuspect
// times the usual, the current configuration runs again at once. It was slow only if the
// current configuration's iterations on both sides are faster, each of them, so that a burst of
// the host does not explain it: by kSlowAtOnce in the first block, or by kSuspect in two blocks,
// one after the other. An iteration longer than longest_ns ends the window.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace hocket {

struct AbWindowOptions {
  int block_iterations = 2;
  int dropped_iterations = 1;  ///< dropped after each switch
  /// At the end of a group by which so many iterations were measured, the window ends.
  std::size_t most_iterations = 500;
  /// Likewise, unless it is about to be decided.
  std::size_t usual_iterations = 500;
  /// True if a candidate that is neither faster nor slower beyond the noise is kept.
  bool keep_undecided = false;
  /// A candidate's iteration longer than this ends the window.
  std::int64_t longest_ns = std::numeric_limits<std::int64_t>::max();
  /// The job's noise, as the windows before measured it.
  std::vector<double> noise = {};
  /// Seed of the coin.
  std::uint64_t seed = 1;
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

  /// Returns the noise for the job's next window: by how much the gains of groups, the latest last,
  /// differed from their window's.
  std::vector<double> noise() const;

  /// Returns the same of iterations in a row under one configuration, without a window.
  static std::vector<double> noise_of(std::span<const std::int64_t> iterations_ns,
                                      int block_iterations);

  /// Number of the current configuration's iterations before a window: fewer are not conclusive,
  /// older ones are outdated.
  static constexpr std::size_t kFewestBefore = 6, kMostRecent = 24;
  /// Candidates of one search, and the share of searches of equal ones that may err in each
  /// direction.
  static constexpr double kCandidates = 30, kSearchError = 0.05;
  /// Numbers of groups after which the window looks.
  static constexpr std::array<std::size_t, 9> kLooks = {2, 3, 4, 6, 8, 12, 16, 24, 32};

 private:
  struct Group {
    std::vector<AbSide> order;                     ///< of its blocks
    std::vector<std::vector<double>> blocks = {};  ///< logarithms of iterations
  };
  struct Gain {
    double mean = 0, error = 0, degrees = 0;
  };

  static std::vector<AbSide> order_of(bool is_reverse);
  AbSide side_of_open() const { return groups_[group_].order[block_]; }
  void measured(AbSide side, double log);
  void close_block();
  void guard(AbSide side, double log);
  void leave_candidate();
  void compare_visit();
  void judge(bool is_last, bool is_long);
  std::vector<double> gains() const;
  Gain gain() const;
  double error_within_blocks() const;
  void end(bool keep, bool slower, const std::string& reason) {
    verdict_ = AbWindowVerdict{keep, slower, reason};
  }

  AbWindowOptions options_;
  std::vector<Group> groups_;          // all that the last look needs
  std::size_t group_ = 0, block_ = 0;  // the open block
  std::optional<AbSide> running_;      // side of the last iteration
  int since_switch_ = 0;
  int under_way_ = 0;
  std::deque<double> recent_current_;  // logarithms, at most kMostRecent
  std::vector<std::int64_t> measured_[2];
  // The guard's: logarithms of the candidate's iterations since it last began to run, of the
  // current configuration's just before, and since then.
  std::vector<double> visit_, before_visit_, after_visit_;
  int visits_ = 0, slow_visits_ = 0;  // slow ones: one after the other
  bool is_long_ = false;              ///< usual_iterations were measured
  bool is_suspect_ = false;  ///< the candidate's last block was slow, and is not compared yet
  std::optional<AbWindowVerdict> verdict_;
};

}  // namespace hocket
