#pragma once

// Parses and formats values for the user. Pure functions; thread-safe.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/protocol/topology.h"
#include "tuner/space/params.h"
#include "tuner/trial/objective_unit.h"

namespace hocket {

/// Parses a number with the unit ns, us, ms, s, m or h ("30s", "1.5m"); without a unit, seconds.
/// Must be above 0 and at most 30 days. Returns nanoseconds.
Result<std::int64_t> parse_duration(std::string_view text);

/// Parses an age, a whole number of minutes, hours, days or weeks ("30m", "12h", "90d", "26w").
/// Must be above 0 and at most 36500 days. Returns nanoseconds.
Result<std::int64_t> parse_age(std::string_view text);

/// Returns for example "411.2 ms ± 1.31 ms", "900 ± 3 tokens/s"; "-" if there is no value.
std::string measured_text(std::optional<double> value, double spread, const ObjectiveUnit& unit);

/// Returns for example "19.8 %".
std::string percent_text(double share);

/// Returns for example "2026-11-21T03:12:30Z".
std::string time_text(std::int64_t unix_ns);

/// Returns for example "order=fifo streams=1", a plain line.
std::string params_text(const Params& params);

/// Like the above, for the JSON form with any content.
std::string params_text(const nlohmann::json& params);

/// Returns one line of JSON, which a terminal may show: plain_json() (core/base/plain_text.h).
/// Invalid UTF-8 becomes replacement characters.
std::string json_text(const nlohmann::json& document);

}  // namespace hocket
