#pragma once

// Values as people read and write them. Pure functions; thread-safe.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/topology.h"
#include "tuner/params.h"
#include "tuner/unit.h"

namespace hocket {

/// Reads a number with ns, us, ms, s, m or h ("30s", "1.5m"), seconds when there is none; above 0
/// and at most 30 days.
Result<std::int64_t> parse_duration(std::string_view text);

/// Reads a whole number of bytes (or of anything), at least 0: plain, with K, M, G, T or KiB, MiB,
/// GiB, TiB for powers of 1024, or with kB, MB, GB, TB for powers of 1000.
Result<std::int64_t> parse_size(std::string_view text);

/// "411.2 ms ± 1.31 ms"; "-" when there is no value.
std::string measured_text(std::optional<double> value, double spread, Unit unit);

/// "19.8 %"
std::string percent_text(double share);

/// "2026-11-21T03:12:30Z"
std::string time_text(std::int64_t unix_ns);

/// "order=fifo streams=1"
std::string params_text(const Params& params);

/// The same from the JSON form, whatever it holds.
std::string params_text(const nlohmann::json& params);

/// One line of JSON. Text that is not UTF-8 gets replacement characters.
std::string json_text(const nlohmann::json& document);

}  // namespace hocket
