#include "tuner/space/knob_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "core/base/nearest_name.h"
#include "core/base/system_variables.h"
#include "core/base/text.h"
#include "core/step/tool_knob.h"
#include "tuner/space/constraint.h"
#include "tuner/space/job_value.h"

namespace hocket {
namespace {

constexpr const char* kKnobsFormat = "hocket-knobs";
constexpr int kKnobsVersion = 1;
constexpr std::size_t kMaxKnobs = 64, kMaxKnobConstraints = 64, kMaxSentenceBytes = 500;
constexpr std::size_t kMaxKnobWords = 64, kMaxKnobWordBytes = 64, kMaxKnobNameBytes = 96;
constexpr std::size_t kMaxToolBytes = 32, kMaxVersionBytes = 32;

constexpr std::array<Word<KnobWay>, 4> kWays = {{{"variable", KnobWay::variable},
                                                 {"flag", KnobWay::flag},
                                                 {"argument", KnobWay::argument},
                                                 {"field", KnobWay::field}}};
constexpr std::array<Word<bool>, 2> kUnknown = {{{"ignored", false}, {"refused", true}}};

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz0123456789_";
constexpr std::string_view kNameLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
constexpr std::string_view kWordLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.,:+@%-";

bool consists_of(std::string_view text, std::string_view letters) {
  return !text.empty() && text.find_first_not_of(letters) == std::string_view::npos;
}

bool is_figure(char c) {
  return c >= '0' && c <= '9';
}

bool is_version(std::string_view text) {
  if (text.size() > kMaxVersionBytes || !consists_of(text, "0123456789.")) return false;
  return is_figure(text.front()) && is_figure(text.back()) && text.find("..") == text.npos;
}

bool is_variable_name(std::string_view name) {
  return name.size() <= kMaxKnobNameBytes && consists_of(name, kNameLetters) &&
         !is_figure(name.front());
}

/// Refuses a variable that no knob may set, whoever declares it.
Result<void> check_knob_variable(const std::string& name) {
  if (!is_variable_name(name))
    return invalid("expected the name of a variable, found \"" + printable(name, 100) + "\"");
  if (name.starts_with("HOCKET_") && !is_own_knob(name))
    return invalid(name + " is a variable of hocket's own, which no knob may set");
  const std::string_view use = system_variable_use(name);
  if (use.empty()) return {};
  return invalid(name + " " + std::string(use) + ", so it can be no knob");
}

bool is_option_name(std::string_view name) {
  return name.size() > 2 && name.size() <= kMaxKnobNameBytes && name.starts_with("--") &&
         consists_of(name.substr(2), std::string(kNameLetters) + "-.") && name[2] != '-';
}

bool is_field_path(const std::string& name) {
  return name.size() <= kMaxKnobNameBytes && is_tool_knob("x." + name);
}

Result<void> check_place(const KnobPlace& place) {
  const std::string found = ", found \"" + printable(place.name, 100) + "\"";
  switch (place.way) {
    case KnobWay::variable:
      return check_knob_variable(place.name);
    case KnobWay::flag:
      if (!is_variable_name(place.name))
        return invalid("expected the name of a flag without its dashes" + found);
      if (auto ok = check_knob_variable(place.variable); !ok)
        return failure(ok.error().in("field \"variable\""));
      return {};
    case KnobWay::argument:
      if (!is_option_name(place.name)) return invalid("expected an option such as --size" + found);
      return {};
    case KnobWay::field:
      if (!is_field_path(place.name))
        return invalid("expected names joined by dots, as in optimizer.bucket_size" + found);
      if (place.options.empty()) return invalid("the way \"field\" needs \"options\"");
      for (const std::string& option : place.options) {
        if (!is_option_name(option))
          return invalid("options: expected an option such as --config, found \"" +
                         printable(option, 100) + "\"");
      }
      return {};
  }
  return {};
}

/// Refuses values that could be an option, a path or code in a command.
Result<void> check_knob_domain(const Domain& domain) {
  if (std::holds_alternative<RealRange>(domain))
    return invalid("type: expected int, levels or choice, found \"float\"");
  if (const auto* levels = std::get_if<Levels>(&domain)) {
    if (levels->values.size() > kMaxKnobWords)
      return invalid("expected at most " + std::to_string(kMaxKnobWords) + " levels");
  }
  const auto* choices = std::get_if<Choices>(&domain);
  if (choices == nullptr) return {};
  if (choices->names.size() > kMaxKnobWords)
    return invalid("expected at most " + std::to_string(kMaxKnobWords) + " choices");
  for (const std::string& word : choices->names) {
    if (word.size() <= kMaxKnobWordBytes && consists_of(word, kWordLetters) && word[0] != '-')
      continue;
    return invalid("expected choices of at most " + std::to_string(kMaxKnobWordBytes) +
                   " letters, digits and \"_.,:+@%-\" that begin with no \"-\", found \"" +
                   printable(word, 100) + "\"");
  }
  return {};
}

/// Part of a place that a file states once for all its knobs.
struct SharedPlace {
  KnobWay way = KnobWay::variable;
  std::string variable;
  std::vector<std::string> options;
};

std::string parameter_name(const std::string& tool, const SharedPlace& shared,
                           const std::string& name) {
  return shared.way == KnobWay::variable ? name : tool + "." + name;
}

void read_knob(JsonReader& reader, const std::string& tool, const SharedPlace& shared,
               ToolKnob& knob) {
  std::string name;
  reader.text("name", name);
  reader.text("set", knob.set);
  reader.text("as", knob.place.name, name);
  reader.text("since", knob.since, "");
  reader.text("until", knob.until, "");
  reader.texts("needs", knob.needs, kOptional);
  reader.text("about", knob.about);
  reader.text("source", knob.source);
  Parameter& parameter = knob.parameter;
  read_domain(reader, parameter.domain);
  reader.value("default", [&](const JsonValue& value) {
    parameter.default_value = read_parameter_value(value);
  });
  if (!reader.finish()) return;
  knob.place.way = shared.way;
  knob.place.variable = shared.variable;
  knob.place.options = shared.options;
  parameter.name = parameter_name(tool, shared, name);
  const auto check = [&]() -> Result<void> {
    const bool is_dotted = shared.way != KnobWay::variable;
    if (is_dotted ? !is_tool_knob(parameter.name) : !is_variable_name(name))
      return invalid("expected letters, digits and \"_\"" +
                     std::string(is_dotted ? ", joined by dots" : "") + ", found \"" +
                     printable(name, 100) + "\"");
    HOCKET_TRY(check_place(knob.place));
    if (shared.way == KnobWay::variable && knob.place.name != name)
      return invalid("\"as\": a variable has the name of its knob");
    if (!consists_of(knob.set, kLower) || knob.set.size() > kMaxToolBytes)
      return invalid("set: expected a-z, 0-9 and \"_\", found \"" + printable(knob.set, 100) +
                     "\"");
    for (const std::string& version : {knob.since, knob.until}) {
      if (!version.empty() && !is_version(version))
        return invalid("expected a version such as 2.19, found \"" + printable(version, 100) +
                       "\"");
    }
    for (const std::string& option : knob.needs) {
      if (!is_option_name(option))
        return invalid("needs: expected an option such as --size, found \"" +
                       printable(option, 100) + "\"");
    }
    for (const std::string& text : {knob.about, knob.source}) {
      if (text.empty() || text.size() > kMaxSentenceBytes)
        return invalid("expected \"about\" and \"source\" of 1 to " +
                       std::to_string(kMaxSentenceBytes) + " bytes");
    }
    HOCKET_TRY(check_knob_domain(parameter.domain));
    HOCKET_TRY(validate_domain(parameter));
    if (!is_unset(parameter.default_value)) return validate(parameter);
    if (std::holds_alternative<IntegerRange>(parameter.domain))
      return invalid("a range has no default \"unset\": list its levels");
    leave_open(parameter);
    return {};
  };
  if (const auto ok = check(); !ok)
    reader.self().fail(ok.error().in("knob \"" + printable(name, 100) + "\""));
}

Result<void> check_names(const KnobFile& file) {
  std::vector<std::string> names;
  for (const ToolKnob& knob : file.knobs) {
    if (std::ranges::count(names, knob.parameter.name) > 0)
      return invalid("knob \"" + knob.parameter.name + "\" is there twice");
    names.push_back(knob.parameter.name);
  }
  return {};
}

std::vector<Parameter> parameters_of(const KnobFile& file) {
  std::vector<Parameter> parameters;
  for (const ToolKnob& knob : file.knobs) parameters.push_back(knob.parameter);
  return parameters;
}

void read_file(JsonReader& reader, KnobFile& file) {
  reader.refuse_others();
  reader.format(kKnobsFormat, kKnobsVersion);
  reader.text("tool", file.tool);
  reader.text("about", file.about);
  SharedPlace shared;
  reader.choice("way", shared.way, kWays);
  reader.choice("unknown", file.refuses_unknown, kUnknown);
  reader.text("objective", file.objective, "");
  if (shared.way == KnobWay::flag) reader.text("variable", shared.variable);
  if (shared.way == KnobWay::field) reader.texts("options", shared.options);
  const auto read_one = [&](JsonReader& fields) {
    read_knob(fields, file.tool, shared, file.knobs.emplace_back());
  };
  reader.value("tool", [&](const JsonValue& tool) {
    const bool is_prefix = file.tool == "job" || file.tool == "regions";
    if (!consists_of(file.tool, kLower) || is_figure(file.tool.front()) || is_prefix ||
        file.tool.size() > kMaxToolBytes)
      tool.refuse("at most 32 of a-z, 0-9 and \"_\", no digit in front, not job or regions");
  });
  reader.array(
      "knobs", [&](const JsonValue& knob) { knob.object(read_one); }, Presence::required,
      kMaxKnobs);
  reader.array(
      "constraints",
      [&](const JsonValue& text) {
        file.constraints.push_back(text.text(Constraint::kMaxTextBytes));
      },
      kOptional, kMaxKnobConstraints);
}

/// Returns the parts of a version as numbers; each is at most 10^9.
std::vector<std::int64_t> numbers_of(std::string_view version) {
  std::vector<std::int64_t> numbers = {0};
  for (const char c : version) {
    if (c == '.') {
      numbers.push_back(0);
    } else {
      numbers.back() = std::min<std::int64_t>(numbers.back() * 10 + (c - '0'), 1'000'000'000);
    }
  }
  return numbers;
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// Returns at most this many integers of a range, both ends among them.
std::vector<std::int64_t> some_of(const IntegerRange& range) {
  constexpr int kMost = 17;
  std::vector<std::int64_t> values;
  for (int i = 0; i < kMost; ++i) {
    const auto value = std::get<std::int64_t>(decode(range, static_cast<double>(i) / (kMost - 1)));
    if (values.empty() || values.back() < value) values.push_back(value);
  }
  return values;
}

}  // namespace

Result<KnobFile> read_knob_file(std::string_view text, const std::string& origin) {
  if (text.size() > static_cast<std::size_t>(kMaxKnobFileBytes))
    return invalid(origin + ": expected at most " + std::to_string(kMaxKnobFileBytes) + " bytes");
  const auto document = parse_object(text, origin);
  HOCKET_TRY(document);
  auto file = read_json<KnobFile>(*document, read_file, origin);
  HOCKET_TRY(file);
  if (file->knobs.empty()) return invalid(origin + ": expected at least one knob");
  if (const auto ok = check_names(*file); !ok) return failure(ok.error().in(origin));
  const auto parameters = parameters_of(*file);
  for (const std::string& constraint : file->constraints) {
    const auto parsed = Constraint::parse(constraint, parameters);
    if (!parsed) return failure(parsed.error().in(origin + ": constraints"));
  }
  return file;
}

Result<KnobSelection> parse_knob_selection(const std::string& text) {
  KnobSelection selection;
  selection.source = text;
  const auto slash = text.rfind('/');
  const auto in_name = [&](std::size_t at) {
    return at != std::string::npos && (slash == std::string::npos || at > slash);
  };
  if (const auto at = selection.source.rfind('@'); in_name(at)) {
    selection.version = selection.source.substr(at + 1);
    selection.source.erase(at);
    if (!is_version(selection.version))
      return invalid("--knobs: expected a version behind \"@\", such as nccl@2.19, found \"" +
                     printable(text, 100) + "\"");
  }
  if (const auto at = selection.source.rfind(':'); in_name(at)) {
    selection.set = selection.source.substr(at + 1);
    selection.source.erase(at);
    if (!consists_of(selection.set, kLower))
      return invalid("--knobs: expected a set behind \":\", such as nccl:net, found \"" +
                     printable(text, 100) + "\"");
  }
  selection.is_path = slash != std::string::npos || selection.source.ends_with(".json");
  if (selection.source.empty() || (!selection.is_path && !consists_of(selection.source, kLower)))
    return invalid("--knobs: expected TOOL[:SET][@VERSION] or FILE.json[:SET][@VERSION], found \"" +
                   printable(text, 100) + "\"");
  return selection;
}

Result<KnobFile> selected_knobs(KnobFile file, const KnobSelection& selection) {
  const std::vector<std::string> sets = sets_of(file);
  if (!selection.set.empty() && std::ranges::count(sets, selection.set) == 0)
    return invalid("--knobs: " + file.tool + " has no set \"" + selection.set + "\"" +
                   did_you_mean(selection.set, sets) + "; its sets are " + listed(sets));
  std::erase_if(file.knobs, [&](const ToolKnob& knob) {
    if (!selection.set.empty() && knob.set != selection.set) return true;
    if (!selection.version.empty())
      return !is_within_versions(selection.version, knob.since, knob.until);
    return file.refuses_unknown && !knob.until.empty();
  });
  if (file.knobs.empty())
    return invalid("--knobs: no knob of " + file.tool +
                   (selection.set.empty() ? "" : ":" + selection.set) + " is in version " +
                   (selection.version.empty() ? "its newest" : selection.version));
  const auto parameters = parameters_of(file);
  std::erase_if(file.constraints,
                [&](const std::string& text) { return !Constraint::parse(text, parameters); });
  return file;
}

std::vector<std::string> sets_of(const KnobFile& file) {
  std::vector<std::string> sets;
  for (const ToolKnob& knob : file.knobs)
    if (std::ranges::count(sets, knob.set) == 0) sets.push_back(knob.set);
  return sets;
}

bool is_within_versions(std::string_view version, std::string_view since, std::string_view until) {
  const auto numbers = numbers_of(version);
  if (!since.empty() && numbers < numbers_of(since)) return false;
  if (until.empty()) return true;
  const auto last = numbers_of(until);
  auto begin = numbers;
  begin.resize(std::min(numbers.size(), last.size()));
  return begin <= last;
}

void leave_open(Parameter& parameter) {
  Choices choices{{std::string(kUnset)}};
  if (const auto* range = std::get_if<IntegerRange>(&parameter.domain)) {
    for (const std::int64_t value : some_of(*range)) choices.names.push_back(to_text(value));
  } else if (const auto* levels = std::get_if<Levels>(&parameter.domain)) {
    for (const auto& value : levels->values) choices.names.push_back(to_text(value));
  } else if (const auto* words = std::get_if<Choices>(&parameter.domain)) {
    for (const auto& word : words->names)
      if (word != kUnset) choices.names.push_back(word);
  }
  parameter.domain = std::move(choices);
  parameter.default_value = std::string(kUnset);
}

nlohmann::json to_json(const KnobPlaces& places) {
  auto document = nlohmann::json::array();
  for (const auto& [parameter, place] : places) {
    nlohmann::json entry = {
        {"parameter", parameter}, {"way", to_string(place.way)}, {"name", place.name}};
    if (!place.variable.empty()) entry["variable"] = place.variable;
    if (!place.options.empty()) entry["options"] = place.options;
    document.push_back(std::move(entry));
  }
  return document;
}

void read_knob_places(JsonReader& reader, std::string_view name, KnobPlaces& places) {
  const auto read_one = [&](JsonReader& fields) {
    std::string parameter;
    KnobPlace place;
    fields.text("parameter", parameter);
    fields.choice("way", place.way, kWays);
    fields.text("name", place.name);
    fields.text("variable", place.variable, "");
    fields.texts("options", place.options, kOptional);
    if (!fields.finish()) return;
    if (const auto ok = check_place(place); !ok) {
      fields.self().fail(ok.error());
    } else {
      places[parameter] = std::move(place);
    }
  };
  reader.array(
      name, [&](const JsonValue& place) { place.object(read_one); }, kOptional, kMaxKnobs * 8);
}

std::string_view to_string(KnobWay way) {
  return std::ranges::find(kWays, way, &Word<KnobWay>::value)->word;
}

}  // namespace hocket
