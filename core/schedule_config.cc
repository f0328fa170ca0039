#include "core/schedule_config.h"

#include <algorithm>
#include <array>

#include "core/json.h"

namespace hocket {
namespace {

constexpr const char* kConfigFormat = "hocket-schedule";
constexpr int kConfigVersion = 1;
constexpr std::int64_t KiB = 1 << 10, MiB = 1 << 20;

const Knob& knob(std::string_view name) {
  const auto knobs = schedule_knobs();
  return *std::find_if(knobs.begin(), knobs.end(), [&](const Knob& k) { return k.name == name; });
}

Result<void> check_range(const char* name, std::int64_t value) {
  const Knob& k = knob(name);
  if (value >= k.low && value <= k.high) return {};
  return failure(ErrorCode::invalid_argument,
                 std::string("field \"") + name + "\": expected an integer from " +
                     std::to_string(k.low) + " to " + std::to_string(k.high) + ", found " +
                     std::to_string(value));
}

/// Reads `object[name]` into `target` if it is there.
template <class T>
Result<void> read_knob(const nlohmann::json& object, const char* name, T& target) {
  if (!object.contains(name)) return {};
  const auto value = read_integer(object, name, knob(name).low, knob(name).high);
  if (!value) return failure(value.error());
  target = static_cast<T>(*value);
  return {};
}

Result<CollectiveOrder> read_order(const nlohmann::json& object) {
  const auto text = read_string(object, "order");
  if (!text) return failure(text.error());
  for (const auto order :
       {CollectiveOrder::fifo, CollectiveOrder::static_order, CollectiveOrder::negotiated}) {
    if (*text == to_string(order)) return order;
  }
  if (*text == "priority") return CollectiveOrder::negotiated;
  return failure(
      ErrorCode::invalid_argument,
      "field \"order\": expected one of fifo, static, negotiated, found \"" + *text + "\"");
}

}  // namespace

std::span<const Knob> schedule_knobs() {
  static const std::array<Knob, 5> knobs{{
      {"partition_bytes", 4 * KiB, 1024 * MiB, 64 * KiB, 64 * MiB, true, {}, {}},
      {"credit_bytes", 4 * KiB, 16384 * MiB, 64 * KiB, 256 * MiB, true, {}, {}},
      {"streams", 1, 64, 1, 4, false, {}, {}},
      {"comm_channels", 1, 16, 1, 8, true, {}, {}},
      {"order", 0, 0, 0, 0, false, {"fifo", "static", "negotiated"}, {"priority"}},
  }};
  return knobs;
}

std::string_view to_string(CollectiveOrder order) {
  switch (order) {
    case CollectiveOrder::fifo:
      return "fifo";
    case CollectiveOrder::static_order:
      return "static";
    case CollectiveOrder::negotiated:
      return "negotiated";
  }
  return "";
}

Result<void> validate(const ScheduleConfig& config) {
  if (auto ok = check_range("partition_bytes", config.partition_bytes); !ok) return ok;
  if (auto ok = check_range("credit_bytes", config.credit_bytes); !ok) return ok;
  if (auto ok = check_range("streams", config.streams); !ok) return ok;
  return check_range("comm_channels", config.comm_channels);
}

nlohmann::json to_json(const ScheduleConfig& config) {
  nlohmann::json document = config.unknown_fields;
  document["format"] = kConfigFormat;
  document["version"] = kConfigVersion;
  document["partition_bytes"] = config.partition_bytes;
  document["credit_bytes"] = config.credit_bytes;
  document["streams"] = config.streams;
  document["comm_channels"] = config.comm_channels;
  document["order"] = to_string(config.order);
  return document;
}

Result<ScheduleConfig> schedule_config_from_json(const nlohmann::json& document,
                                                 std::vector<std::string>* warnings) {
  ScheduleConfig config;
  if (!document.is_object()) {
    return failure(ErrorCode::invalid_argument, "configuration must be a JSON object");
  }
  if (const auto format = read_string(document, "format"); !format || *format != kConfigFormat) {
    return failure(
        format ? Error{ErrorCode::invalid_argument,
                       "field \"format\": expected \"hocket-schedule\", found \"" + *format + "\""}
               : format.error());
  }
  // A newer version is read too: what it added is kept below, what it shares is checked here.
  const auto version = read_integer(document, "version", 1, INT32_MAX);
  if (!version) return failure(version.error());
  if (auto ok = read_knob(document, "partition_bytes", config.partition_bytes); !ok)
    return failure(ok.error());
  if (auto ok = read_knob(document, "credit_bytes", config.credit_bytes); !ok)
    return failure(ok.error());
  if (auto ok = read_knob(document, "streams", config.streams); !ok) return failure(ok.error());
  if (auto ok = read_knob(document, "comm_channels", config.comm_channels); !ok)
    return failure(ok.error());
  if (document.contains("order")) {
    const auto order = read_order(document);
    if (!order) return failure(order.error());
    config.order = *order;
  }
  for (const auto& [name, value] : document.items()) {
    const auto knobs = schedule_knobs();
    const bool known = name == "format" || name == "version" ||
                       std::any_of(knobs.begin(), knobs.end(),
                                   [&name = name](const Knob& k) { return k.name == name; });
    if (known) continue;
    config.unknown_fields[name] = value;
    if (warnings)
      warnings->push_back("field \"" + name + "\" is not known to this version and has no effect");
  }
  return config;
}

Result<ScheduleConfig> parse_schedule_config(std::string_view text,
                                             std::vector<std::string>* warnings) {
  const auto document = parse_object(text, "configuration");
  if (!document) return failure(document.error());
  return schedule_config_from_json(*document, warnings);
}

}  // namespace hocket
