#pragma once

// Compares the collectives of two profiles: how often, how long, how late, and how much of them no
// computation hides. Pure.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/step/collective_kind.h"
#include "core/trace/rank_trace.h"
#include "profiler/clocks/clock_fit.h"

namespace hocket {

/// Figures of all collectives that are compared as one, in one profile. Those that compare ranks
/// are medians, absent where clocks or missing traces withhold them (docs/METRICS.md).
struct CollectiveFigure {
  double per_iteration = 0;  ///< number of parts, on one rank
  double exposed_ns = 0;     ///< per iteration, on one rank
  std::optional<double> arrival_skew_ns, wait_ns, transfer_ns, bus_bandwidth;

  bool operator==(const CollectiveFigure&) const = default;
};

struct CollectiveDifference {
  std::string group;                   ///< empty: all ranks, also where the trace does not say
  std::optional<CollectiveKind> kind;  ///< absent where the trace does not say
  std::optional<std::int64_t> bytes;   ///< absent if its parts have other sizes in the two profiles
  std::string name;
  std::string name_after;  ///< differs from `name` if they were matched by position
  CollectiveFigure before = {}, after = {};

  double change_ns() const { return after.exposed_ns - before.exposed_ns; }
  bool operator==(const CollectiveDifference&) const = default;
};

nlohmann::json to_json(const CollectiveDifference& difference);

/// The traces of one profile, with the fits of their clocks in the same order.
struct ProfiledRanks {
  std::span<const RankTrace> traces;
  std::span<const ClockFit> fits;
};

/// Compares communication inside the windows of iterations, by group, kind, name and bytes. Parts
/// of one name that are cut into other sizes are compared together; those whose names are only in
/// one profile by their order in the step, if both have equally many of a group, kind and size.
/// Sorted by the change of exposed time, largest first.
std::vector<CollectiveDifference> diff_collectives(const ProfiledRanks& before,
                                                   const ProfiledRanks& after);

}  // namespace hocket
