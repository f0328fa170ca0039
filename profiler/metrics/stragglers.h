#pragma once

// Which ranks of a synchronous job the others wait for, how regularly, and in which part of the
// step they fall behind. docs/guides/stragglers.md explains the tests. Pure.
//
// A rank that comes last to collectives waits in none of them. So a rank's lateness in a step is
// the time that the other ranks waited, at their median, beyond the time that it waited itself. All
// ranks' steps take equally long, so the late rank spent just that time on something else: its
// parts of the step say on what.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// The time of a part of a step that is not known.
inline constexpr double kUnknownNs = -1;

/// The parts of one rank's time in one step; each 0 or above, or kUnknownNs.
struct RankStep {
  /// Time in which it waited in collectives for later ranks and computed nothing.
  double blocked_ns = kUnknownNs;
  double compute_ns = kUnknownNs;  ///< time in which something was computed
  double transfer_ns =
      kUnknownNs;               ///< rest of the time in collectives in which nothing was computed
  double copy_ns = kUnknownNs;  ///< copies, beside no computation
  double data_ns = kUnknownNs;  ///< time before the step's first task in which nothing ran
  double host_ns = kUnknownNs;  ///< other time in which nothing ran or nothing was submitted

  bool operator==(const RankStep&) const = default;
};

/// All ranks in the same step; steps in which a rank's blocked_ns is not known do not count.
struct JobStep {
  std::int64_t step = 0;
  std::vector<RankStep> ranks;  ///< in the order of StragglerInput::ranks

  bool operator==(const JobStep&) const = default;
};

/// Times at which the members of a collective's group came to it.
struct ComparedArrivals {
  std::size_t place = 0;  ///< index into StragglerInput::places
  std::int64_t step = 0;
  /// Index of a member into StragglerInput::ranks, and its begin after the first member's.
  struct Late {
    std::size_t rank = 0;
    double late_ns = 0;

    bool operator==(const Late&) const = default;
  };
  std::vector<Late> members;

  bool operator==(const ComparedArrivals&) const = default;
};

/// A collective that each step has.
struct CollectivePlace {
  std::string name, group;    ///< group: empty for all ranks
  std::int64_t position = 0;  ///< among the group's collectives of a step, from 0

  bool operator==(const CollectivePlace&) const = default;
};

struct StragglerInput {
  std::vector<std::int64_t> ranks;
  std::vector<JobStep> steps;  ///< by step
  double iteration_ns = 0;     ///< the usual time of an iteration
  double residual_ns = 0;      ///< bound on the error of comparisons between ranks
  std::vector<CollectivePlace> places;
  std::vector<ComparedArrivals> arrivals;
  /// Messages, and collectives between ranks that messages connect: none of them is in `arrivals`.
  std::int64_t messages = 0, collectives_of_connected = 0;
  /// Records of sends and receives whose two ranks no trace tells.
  std::int64_t unknown_messages = 0;
};

enum class StragglerPattern {
  none,        ///< no verdict
  persistent,  ///< late in most steps
  growing,     ///< later and later over the steps
  shrinking,   ///< less and less late
  periodic,    ///< late in some steps, at even distances
  bursts       ///< late in some steps
};

enum class StragglerCause {
  unknown,      ///< no part of the step explains most of it
  computation,  ///< the rank's computation takes longer
  host,         ///< the rank's work is submitted late
  data,         ///< the rank's steps begin late: it waits for input
  link,         ///< the rank's transfers take longer
  copies        ///< the rank's copies take longer
};

enum class StragglerVerdict {
  too_few,      ///< fewer steps or ranks than a verdict needs
  none,         ///< nobody waits for long
  late_ranks,   ///< some ranks are to blame
  uneven,       ///< most ranks wait for few that are never last alone
  alternating,  ///< ranks are late in turns
};

/// Mean time of its late steps that a rank spent on a part of the step beyond the median of the
/// others; nothing where it is not known.
struct StragglerParts {
  std::optional<double> compute_ns, host_ns, data_ns, transfer_ns, copy_ns;

  bool operator==(const StragglerParts&) const = default;
};

struct StragglerRank {
  std::int64_t rank = 0;
  double last_share = 0;  ///< share of the steps in which no other rank is as late
  double late_share = 0;  ///< share of the steps in which it is late by Stragglers::least_ns
  /// Mean over the steps of the time that the others waited for it.
  double kept_waiting_ns = 0;
  double late_median_ns = 0, late_p95_ns = 0;  ///< lateness in a step; below 0: it waits more
  StragglerPattern pattern = StragglerPattern::none;
  StragglerCause cause = StragglerCause::unknown;
  /// Probability of what is seen, or more, if no rank were to blame, corrected for the number of
  /// tests; 1 without a verdict.
  double chance = 1;
  double change_ns = 0;     ///< growing or shrinking lateness: change over all steps
  std::int64_t period = 0;  ///< periodic lateness: steps from one late step to the next
  StragglerParts excess = {};

  bool operator==(const StragglerRank&) const = default;
};

/// A collective over all steps.
struct StragglerPlace {
  CollectivePlace place = {};
  std::int64_t count = 0;
  std::int64_t last_rank = 0;  ///< the rank that came last most often
  double last_share = 0;       ///< share of the collectives in which it came last
  /// The lateness of the last rank after the first one, and after the one before it.
  double skew_median_ns = 0, skew_p95_ns = 0;
  double alone_median_ns = 0, alone_p95_ns = 0;

  bool operator==(const StragglerPlace&) const = default;
};

struct Stragglers {
  StragglerVerdict verdict = StragglerVerdict::too_few;
  std::int64_t steps = 0;
  double iteration_ns = 0;
  /// Mean over steps and ranks of the time blocked in collectives.
  double blocked_ns = 0;
  /// Lateness below which nobody is blamed.
  double least_ns = 0;
  std::vector<StragglerRank> ranks;    ///< in the order of the input
  std::vector<StragglerPlace> places;  ///< the largest skew first
};

/// Probability with which any rank is blamed where none is to blame, at most.
inline constexpr double kStragglerError = 0.01;
/// Share of the iteration time below which no rank is blamed.
inline constexpr double kLeastStragglerShare = 0.01;
/// Steps below which there is no verdict.
inline constexpr std::int64_t kFewestStragglerSteps = 4;

/// Finds the stragglers, in O(steps² · ranks), for which long inputs are thinned out.
Stragglers find_stragglers(const StragglerInput& input);

/// Returns "high" or "moderate", by the chance of a verdict; "none" without one.
std::string_view confidence_of(const StragglerRank& rank);

std::string_view to_string(StragglerPattern pattern);
std::string_view to_string(StragglerCause cause);
std::string_view to_string(StragglerVerdict verdict);
nlohmann::json to_json(const Stragglers& stragglers);

}  // namespace hocket
