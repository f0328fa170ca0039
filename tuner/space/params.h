#pragma once

// One setting: a value for each parameter of a study. Plain values; thread-compatible.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>

#include "core/base/result.h"

namespace hocket {

class JsonReader;
class JsonValue;

using ParameterValue = std::variant<std::int64_t, double, std::string>;

/// Name → value, ordered by name, so that equal settings compare equal.
using Params = std::map<std::string, ParameterValue>;

/// Returns the text for a command line or an environment variable: the shortest that reads back the
/// same.
std::string to_text(const ParameterValue& value);

nlohmann::json to_json(const ParameterValue& value);
/// Returns `{"NAME":value,…}`: integers, doubles (always with a fraction or exponent) and strings.
nlohmann::json to_json(const Params& params);

/// Parses an object of integers within 64 bits, finite numbers and strings; refuses anything else.
void read_params(JsonReader& reader, Params& params);
ParameterValue read_parameter_value(const JsonValue& value);
Result<Params> params_from_json(const nlohmann::json& document);

}  // namespace hocket
