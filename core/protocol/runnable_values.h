#pragma once

// The configurations that a job can run, as it says itself when it asks for one and when it
// registers: the values that it can give each knob (core/step/knob.h) when it starts, and those to
// which it can change while it runs. One JSON form (docs/openapi.json, RunnableValues). Pure
// functions; thread-safe.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/step/knob_value.h"
#include "core/step/schedule_config.h"

namespace hocket {

class JsonReader;

/// Values of one knob.
struct KnobValues {
  /// Words of a choice; empty: all.
  std::vector<std::string> words = {};
  /// Values of an integer knob; empty: all from `low` to `high`.
  std::vector<std::int64_t> numbers = {};
  /// Bounds of an integer knob, included; absent: the knob's.
  std::optional<std::int64_t> low = {}, high = {};

  bool contains(const KnobValue& value) const;
  bool operator==(const KnobValues&) const = default;
};

/// By the name of a knob. A region's knob ("regions.NAME.KNOB") without an entry of its own has
/// that of KNOB.
using ValuesByKnob = std::map<std::string, KnobValues, std::less<>>;

struct RunnableValues {
  /// Values with which the job can start. A knob without an entry keeps its default. Absent: the
  /// job does not say.
  std::optional<ValuesByKnob> start = {};
  /// Values to which the job can change a knob while it runs. A knob without an entry changes only
  /// if the job names it (JobDescription::knobs), to the values of `start`. Absent: as if it were
  /// empty if there is `start`; otherwise the job does not say.
  std::optional<ValuesByKnob> running = {};

  /// Returns whether the job says what it can change while it runs.
  bool says_running() const { return start || running; }

  bool operator==(const RunnableValues&) const = default;
};

/// Returns the values to which a job that names `knobs` can change the knob `name` while it runs;
/// nothing if it cannot change it.
std::optional<KnobValues> running_values(const RunnableValues& can_run,
                                         std::span<const std::string> knobs, std::string_view name);

/// Checks that the job can start with `config`. invalid_argument names the knob, its value and the
/// values that the job can start with. A job that does not say can start with everything but
/// order=static, for which it must have an order.
Result<void> check_start(const RunnableValues& can_run, const ScheduleConfig& config);

/// Checks that a job that names `knobs` can change from `from` to `to` while it runs.
/// invalid_argument names the knob and the values to which it can change.
Result<void> check_change(const RunnableValues& can_run, std::span<const std::string> knobs,
                          const ScheduleConfig& from, const ScheduleConfig& to);

/// `{"start":{"order":["fifo"],"streams":{"low":1,"high":4},"credit_bytes":{}},"running":{…}}`
nlohmann::json to_json(const RunnableValues& can_run);
/// Refuses knobs that do not exist and values that their knobs cannot have.
void read_runnable_values(JsonReader& reader, RunnableValues& can_run);
Result<RunnableValues> parse_runnable_values(std::string_view text);

}  // namespace hocket
