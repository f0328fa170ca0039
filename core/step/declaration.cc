#include "core/step/declaration.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/json_reader.h"
#include "core/base/nearest_name.h"
#include "core/base/text.h"
#include "core/step/schedule_config.h"
#include "core/step/tool_knob.h"

namespace hocket {
namespace {

using nlohmann::json;
using DeclaredValues = decltype(DeclaredParameter::values);

constexpr std::size_t kMaxDeclaredParameters = 64, kMaxWords = 100'000, kMaxNameBytes = 1000;
constexpr std::size_t kShownBytes = 100;

/// Fields of the scheduler's configuration that are no knobs.
constexpr std::array<std::string_view, 4> kScheduleFields = {"format", "version", "regions", "job"};

bool is_schedule_field(std::string_view name) {
  return std::ranges::count(kScheduleFields, name) > 0 || find_schedule_knob(name) != nullptr;
}

bool is_parameter_name(std::string_view name) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (name.empty() || name.size() > kMaxNameBytes) return false;
  if (split_region_knob(name) || is_job_knob(name) || is_tool_knob(name)) return true;
  return std::ranges::all_of(name, is_allowed) && !(name.front() >= '0' && name.front() <= '9');
}

std::string listed(std::string_view before, const auto& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? std::string(before) : ", ") + word;
  return printable(text, 4 * kShownBytes);
}

/// Returns what a value of the parameter is, for messages.
std::string allowed_text(const DeclaredValues& values) {
  if (const auto* integers = std::get_if<DeclaredIntegers>(&values))
    return "an integer from " + json(integers->low).dump() + " to " + json(integers->high).dump();
  if (const auto* reals = std::get_if<DeclaredReals>(&values))
    return "a number from " + json(reals->low).dump() + " to " + json(reals->high).dump();
  if (const auto* words = std::get_if<DeclaredWords>(&values))
    return listed("one of ", words->words);
  std::vector<std::string> texts;
  for (const double number : std::get<DeclaredNumbers>(values).numbers)
    texts.push_back(json(number).dump());
  return listed("one of ", texts);
}

/// Returns whether an unsigned number of JSON, which may exceed 63 bits, is a signed one.
bool is_integer(const json& value) {
  return value.is_number_integer() &&
         !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX);
}

bool allows(const DeclaredValues& values, const json& value) {
  if (const auto* integers = std::get_if<DeclaredIntegers>(&values)) {
    if (!is_integer(value)) return false;
    const auto number = value.get<std::int64_t>();
    return integers->low <= number && number <= integers->high;
  }
  if (const auto* words = std::get_if<DeclaredWords>(&values)) {
    return value.is_string() && std::ranges::count(words->words, value.get<std::string>()) > 0;
  }
  if (!value.is_number()) return false;
  const auto number = value.get<double>();
  if (const auto* reals = std::get_if<DeclaredReals>(&values))
    return reals->low <= number && number <= reals->high;
  return std::ranges::count(std::get<DeclaredNumbers>(values).numbers, number) > 0;
}

Result<void> check_value(const DeclaredParameter& parameter, const json& value) {
  if (allows(parameter.values, value)) return {};
  const std::string found =
      value.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  return failure(ErrorCode::invalid_argument,
                 "field \"" + parameter.name + "\": expected " + allowed_text(parameter.values) +
                     ", as it is declared, found " + printable(found, kShownBytes));
}

Error undeclared(const std::string& name, const Declaration& declaration) {
  std::vector<std::string> names;
  for (const DeclaredParameter& each : declaration.parameters) names.push_back(each.name);
  const std::string hint = did_you_mean(name, names);
  const std::string what = !hint.empty()   ? hint
                           : names.empty() ? "; only the scheduler's knobs are declared"
                                           : listed("; declared are ", names);
  return {ErrorCode::invalid_argument,
          "field \"" + printable(name, kShownBytes) + "\" is not declared" + what};
}

void read_words(JsonReader& reader, DeclaredValues& values) {
  DeclaredWords declared;
  reader.array(
      "choices", [&](const JsonValue& word) { declared.words.push_back(word.text()); },
      Presence::required, kMaxWords);
  values = std::move(declared);
}

void read_integers(JsonReader& reader, DeclaredValues& values) {
  DeclaredIntegers declared;
  reader.integer("low", declared.low, INT64_MIN, INT64_MAX);
  reader.integer("high", declared.high, INT64_MIN, INT64_MAX);
  values = declared;
}

void read_reals(JsonReader& reader, DeclaredValues& values) {
  DeclaredReals declared;
  reader.number("low", declared.low);
  reader.number("high", declared.high);
  values = declared;
}

void read_numbers(JsonReader& reader, DeclaredValues& values) {
  DeclaredNumbers declared;
  reader.array(
      "levels", [&](const JsonValue& level) { declared.numbers.push_back(level.number()); },
      Presence::required, kMaxWords);
  values = std::move(declared);
}

using ReadValues = void (*)(JsonReader&, DeclaredValues&);
constexpr std::array<Word<ReadValues>, 4> kTypes = {{{"int", read_integers},
                                                     {"float", read_reals},
                                                     {"choice", read_words},
                                                     {"levels", read_numbers}}};

void read_declared_parameter(JsonReader& reader, DeclaredParameter& parameter) {
  reader.value("name", [&](const JsonValue& name) {
    parameter.name = name.text(kMaxNameBytes);
    if (!is_parameter_name(parameter.name))
      name.refuse("a name of letters, digits and \"_\", which begins with no digit");
  });
  ReadValues read_values = nullptr;
  reader.choice("type", read_values, kTypes);
  if (read_values != nullptr) read_values(reader, parameter.values);
}

json parameter_json(const DeclaredParameter& parameter) {
  json document = {{"name", parameter.name}};
  if (const auto* integers = std::get_if<DeclaredIntegers>(&parameter.values)) {
    document.update({{"type", "int"}, {"low", integers->low}, {"high", integers->high}});
  } else if (const auto* reals = std::get_if<DeclaredReals>(&parameter.values)) {
    document.update({{"type", "float"}, {"low", reals->low}, {"high", reals->high}});
  } else if (const auto* words = std::get_if<DeclaredWords>(&parameter.values)) {
    document.update({{"type", "choice"}, {"choices", words->words}});
  } else {
    document.update(
        {{"type", "levels"}, {"levels", std::get<DeclaredNumbers>(parameter.values).numbers}});
  }
  return document;
}

/// Checks the value of a knob on its own, which a setting of plain parameters may have.
Result<void> check_knob(const std::string& name, const json& value,
                        const Declaration& declaration) {
  const auto schedule = with_knob(ScheduleConfig{}, name, value);
  HOCKET_TRY(schedule);
  return check_declared(*schedule, declaration.knobs);
}

/// Checks the scheduler's part of a configuration, also against the ranges that the study searched.
Result<void> check_schedule(const json& config, const Declaration& declaration) {
  json schedule_fields = config;
  const nlohmann::json others = other_fields(config);
  for (const auto& [name, value] : others.items()) schedule_fields.erase(name);
  const auto schedule = read_json<ScheduleConfig>(schedule_fields, read_schedule_config);
  HOCKET_TRY(schedule);
  HOCKET_TRY(check_declared(*schedule, declaration.knobs));
  const json knobs = knob_values(*schedule);
  for (const DeclaredParameter& parameter : declaration.parameters) {
    // A choice's words are the knob's own, whatever spelling the study searched.
    if (std::holds_alternative<DeclaredWords>(parameter.values)) continue;
    const auto value = knobs.find(parameter.name);
    if (value != knobs.end()) HOCKET_TRY(check_value(parameter, *value));
  }
  return {};
}

}  // namespace

const DeclaredParameter* find_parameter(const Declaration& declaration, std::string_view name) {
  const auto found = std::ranges::find(declaration.parameters, name, &DeclaredParameter::name);
  return found == declaration.parameters.end() ? nullptr : &*found;
}

nlohmann::json other_fields(const nlohmann::json& config) {
  if (!config.contains("format")) return config;
  json others = json::object();
  for (const auto& [name, value] : config.items())
    if (!is_schedule_field(name)) others[name] = value;
  return others;
}

Result<void> check_declared(const nlohmann::json& config, const Declaration& declaration) {
  const nlohmann::json others = other_fields(config);
  for (const auto& [name, value] : others.items()) {
    const DeclaredParameter* const parameter = find_parameter(declaration, name);
    if (parameter != nullptr) {
      HOCKET_TRY(check_value(*parameter, value));
    } else if (find_knob(name) != nullptr || is_job_knob(name)) {
      HOCKET_TRY(check_knob(name, value, declaration));
    } else {
      return failure(undeclared(name, declaration));
    }
  }
  if (config.contains("format")) return check_schedule(config, declaration);
  return {};
}

nlohmann::json to_json(const Declaration& declaration) {
  json parameters = json::array(), knobs = json::array();
  for (const DeclaredParameter& each : declaration.parameters)
    parameters.push_back(parameter_json(each));
  for (const DeclaredKnob& each : declaration.knobs) knobs.push_back(to_json(each));
  return {{"parameters", std::move(parameters)}, {"knobs", std::move(knobs)}};
}

void read_declaration(JsonReader& reader, Declaration& declaration) {
  reader.parts("parameters", declaration.parameters, read_declared_parameter,
               kMaxDeclaredParameters, kOptional);
  reader.parts("knobs", declaration.knobs, read_declared_knob, kMaxDeclaredKnobs, kOptional);
}

}  // namespace hocket
