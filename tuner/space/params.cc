#include "tuner/space/params.h"

#include <charconv>
#include <cmath>

#include "core/base/json.h"

namespace hocket {
namespace {

Result<ParameterValue> value_from_json(const nlohmann::json& document, const char* name) {
  const nlohmann::json& value = document[name];
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) {
    const auto number = read_number(document, name);
    if (!number) return failure(number.error());
    return *number;
  }
  if (value.is_number_integer()) {
    const auto number = read_integer(document, name, INT64_MIN, INT64_MAX);
    if (!number) return failure(number.error());
    return *number;
  }
  return failure(ErrorCode::invalid_argument, std::string("field \"") + name +
                                                  "\": expected a number or a string, found " +
                                                  value.type_name());
}

}  // namespace

std::string to_text(const ParameterValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  char buffer[32];
  const auto end =
      std::holds_alternative<double>(value)
          ? std::to_chars(buffer, buffer + sizeof buffer, std::get<double>(value)).ptr
          : std::to_chars(buffer, buffer + sizeof buffer, std::get<std::int64_t>(value)).ptr;
  return {buffer, end};
}

nlohmann::json to_json(const ParameterValue& value) {
  return std::visit([](const auto& held) { return nlohmann::json(held); }, value);
}

nlohmann::json to_json(const Params& params) {
  auto document = nlohmann::json::object();
  for (const auto& [name, value] : params) document[name] = to_json(value);
  return document;
}

Result<Params> params_from_json(const nlohmann::json& document) {
  if (!document.is_object()) {
    return failure(ErrorCode::invalid_argument,
                   std::string("parameters: expected an object, found ") + document.type_name());
  }
  Params params;
  for (const auto& [name, ignored] : document.items()) {
    auto value = value_from_json(document, name.c_str());
    if (!value) return failure(value.error().in("parameters"));
    params.emplace(name, std::move(*value));
  }
  return params;
}

}  // namespace hocket
