#pragma once

// The knobs of the scheduler: one plain value, one versioned JSON form
// (docs/formats/schedule_config.md).

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace hocket {

/// The order in which collectives start; the same on every rank.
enum class CollectiveOrder {
  fifo,          ///< in the order of submission, which is that of the backward pass
  static_order,  ///< as computed before the job from a step description; "static" in JSON
  negotiated,    ///< most urgent ready part first, as rank 0 sees it and tells the others
                 ///< (ByteScheduler, SOSP 2019, section 4); "priority" is read as this, too
};

struct ScheduleConfig {
  /// A collective is cut into parts of at most this many bytes.
  std::int64_t partition_bytes = 4 << 20;
  /// At most this many bytes of parts are in flight; one larger part may go alone.
  std::int64_t credit_bytes = 16 << 20;
  /// Independent compute tasks run at once on this many streams.
  int streams = 1;
  /// Parts within the window that are on the wire at once; they share its bandwidth.
  int comm_channels = 1;
  CollectiveOrder order = CollectiveOrder::fifo;

  /// Fields of a newer version: kept and written back, without effect here.
  nlohmann::json unknown_fields = nlohmann::json::object();

  bool operator==(const ScheduleConfig&) const = default;
};

/// What one field of ScheduleConfig may hold, and the part of it worth searching.
struct Knob {
  std::string_view name;
  /// Integer knobs: allowed range, both ends included. Unused for a choice.
  std::int64_t low = 0, high = 0;
  /// Integer knobs: the range that a sweep searches by default; where `log`, it is logarithmic, and
  /// its powers of two, which begin with `tune_low`, are enough.
  std::int64_t tune_low = 0, tune_high = 0;
  bool log = false;
  /// Non-empty for a knob with named values.
  std::vector<std::string_view> choices;
  /// What is read as one of them, too.
  std::vector<std::string_view> other_spellings;
};

/// Every knob, in the order of the struct.
std::span<const Knob> schedule_knobs();

/// Checks every field against its knob's range. invalid_argument names the field and the range.
Result<void> validate(const ScheduleConfig& config);

/// `{"format":"hocket-schedule","version":1,"partition_bytes":…,…}`.
nlohmann::json to_json(const ScheduleConfig& config);

/// Reads the JSON form. Absent knobs keep their defaults. Unknown fields are kept; when `warnings`
/// is given, one line for each is appended. invalid_argument names the field and the allowed range.
Result<ScheduleConfig> schedule_config_from_json(const nlohmann::json& document,
                                                 std::vector<std::string>* warnings = nullptr);
Result<ScheduleConfig> parse_schedule_config(std::string_view text,
                                             std::vector<std::string>* warnings = nullptr);

std::string_view to_string(CollectiveOrder order);

}  // namespace hocket
