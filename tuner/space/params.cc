#include "tuner/space/params.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "core/base/json_reader.h"

namespace hocket {
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

ParameterValue read_parameter_value(const JsonValue& value) {
  if (value.json().is_string()) return value.text();
  if (value.json().is_number_float()) return value.number();
  if (value.json().is_number_integer()) return value.integer(INT64_MIN, INT64_MAX);
  value.refuse("a number or a string");
  return {};
}

void read_params(JsonReader& reader, Params& params) {
  reader.members([&](const std::string& name, const JsonValue& value) {
    params.emplace(name, read_parameter_value(value));
  });
}

Result<Params> params_from_json(const nlohmann::json& document) {
  return read_json(document, read_params, "parameters");
}

}  // namespace hocket
