#pragma once

// What a trial must stay within: an objective beside the one that is minimised, with a bound. Pure;
// immutable values; thread-safe.

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "tuner/trial/objective.h"

namespace hocket {

struct Limit {
  Objective objective;  ///< any but automatic
  double bound = 0;  ///< in the objective's unit (tuner/trial/objective_unit.h), finite, at least 0

  bool operator==(const Limit&) const = default;
};

/// Reads OBJECTIVE<=NUMBER, as in "memory<=4G", "wall<=60s", "regex:loss=([0-9.]+)<=3.5"; the
/// number as parse_value() (tuner/trial/objective_unit.h) has it.
Result<Limit> parse_limit(std::string_view text);

/// What parse_limit() reads back.
std::string to_text(const Limit& limit);

/// "memory<=4 GiB", for people.
std::string readable(const Limit& limit);

/// Nothing when the trial is within the limit, else why not: "peak memory 5.2 GiB is over the limit
/// of 4 GiB", or what evaluate() (tuner/trial/objective.h) misses.
std::optional<std::string> problem(const Limit& limit, std::size_t skip, const Evidence& evidence);

}  // namespace hocket
