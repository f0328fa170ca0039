#pragma once

// Reads JSON from outside. Every accessor returns an error that names the field and the expected
// value; none throws. Pure, except read_file().

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

inline constexpr std::int64_t kMaxJsonDepth = 64;
/// Maximum elements of one array.
inline constexpr std::int64_t kMaxJsonElements = 1'000'000;
/// Maximum values in a document.
inline constexpr std::int64_t kMaxJsonValues = 16'777'216;

/// Parses `text`, which must be a JSON object within the limits above. `what` names the document in
/// errors ("configuration", "report"), which also name the field that was read last. Numbers that
/// overflow and invalid UTF-8 are errors.
Result<nlohmann::json> parse_object(std::string_view text, std::string_view what);

/// Reads a whole file; unavailable when it cannot be read or is larger than `limit_bytes`.
Result<std::string> read_file(const std::string& path, std::int64_t limit_bytes = 64 << 20);

/// Returns the integer in `object[field]`, within [low, high]. Refuses a number with a fraction.
Result<std::int64_t> read_integer(const nlohmann::json& object, const char* field, std::int64_t low,
                                  std::int64_t high);

/// Returns the finite number in `object[field]`, within [low, high].
Result<double> read_number(const nlohmann::json& object, const char* field,
                           double low = std::numeric_limits<double>::lowest(),
                           double high = std::numeric_limits<double>::max());

Result<std::string> read_string(const nlohmann::json& object, const char* field);

/// Returns the array in `object[field]`; read_object() returns the object.
Result<nlohmann::json> read_array(const nlohmann::json& object, const char* field);
Result<nlohmann::json> read_object(const nlohmann::json& object, const char* field);

/// Checks that `object` has `"format": format` and a version from 1 to `version`.
Result<void> check_format(const nlohmann::json& object, std::string_view format, int version);

}  // namespace hocket
