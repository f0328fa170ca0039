#include "core/step/knob.h"

#include <algorithm>

#include "core/base/nearest_name.h"
#include "core/step/framework_knob.h"

namespace hocket {

std::optional<std::int64_t> Knob::index_of(std::string_view word) const {
  const auto other = std::ranges::find(other_spellings, word, &Spelling::word);
  const auto found =
      std::ranges::find(choices, other == other_spellings.end() ? word : other->choice);
  if (found == choices.end()) return std::nullopt;
  return found - choices.begin();
}

const Knob* find_schedule_knob(std::string_view name) {
  const auto knobs = schedule_knobs();
  const auto found = std::ranges::find(knobs, name, &Knob::name);
  return found == knobs.end() ? nullptr : &*found;
}

const Knob* find_knob(std::string_view name) {
  const auto field = split_region_knob(name);
  if (!field) return find_schedule_knob(name);
  const auto knobs = region_knobs();
  const auto found = std::ranges::find(knobs, field->second, &Knob::name);
  return found == knobs.end() ? nullptr : &*found;
}

Error unknown_knob(std::string_view name) {
  const auto field = split_region_knob(name);
  const std::string looked_for = field ? field->second : std::string(name);
  const std::string problem =
      (field ? "regions have no knob named \"" : "no knob is named \"") + looked_for + "\"; ";
  if (const FrameworkKnob* const other = find_framework_knob(looked_for); other != nullptr)
    return {ErrorCode::invalid_argument, problem + in_own_words(*other)};
  std::vector<KnownName> known;
  for (const Knob& knob : field ? region_knobs() : schedule_knobs())
    known.push_back({knob.name, knob.meaning});
  std::vector<std::string> meanings;
  for (const FrameworkKnob& other : framework_knobs()) meanings.push_back(in_own_words(other));
  std::vector<KnownName> elsewhere;
  for (std::size_t i = 0; i < meanings.size(); ++i)
    elsewhere.push_back({framework_knobs()[i].name, meanings[i]});
  return {ErrorCode::invalid_argument, problem + nearest_and_all(looked_for, known, elsewhere)};
}

std::string names_text(KnobEffect effect) {
  std::string text;
  for (const Knob& knob : schedule_knobs())
    if (knob.effect == effect) text += (text.empty() ? "" : ", ") + std::string(knob.name);
  return text;
}

std::vector<std::string> searched_knobs(bool has_servers) {
  std::vector<std::string> names;
  for (const Knob& knob : schedule_knobs())
    if (knob.is_searched(has_servers)) names.emplace_back(knob.name);
  return names;
}

bool has_defaults(const ScheduleConfig& config, KnobEffect effect) {
  return std::ranges::all_of(schedule_knobs(), [&](const Knob& knob) {
    return knob.effect != effect || knob.has_default(config);
  });
}

void set_defaults(ScheduleConfig& config, KnobEffect effect) {
  for (const Knob& knob : schedule_knobs())
    if (knob.effect == effect) knob.member.set(config, knob.default_value);
}

bool is_job_knob(std::string_view name) {
  constexpr std::size_t kMaxNameBytes = 64;
  if (!name.starts_with(kJobKnobPrefix)) return false;
  name.remove_prefix(kJobKnobPrefix.size());
  return !name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string knob_name_of(std::string_view declared_name) {
  return std::string(kJobKnobPrefix) + std::string(declared_name);
}

std::optional<std::pair<std::string, std::string>> split_region_knob(std::string_view name) {
  if (!name.starts_with(kRegionKnobPrefix)) return std::nullopt;
  name.remove_prefix(kRegionKnobPrefix.size());
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  return std::pair(std::string(name.substr(0, dot)), std::string(name.substr(dot + 1)));
}

}  // namespace hocket
