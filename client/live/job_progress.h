#pragma once

// A job's state while it is tuned, for its own output: the time of an iteration, the share of it in
// which communication is exposed, the rank that is late, and what the tuning has come to. Pure.

#include <cstdint>
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "core/protocol/rank_counters.h"

namespace hocket {

/// The causes of the ranks' waiting.
struct Waiting {
  /// Time of an iteration in which communication is under way and nothing is computed, on the rank
  /// that waits least: the others also wait for that rank.
  double exposed_ns = 0;
  /// The rank that the others wait for, if it is late in most iterations, and for how long.
  std::optional<std::int64_t> late_rank = {};
  double late_ns = 0;

  bool operator==(const Waiting&) const = default;
};

/// Fewest counted entries from which anything is said.
inline constexpr std::size_t kFewestCountedSteps = 10;
/// A rank is late in an iteration where the others, at their median, wait longer than it by this
/// share of the iteration.
inline constexpr double kLateShare = 0.05;

/// Returns what `counted` says, whose ranks' times are of iterations that take `iteration_ns`.
/// Nothing where there are too few entries, or where one does not have every rank's waiting.
std::optional<Waiting> waiting_of(const std::deque<CountedSteps>& counted, double iteration_ns);

struct JobProgress {
  std::int64_t step = 0;
  double iteration_ns = 0;  ///< median of the latest iterations with the present configuration
  std::optional<Waiting> waiting = {};
  double explored = 0;  ///< share of the time that trying has cost
  int tried = 0, kept = 0;

  bool operator==(const JobProgress&) const = default;
};

/// Returns it as hocket_client_progress does (capi/hocket_client.h).
nlohmann::json to_json(const JobProgress& progress);

}  // namespace hocket
