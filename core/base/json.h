#pragma once

// Reading JSON from outside: every accessor returns an error that names the field and what was
// expected, and none throws.

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

inline constexpr std::int64_t kMaxJsonDepth = 64;
inline constexpr std::int64_t kMaxJsonElements = 1'000'000;  ///< of one array
inline constexpr std::int64_t kMaxJsonValues = 16'777'216;   ///< of a document

/// Parses `text`, which must be a JSON object, within the limits above. `what` names the document
/// in errors ("configuration", "report"); the field that was read last is named, too. Numbers that
/// overflow and invalid UTF-8 are errors.
Result<nlohmann::json> parse_object(std::string_view text, std::string_view what);

/// Reads the whole of a file; unavailable when that cannot be done, or it is larger than
/// `limit_bytes`.
Result<std::string> read_file(const std::string& path, std::int64_t limit_bytes = 64 << 20);

/// The integer in `object[field]`, within [low, high]. A number with a fraction is refused.
Result<std::int64_t> read_integer(const nlohmann::json& object, const char* field, std::int64_t low,
                                  std::int64_t high);

/// The finite number in `object[field]`, within [low, high].
Result<double> read_number(const nlohmann::json& object, const char* field,
                           double low = std::numeric_limits<double>::lowest(),
                           double high = std::numeric_limits<double>::max());

/// The same of a value whose field is known by the path to it ("layers[3].forward_ns").
Result<std::int64_t> integer_of(const nlohmann::json& value, std::string_view path,
                                std::int64_t low, std::int64_t high);
Result<double> number_of(const nlohmann::json& value, std::string_view path, double low,
                         double high);

/// "field \"path\": expected …, found …".
Error wrong_field(std::string_view path, std::string_view expected, const nlohmann::json& found);

Result<std::string> read_string(const nlohmann::json& object, const char* field);

/// The array (or object) in `object[field]`.
Result<nlohmann::json> read_array(const nlohmann::json& object, const char* field);
Result<nlohmann::json> read_object(const nlohmann::json& object, const char* field);

/// Checks that `object` says `"format": format` and a version from 1 to `version`.
Result<void> check_format(const nlohmann::json& object, std::string_view format, int version);

}  // namespace hocket
