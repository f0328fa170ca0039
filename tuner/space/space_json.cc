#include "core/base/json.h"
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

Result<bool> read_log(const nlohmann::json& object) {
  const auto it = object.find("log");
  if (it != object.end() && it->is_boolean()) return it->get<bool>();
  return failure(ErrorCode::invalid_argument, "field \"log\": expected true or false");
}

Result<Domain> integer_range(const nlohmann::json& object) {
  const auto low = read_integer(object, "low", INT64_MIN, INT64_MAX);
  if (!low) return failure(low.error());
  const auto high = read_integer(object, "high", INT64_MIN, INT64_MAX);
  if (!high) return failure(high.error());
  const auto log = read_log(object);
  if (!log) return failure(log.error());
  return IntegerRange{*low, *high, *log};
}

Result<Domain> real_range(const nlohmann::json& object) {
  const auto low = read_number(object, "low");
  if (!low) return failure(low.error());
  const auto high = read_number(object, "high");
  if (!high) return failure(high.error());
  const auto log = read_log(object);
  if (!log) return failure(log.error());
  return RealRange{*low, *high, *log};
}

Result<Domain> choices(const nlohmann::json& object) {
  const auto names = read_array(object, "choices");
  if (!names) return failure(names.error());
  Choices choices;
  for (const auto& name : *names) {
    if (!name.is_string()) {
      return failure(ErrorCode::invalid_argument, "field \"choices\": expected strings");
    }
    choices.names.push_back(name.get<std::string>());
  }
  return choices;
}

Result<Domain> levels(const nlohmann::json& object) {
  const auto values = read_array(object, "levels");
  if (!values) return failure(values.error());
  Levels levels;
  for (const auto& value : *values) {
    auto read = params_from_json({{"levels", value}});
    if (!read) return failure(read.error());
    levels.values.push_back(std::move(read->at("levels")));
  }
  return levels;
}

Result<Domain> domain_from_json(const nlohmann::json& object) {
  const auto type = read_string(object, "type");
  if (!type) return failure(type.error());
  if (*type == "int") return integer_range(object);
  if (*type == "float") return real_range(object);
  if (*type == "choice") return choices(object);
  if (*type == "levels") return levels(object);
  return failure(
      ErrorCode::invalid_argument,
      "field \"type\": expected one of int, float, choice, levels, found \"" + *type + "\"");
}

Result<Parameter> parameter_from_json(const nlohmann::json& object) {
  auto name = read_string(object, "name");
  if (!name) return failure(name.error());
  auto domain = domain_from_json(object);
  if (!domain) return failure(domain.error().in("parameter " + *name));
  const auto value = object.find("default");
  if (value == object.end()) {
    return failure(ErrorCode::invalid_argument, "parameter " + *name + " has no default");
  }
  auto params = params_from_json({{"default", *value}});
  if (!params) return failure(params.error().in("parameter " + *name));
  return Parameter{std::move(*name), std::move(*domain), std::move(params->at("default"))};
}

Result<std::vector<std::string>> constraints(const nlohmann::json& document) {
  std::vector<std::string> texts;
  if (!document.contains("constraints")) return texts;
  const auto entries = read_array(document, "constraints");
  if (!entries) return failure(entries.error());
  for (const auto& entry : *entries) {
    if (!entry.is_string()) {
      return failure(ErrorCode::invalid_argument, "field \"constraints\": expected strings");
    }
    texts.push_back(entry.get<std::string>());
  }
  return texts;
}

}  // namespace

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
  if (auto ok = check_format(document, kSpaceFormat, kSpaceVersion); !ok) {
    return failure(ok.error().in("search space"));
  }
  const auto entries = read_array(document, "parameters");
  if (!entries) return failure(entries.error().in("search space"));
  std::vector<Parameter> parameters;
  for (const auto& entry : *entries) {
    auto parameter = parameter_from_json(entry);
    if (!parameter) return failure(parameter.error().in("search space"));
    parameters.push_back(std::move(*parameter));
  }
  const auto texts = constraints(document);
  if (!texts) return failure(texts.error().in("search space"));
  return Space::make(std::move(parameters), *texts);
}

}  // namespace hocket
