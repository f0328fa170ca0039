#pragma once

// A bound on a metric of a trial besides the objective that is minimised. Pure; immutable values;
// thread-safe.

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "tuner/trial/objective.h"

namespace hocket {

struct MetricLimit {
  Objective objective;  ///< any kind but automatic
  double bound = 0;  ///< in the objective's unit (tuner/trial/objective_unit.h), finite, at least 0
  bool is_least = false;  ///< the metric must be at least `bound`, not at most
  /// The objective's pattern, which needs no group, must match nothing that the command prints.
  bool is_forbidden = false;

  bool operator==(const MetricLimit&) const = default;
};

/// Parses OBJECTIVE<=NUMBER or OBJECTIVE>=NUMBER, as in "memory<=4G", "wall<=60s",
/// "loss=regex:loss=([0-9.]+)<=3.5", "regex:tok/s=([0-9.]+)>=900", or never:PATTERN, as in
/// "never:out of memory". The objective has no direction; the number follows parse_value()
/// (tuner/trial/objective_unit.h).
Result<MetricLimit> parse_limit(std::string_view text);

/// Returns text that parse_limit() reads back.
std::string to_text(const MetricLimit& limit);

/// Returns "memory<=4 GiB", for people.
std::string readable(const MetricLimit& limit);

/// Returns nothing if the trial is within the limit, otherwise the reason: "peak memory 5.2 GiB is
/// over the limit of 4 GiB", "speed 800 tokens/s is under the limit of 900 tokens/s", "it printed
/// \"out of memory\", which must never occur", or the error of evaluate_objective()
/// (tuner/trial/objective.h).
std::optional<std::string> limit_problem(const MetricLimit& limit, std::size_t skip,
                                         const TrialEvidence& evidence);

}  // namespace hocket
