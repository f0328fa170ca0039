#include <array>
#include <nlohmann/json.hpp>

#include "core/base/json_reader.h"
#include "tuner/space/space.h"

namespace hocket {
namespace {

constexpr const char* kSpaceFormat = "hocket-space";
constexpr int kSpaceVersion = 1;

nlohmann::json range_json(const char* type, const auto& range) {
  return {{"type", type}, {"low", range.low}, {"high", range.high}, {"log", range.log}};
}

nlohmann::json domain_json(const Domain& domain) {
  if (const auto* range = std::get_if<IntegerRange>(&domain)) return range_json("int", *range);
  if (const auto* range = std::get_if<RealRange>(&domain)) return range_json("float", *range);
  if (const auto* choices = std::get_if<Choices>(&domain)) {
    return {{"type", "choice"}, {"choices", choices->names}};
  }
  auto values = nlohmann::json::array();
  for (const auto& value : std::get<Levels>(domain).values) values.push_back(to_json(value));
  return {{"type", "levels"}, {"levels", std::move(values)}};
}

IntegerRange read_integer_range(JsonReader& reader) {
  IntegerRange range;
  reader.integer("low", range.low, INT64_MIN, INT64_MAX);
  reader.integer("high", range.high, INT64_MIN, INT64_MAX);
  reader.flag("log", range.log);
  return range;
}

RealRange read_real_range(JsonReader& reader) {
  RealRange range;
  reader.number("low", range.low);
  reader.number("high", range.high);
  reader.flag("log", range.log);
  return range;
}

Choices read_choices(JsonReader& reader) {
  Choices choices;
  reader.texts("choices", choices.names);
  return choices;
}

Levels read_levels(JsonReader& reader) {
  Levels levels;
  reader.array("levels", [&](const JsonValue& level) {
    levels.values.push_back(read_parameter_value(level));
  });
  return levels;
}

using ReadDomain = Domain (*)(JsonReader&);
constexpr std::array<Word<ReadDomain>, 4> kDomains{
    {{"int", [](JsonReader& reader) { return Domain(read_integer_range(reader)); }},
     {"float", [](JsonReader& reader) { return Domain(read_real_range(reader)); }},
     {"choice", [](JsonReader& reader) { return Domain(read_choices(reader)); }},
     {"levels", [](JsonReader& reader) { return Domain(read_levels(reader)); }}}};

void read_parameter(JsonReader& reader, Parameter& parameter) {
  reader.text("name", parameter.name);
  read_domain(reader, parameter.domain);
  reader.value("default", [&](const JsonValue& value) {
    parameter.default_value = read_parameter_value(value);
  });
}

}  // namespace

void read_domain(JsonReader& reader, Domain& domain) {
  ReadDomain read = nullptr;
  reader.choice("type", read, kDomains);
  if (read != nullptr) domain = read(reader);
}

nlohmann::json to_json(const Space& space) {
  auto parameters = nlohmann::json::array();
  for (const auto& parameter : space.parameters()) {
    nlohmann::json entry = domain_json(parameter.domain);
    entry["name"] = parameter.name;
    entry["default"] = to_json(parameter.default_value);
    parameters.push_back(std::move(entry));
  }
  nlohmann::json document = {
      {"format", kSpaceFormat}, {"version", kSpaceVersion}, {"parameters", std::move(parameters)}};
  for (const auto& constraint : space.constraints()) {
    document["constraints"].push_back(constraint.text());
  }
  return document;
}

Result<Space> space_from_json(const nlohmann::json& document) {
  JsonReader reader(document, "search space");
  reader.format(kSpaceFormat, kSpaceVersion);
  std::vector<Parameter> parameters;
  reader.parts("parameters", parameters, read_parameter);
  std::vector<std::string> constraints;
  reader.texts("constraints", constraints, kOptional);
  HOCKET_TRY(reader.done());
  return Space::make(std::move(parameters), constraints);
}

}  // namespace hocket
