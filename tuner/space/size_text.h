#pragma once

// Sizes as people write them, with one meaning everywhere: K, M, G, T and KiB, MiB, GiB, TiB are
// powers of 1024; kB (or KB), MB, GB, TB are powers of 1000. Pure functions; thread-safe.

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

/// The units, for messages.
inline constexpr const char* kSizeUnitsText =
    "K, M, G, T or KiB, MiB, GiB, TiB for powers of 1024, or kB, MB, GB, TB for powers of 1000";

/// Returns the factor of a unit; 1 for "B" and "". Nothing for any other text.
std::optional<std::int64_t> size_factor(std::string_view unit);

/// Parses a whole number within 64 bits with an optional unit: "65536", "-3", "4MiB", "25MB",
/// "1.5G".
Result<std::int64_t> parse_scaled_integer(std::string_view text);

/// Like the above, at least 0.
Result<std::int64_t> parse_size(std::string_view text);

}  // namespace hocket
