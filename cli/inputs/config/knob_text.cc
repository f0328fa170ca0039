#include "cli/inputs/config/knob_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/output/value_text.h"
#include "core/step/framework_knob.h"
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
                   (knob.is_size() ? " (or a size such as 4MiB)" : "") + ", found \"" +
                   std::string(value) + "\"");
  }
  return *number;
}

/// Returns what `value` of a framework's knob is for ours, as text.
Result<std::string> converted(const FrameworkKnob& other, std::string_view value) {
  if (other.unit == 1) return std::string(value);
  constexpr double kMost = 1e15;  // beyond all knobs, and exact
  double number = -1;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool is_whole_text = error == std::errc() && end == value.data() + value.size();
  if (!is_whole_text || !(number >= 0 && number * static_cast<double>(other.unit) <= kMost)) {
    return invalid("knob " + std::string(other.name) + ": expected a plain number, as " +
                   std::string(other.framework) + " " + std::string(other.remark) + ", found \"" +
                   std::string(value) + "\"; or set " + std::string(other.knob));
  }
  return std::to_string(std::llround(number * static_cast<double>(other.unit)));
}

/// Returns the framework's knob of that name, if its values can be converted and no knob of ours
/// has the name.
const FrameworkKnob* convertible_knob(std::string_view name) {
  if (find_knob(name) != nullptr || is_job_knob(name)) return nullptr;
  const FrameworkKnob* const other = find_framework_knob(name);
  return other == nullptr || other->unit == 0 ? nullptr : other;
}

std::string own_name(const std::string& name) {
  const FrameworkKnob* const other = convertible_knob(name);
  return other == nullptr ? name : std::string(other->knob);
}

Result<void> set_knob(ScheduleConfig& config, std::string_view name, std::string_view value) {
  if (const FrameworkKnob* const other = convertible_knob(name); other != nullptr) {
    const auto own = converted(*other, value);
    HOCKET_TRY(own);
    return set_knob(config, other->knob, *own);
  }
  nlohmann::json set = value;
  if (const Knob* const knob = find_knob(name); knob != nullptr && !knob->is_choice()) {
    const auto number = integer_value(name, *knob, value);
    HOCKET_TRY(number);
    set = *number;
  } else if (const auto number = parse_size(value); number && is_job_knob(name)) {
    set = *number;  // the job says whether it is a number
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

Result<std::vector<std::vector<std::string>>> sweep_combinations(
    std::span<const KnobSweep> sweeps) {
  std::vector<std::vector<std::string>> all{{}};
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    const auto& sweep = sweeps[i];
    const auto is_same = [&](const KnobSweep& other) {
      return own_name(other.name) == own_name(sweep.name);
    };
    if (std::ranges::any_of(sweeps.first(i), is_same)) {
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
