#include "archive/studies/study_result.h"

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json_reader.h"

namespace hocket {
namespace {

nlohmann::json optional_number(std::optional<double> number) {
  return number ? nlohmann::json(*number) : nlohmann::json();
}

nlohmann::json measured_json(const MeasuredParams& measured) {
  nlohmann::json document = {
      {"params", to_json(measured.params)},
      {"value", optional_number(measured.value)},
      {"spread", measured.value ? nlohmann::json(measured.spread) : nlohmann::json()}};
  if (!measured.others.empty()) document["others"] = measured.others;
  if (!measured.other_spreads.empty()) document["other_spreads"] = measured.other_spreads;
  return document;
}

void read_measured(JsonReader& reader, MeasuredParams& measured) {
  reader.part("params", measured.params, read_params);
  bool is_null = false;
  reader.value("value", [&](const JsonValue& value) {
    is_null = value.json().is_null();
    if (!is_null) measured.value = value.number();
  });
  if (is_null) return;
  reader.number("spread", measured.spread);
  const auto read_other = [&](const JsonValue& other) {
    measured.others.push_back(other.number());
  };
  reader.array("others", read_other, kOptional);
  const auto read_spread = [&](const JsonValue& spread) {
    measured.other_spreads.push_back(spread.number());
  };
  reader.array("other_spreads", read_spread, kOptional);
}

constexpr std::array<Word<FrontState>, 3> kFrontStates = {
    {{"searched", FrontState::searched},
     {"confirmed", FrontState::confirmed},
     {"unconfirmed", FrontState::unconfirmed}}};

nlohmann::json front_json(const std::vector<FrontPoint>& front) {
  auto list = nlohmann::json::array();
  for (const FrontPoint& point : front) {
    auto entry = measured_json(point.measured);
    entry["number"] = point.number + 1;
    entry["runs"] = point.runs;
    for (const auto& [word, state] : kFrontStates) {
      if (state == point.state) entry["state"] = word;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

void read_front_point(JsonReader& reader, FrontPoint& point) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  read_measured(reader, point.measured);
  std::int64_t number = 1;
  reader.integer("number", number, 1, kMost);
  point.number = number - 1;
  reader.integer("runs", point.runs, 0, std::numeric_limits<int>::max(), 0);
  reader.choice("state", point.state, kFrontStates, FrontState::searched);
}

nlohmann::json interval_json(const std::optional<GainInterval>& interval) {
  if (!interval) return {};
  return {{"low", interval->low}, {"high", interval->high}, {"confidence", kGainConfidence}};
}

void read_interval(const JsonValue& value, StudyResult& result) {
  if (value.json().is_null()) return;
  GainInterval& interval = result.interval.emplace();
  value.object([&](JsonReader& fields) {
    fields.number("low", interval.low);
    fields.number("high", interval.high);
  });
}

void read_study_result(JsonReader& reader, StudyResult& result) {
  reader.part("default", result.default_params, read_measured);
  reader.part("best", result.best, read_measured);
  reader.number("gain", result.gain);
  // Versions before 0.2 wrote "noise", and no interval.
  reader.number(reader.has("needed") ? "needed" : "noise", result.needed);
  reader.value(
      "gain_interval", [&](const JsonValue& bounds) { read_interval(bounds, result); }, kOptional);
  reader.text("reason", result.reason);
  reader.flag("promoted", result.promoted);
  reader.parts("front", result.front, read_front_point, kAnySize, kOptional);
  const auto read_stopped = [&](const JsonValue& stopped) {
    if (stopped.json().is_string()) result.stopped = stopped.text();
  };
  reader.value("stopped", read_stopped, kOptional);
}

}  // namespace

nlohmann::json to_json(const StudyResult& result) {
  nlohmann::json document = {{"default", measured_json(result.default_params)},
                             {"best", measured_json(result.best)},
                             {"promoted", result.promoted},
                             {"gain", result.gain},
                             {"needed", result.needed},
                             {"gain_interval", interval_json(result.interval)},
                             {"reason", result.reason},
                             {"stopped", result.stopped}};
  if (!result.front.empty()) document["front"] = front_json(result.front);
  return document;
}

Result<StudyResult> study_result_from_json(const nlohmann::json& document) {
  return read_json(document, read_study_result);
}

}  // namespace hocket
