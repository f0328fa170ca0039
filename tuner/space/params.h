#pragma once

// One setting of the parameters of a sweep. Plain values; thread-compatible.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "core/base/result.h"

namespace hocket {

using ParameterValue = std::variant<std::int64_t, double, std::string>;

/// Name → value, ordered by name, so that equal settings compare equal.
using Params = std::map<std::string, ParameterValue>;

/// As a command line or an environment variable shows it: shortest text that reads back the same.
std::string to_text(const ParameterValue& value);

nlohmann::json to_json(const ParameterValue& value);
/// `{"NAME":value,…}`: integers, doubles (always with a fraction or exponent) and strings.
nlohmann::json to_json(const Params& params);

/// Refuses anything but an object of integers within 64 bits, finite numbers and strings.
Result<Params> params_from_json(const nlohmann::json& document);

}  // namespace hocket
