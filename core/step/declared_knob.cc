#include "core/step/declared_knob.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <variant>

#include "core/base/json_reader.h"

namespace hocket {
namespace {

constexpr std::size_t kMaxChoices = 64, kMaxUnitBytes = 16;

Error wrong(const DeclaredKnob& knob, const std::string& what) {
  return {ErrorCode::invalid_argument, "knob " + knob_name_of(knob.name) + ": " + what};
}

/// Returns "one of a, b" or "an integer from 1 to 4".
std::string allowed_text(const DeclaredKnob& knob) {
  if (knob.choices.empty()) {
    return "an integer from " + std::to_string(knob.low) + " to " + std::to_string(knob.high);
  }
  std::string text;
  for (const std::string& word : knob.choices) text += (text.empty() ? "" : ", ") + word;
  return "one of " + text;
}

Result<void> check_value(const DeclaredKnob& knob, const JobValue& value) {
  const auto* const number = std::get_if<std::int64_t>(&value);
  const bool is_allowed =
      knob.choices.empty()
          ? number != nullptr && knob.low <= *number && *number <= knob.high
          : number == nullptr && std::ranges::count(knob.choices, std::get<std::string>(value)) > 0;
  if (is_allowed) return {};
  return failure(
      wrong(knob, "expected " + allowed_text(knob) + ", found " + job_value_text(value)));
}

}  // namespace

Result<void> validate(const DeclaredKnob& knob) {
  if (!is_job_knob(knob_name_of(knob.name))) {
    return failure(wrong(knob, "a name has 1 to 64 of a-z, 0-9 and \"_\""));
  }
  if (knob.unit.size() > kMaxUnitBytes) {
    return failure(
        wrong(knob, "a unit has at most " + std::to_string(kMaxUnitBytes) + " characters"));
  }
  const bool is_integer = knob.choices.empty();
  if (is_integer && (knob.low > knob.high || knob.low < -kMaxJobInteger ||
                     knob.high > kMaxJobInteger || (knob.log && knob.low < 1))) {
    return failure(wrong(knob,
                         "expected low at most high, both within 2^53, and low at least 1 "
                         "when it is searched logarithmically"));
  }
  const auto is_word = [](const std::string& word) {
    return !word.empty() && word.size() <= kMaxJobWordBytes;
  };
  if (knob.choices.size() > kMaxChoices || !std::ranges::all_of(knob.choices, is_word) ||
      std::set(knob.choices.begin(), knob.choices.end()).size() != knob.choices.size()) {
    return failure(wrong(knob, "expected at most 64 choices, each once and of 1 to 64 characters"));
  }
  const auto is_default = check_value(knob, knob.default_value);
  if (!is_default) return failure(is_default.error().in("default"));
  return {};
}

Result<void> validate(std::span<const DeclaredKnob> knobs) {
  if (knobs.size() > kMaxDeclaredKnobs) {
    return failure(ErrorCode::invalid_argument,
                   "a job declares at most " + std::to_string(kMaxDeclaredKnobs) +
                       " knobs, found " + std::to_string(knobs.size()));
  }
  for (const DeclaredKnob& knob : knobs) {
    HOCKET_TRY(validate(knob));
    if (std::ranges::count(knobs, knob.name, &DeclaredKnob::name) > 1)
      return failure(wrong(knob, "it is declared twice"));
  }
  return {};
}

const DeclaredKnob* find_declared(std::span<const DeclaredKnob> knobs, std::string_view name) {
  const auto is_named = [&](const DeclaredKnob& knob) { return knob_name_of(knob.name) == name; };
  const auto found = std::ranges::find_if(knobs, is_named);
  return found == knobs.end() ? nullptr : &*found;
}

Knob as_knob(const DeclaredKnob& declared) {
  Knob knob{.name = declared.name,
            .meaning = "",
            .low = declared.low,
            .high = declared.high,
            .tune_low = declared.low,
            .tune_high = declared.high,
            .log = declared.log};
  knob.choices.assign(declared.choices.begin(), declared.choices.end());
  return knob;
}

ScheduleConfig with_declared_defaults(ScheduleConfig config, std::span<const DeclaredKnob> knobs) {
  for (const DeclaredKnob& knob : knobs) config.job.try_emplace(knob.name, knob.default_value);
  return config;
}

Result<void> check_declared(const ScheduleConfig& config, std::span<const DeclaredKnob> knobs) {
  for (const auto& [name, value] : config.job) {
    const DeclaredKnob* const knob = find_declared(knobs, knob_name_of(name));
    if (knob == nullptr) {
      std::string known;
      for (const DeclaredKnob& each : knobs)
        known += (known.empty() ? "; it declares " : ", ") + knob_name_of(each.name);
      return failure(ErrorCode::invalid_argument,
                     "knob " + knob_name_of(name) + ": the job declares no such knob" + known);
    }
    HOCKET_TRY(check_value(*knob, value));
  }
  return {};
}

nlohmann::json to_json(const DeclaredKnob& knob) {
  nlohmann::json document = {{"name", knob.name}, {"default", to_json(knob.default_value)}};
  if (!knob.unit.empty()) document["unit"] = knob.unit;
  if (!knob.choices.empty()) {
    document["choices"] = knob.choices;
    return document;
  }
  document["low"] = knob.low;
  document["high"] = knob.high;
  if (knob.log) document["log"] = true;
  return document;
}

void read_declared_knob(JsonReader& reader, DeclaredKnob& knob) {
  reader.text("name", knob.name);
  reader.text("unit", knob.unit, "");
  reader.texts("choices", knob.choices, kOptional);
  if (knob.choices.empty()) {
    reader.integer("low", knob.low, -kMaxJobInteger, kMaxJobInteger);
    reader.integer("high", knob.high, -kMaxJobInteger, kMaxJobInteger);
    reader.flag("log", knob.log, false);
  }
  reader.value("default",
               [&](const JsonValue& value) { read_job_value(value, knob.default_value); });
  if (!reader.finish()) return;
  if (const auto ok = validate(knob); !ok) reader.self().fail(ok.error());
}

}  // namespace hocket
