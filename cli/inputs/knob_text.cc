#include "cli/inputs/knob_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/output/value_text.h"
#include "core/step/knob.h"
#include "tuner/space/size_text.h"

namespace hocket {
namespace {

Result<std::int64_t> integer_value(std::string_view name, const Knob& knob,
                                   std::string_view value) {
  const auto number = parse_size(value);
  if (!number || *number < knob.low || *number > knob.high) {
    return invalid("knob " + std::string(name) + ": expected an integer from " +
                   std::to_string(knob.low) + " to " + std::to_string(knob.high) +
                   (knob.name.ends_with("_bytes") ? " (or a size such as 4MiB)" : "") +
                   ", found \"" + std::string(value) + "\"");
  }
  return *number;
}

Result<void> set_knob(ScheduleConfig& config, std::string_view name, std::string_view value) {
  nlohmann::json set = value;
  if (const Knob* const knob = find_knob(name); knob != nullptr && knob->choices.empty()) {
    const auto number = integer_value(name, *knob, value);
    HOCKET_TRY(number);
    set = *number;
  }
  auto changed = with_knob(config, name, set);
  HOCKET_TRY(changed);
  config = std::move(*changed);
  return {};
}

}  // namespace

Result<void> set_knob(ScheduleConfig& config, std::string_view assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    return invalid("expected KNOB=VALUE, found \"" + std::string(assignment) + "\"");
  }
  return set_knob(config, assignment.substr(0, equals), assignment.substr(equals + 1));
}

Result<KnobSweep> parse_knob_sweep(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) {
    return invalid("expected KNOB=A,B,C, found \"" + std::string(text) + "\"");
  }
  KnobSweep sweep{std::string(text.substr(0, equals)), {}};
  for (auto rest = text.substr(equals + 1);;) {
    const auto comma = rest.find(',');
    const auto value = rest.substr(0, comma);
    ScheduleConfig ignored;
    HOCKET_TRY(set_knob(ignored, sweep.name, value));
    sweep.values.emplace_back(value);
    if (comma == std::string_view::npos) return sweep;
    rest.remove_prefix(comma + 1);
  }
}

Result<std::vector<std::vector<std::string>>> combinations(std::span<const KnobSweep> sweeps) {
  std::vector<std::vector<std::string>> all{{}};
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    const auto& sweep = sweeps[i];
    const auto before = sweeps.first(i);
    if (std::any_of(before.begin(), before.end(), [&](auto& s) { return s.name == sweep.name; })) {
      return invalid("knob " + sweep.name + " is swept twice; give all its values at once");
    }
    if (all.size() * sweep.values.size() > kMaxCombinations) {
      return invalid("the values make more than " + std::to_string(kMaxCombinations) +
                     " combinations; give fewer");
    }
    std::vector<std::vector<std::string>> longer;
    longer.reserve(all.size() * sweep.values.size());
    for (const auto& combination : all) {
      for (const auto& value : sweep.values) {
        longer.push_back(combination);
        longer.back().push_back(value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace hocket
