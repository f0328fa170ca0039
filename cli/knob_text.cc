#include "cli/knob_text.h"

#include <algorithm>
#include <numeric>

#include "cli/text.h"

namespace hocket {
namespace {

/// Levenshtein's distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

Error unknown_knob(std::string_view name) {
  const auto knobs = schedule_knobs();
  const auto nearest = std::min_element(knobs.begin(), knobs.end(), [&](auto& a, auto& b) {
    return distance(a.name, name) < distance(b.name, name);
  });
  std::string known;
  for (const Knob& knob : knobs) {
    known += known.empty() ? "" : ", ";
    known += knob.name;
  }
  return {ErrorCode::invalid_argument, "no knob is named \"" + std::string(name) +
                                           "\"; the nearest is " + std::string(nearest->name) +
                                           " of " + known};
}

Result<void> set_integer(ScheduleConfig& config, const Knob& knob, std::string_view value) {
  const auto number = parse_size(value);
  if (!number || *number < knob.low || *number > knob.high) {
    return invalid("knob " + std::string(knob.name) + ": expected an integer from " +
                   std::to_string(knob.low) + " to " + std::to_string(knob.high) +
                   (knob.name.ends_with("_bytes") ? " (or a size such as 4MiB)" : "") +
                   ", found \"" + std::string(value) + "\"");
  }
  auto document = to_json(config);
  document[std::string(knob.name)] = *number;
  config = schedule_config_from_json(document).value();
  return {};
}

Result<void> set_choice(ScheduleConfig& config, const Knob& knob, std::string_view value) {
  auto document = to_json(config);
  document[std::string(knob.name)] = value;
  // It also knows the earlier spellings of a choice, which the knob does not list.
  auto changed = schedule_config_from_json(document);
  if (!changed) return failure(changed.error());
  config = std::move(*changed);
  return {};
}

Result<void> set_knob(ScheduleConfig& config, std::string_view name, std::string_view value) {
  for (const Knob& knob : schedule_knobs()) {
    if (knob.name != name) continue;
    return knob.choices.empty() ? set_integer(config, knob, value)
                                : set_choice(config, knob, value);
  }
  return failure(unknown_knob(name));
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
    if (auto ok = set_knob(ignored, sweep.name, value); !ok) return failure(ok.error());
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
