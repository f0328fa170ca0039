#include "core/protocol/runnable_values.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "core/step/knob.h"

namespace hocket {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxValues = 64;

/// Returns a knob of the job's own with every value that such a knob may have; its words are not
/// known here.
const Knob& any_own_knob() {
  static const Knob& knob =
      *new Knob{.name = "job", .meaning = "", .low = -kMaxJobInteger, .high = kMaxJobInteger};
  return knob;
}

/// Returns the knob that an entry is about, which may be one that only regions have.
const Knob* knob_of_entry(std::string_view name) {
  if (is_job_knob(name)) return &any_own_knob();
  if (const Knob* const knob = find_knob(name)) return knob;
  const auto& knobs = region_knobs();
  const auto found = std::ranges::find(knobs, name, &Knob::name);
  return found == knobs.end() ? nullptr : &*found;
}

/// Returns the entry for the knob `name`; null if there is none.
const KnobValues* entry_of(const ValuesByKnob& values, std::string_view name) {
  if (const auto found = values.find(name); found != values.end()) return &found->second;
  const auto of_region = split_region_knob(name);
  if (!of_region) return nullptr;
  const auto found = values.find(of_region->second);
  return found == values.end() ? nullptr : &found->second;
}

/// Returns the knob whose value `name`, a name out of changed_knobs(), is a part of. A region's
/// dimension is that of its compute parts.
std::string knob_of_change(const std::string& name) {
  const auto of_region = split_region_knob(name);
  if (!of_region || find_knob(name) != nullptr) return name;
  return std::string(kRegionKnobPrefix) + of_region->first + ".compute_parts";
}

std::string text_of(const KnobValue& value) {
  return value.word.empty() ? std::to_string(value.number) : value.word;
}

/// Returns "fifo, negotiated", "1, 8", "1 to 4" or "at least 1".
std::string text_of(const KnobValues& values) {
  std::string text;
  const auto add = [&](const std::string& value) { text += (text.empty() ? "" : ", ") + value; };
  for (const std::string& word : values.words) add(word);
  for (const std::int64_t number : values.numbers) add(std::to_string(number));
  if (!text.empty()) return text;
  if (values.low && values.high) {
    return std::to_string(*values.low) + " to " + std::to_string(*values.high);
  }
  if (values.low) return "at least " + std::to_string(*values.low);
  return values.high ? "at most " + std::to_string(*values.high) : "any value";
}

Error cannot(const std::string& name, const KnobValue& value, const std::string& why) {
  return {ErrorCode::invalid_argument, name + "=" + text_of(value) + ": " + why};
}

/// Returns for example "the job does not have streams; it has order, job.bucket_bytes".
std::string no_such_knob(const RunnableValues& can_run, const std::string& name) {
  std::string text;
  for (const auto& [known, values] : *can_run.start) text += (text.empty() ? "" : ", ") + known;
  return "the job does not have " + name + (text.empty() ? "" : "; it has " + text);
}

/// Calls `check(name, value)` for each knob of `to` that differs from `from`.
template <class Check>
Result<void> check_changed(const ScheduleConfig& from, const ScheduleConfig& to,
                           const Check& check) {
  const json document = to_json(to);
  for (const std::string& changed : changed_knobs(from, to)) {
    const std::string name = knob_of_change(changed);
    const auto value = read_knob(document, name);
    // One of the job's own that `to` leaves out gets its default.
    if (!value && value.error().code == ErrorCode::not_found) continue;
    HOCKET_TRY(value);
    HOCKET_TRY(check(name, *value));
  }
  return {};
}

json to_json(const ValuesByKnob& values) {
  json document = json::object();
  for (const auto& [name, set] : values) {
    json& entry = document[name] = json::object();
    if (set.low) entry["low"] = *set.low;
    if (set.high) entry["high"] = *set.high;
    if (!set.numbers.empty()) entry = set.numbers;
    if (!set.words.empty()) entry = set.words;
  }
  return document;
}

void read_listed(const JsonValue& found, const Knob& knob, KnobValues& values) {
  const bool is_own = &knob == &any_own_knob();
  const auto read_one = [&](const JsonValue& value) {
    if (is_own && value.json().is_string()) {
      values.words.push_back(value.text(kMaxJobWordBytes));
    } else if (knob.choices.empty()) {
      values.numbers.push_back(value.integer(knob.low, knob.high));
    } else {
      values.words.emplace_back(knob.choices[value.word(knob.choices)]);
    }
  };
  found.array(read_one, kMaxValues);
  // An empty list would mean every value.
  if (found.json().is_array() && found.json().empty()) found.refuse("at least one value");
  if (!values.words.empty() && !values.numbers.empty()) found.refuse("numbers or words, not both");
}

void read_values(const JsonValue& found, const Knob& knob, KnobValues& values) {
  if (!found.json().is_object()) return read_listed(found, knob, values);
  found.object([&](JsonReader& fields) {
    if (!knob.choices.empty()) return;
    fields.integer("low", values.low, knob.low, knob.high);
    fields.integer("high", values.high, knob.low, knob.high);
    if (values.low && values.high && *values.low > *values.high) {
      fields.self().refuse("low at most high");
    }
  });
}

void read_by_knob(JsonReader& reader, ValuesByKnob& values) {
  reader.members([&](const std::string& name, const JsonValue& value) {
    const Knob* const knob = knob_of_entry(name);
    if (knob == nullptr) return value.fail(unknown_knob(name));
    read_values(value, *knob, values[name]);
  });
}

}  // namespace

bool KnobValues::contains(const KnobValue& value) const {
  if (!value.word.empty()) {
    // Values of the job's own knobs may be of the wrong kind.
    const bool has_numbers = low || high || !numbers.empty();
    return words.empty() ? !has_numbers : std::ranges::count(words, value.word) > 0;
  }
  if (!words.empty()) return false;
  if (!numbers.empty()) return std::ranges::count(numbers, value.number) > 0;
  return value.number >= low.value_or(value.number) && value.number <= high.value_or(value.number);
}

std::optional<KnobValues> running_values(const RunnableValues& can_run,
                                         std::span<const std::string> knobs,
                                         std::string_view name) {
  if (can_run.running) {
    if (const KnobValues* const values = entry_of(*can_run.running, name)) return *values;
  }
  if (std::ranges::find(knobs, name) == knobs.end()) return std::nullopt;
  if (!can_run.start) return KnobValues{};
  const KnobValues* const values = entry_of(*can_run.start, name);
  return values ? std::optional(*values) : std::nullopt;
}

Result<void> check_start(const RunnableValues& can_run, const ScheduleConfig& config) {
  if (!can_run.start) {
    if (config.order != CollectiveOrder::static_order) return {};
    return failure(ErrorCode::invalid_argument,
                   "order=static: the job does not say that it can make such an order");
  }
  return check_changed(
      {}, config, [&](const std::string& name, const KnobValue& value) -> Result<void> {
        const KnobValues* const values = entry_of(*can_run.start, name);
        if (values == nullptr) return failure(cannot(name, value, no_such_knob(can_run, name)));
        if (values->contains(value)) return {};
        return failure(cannot(name, value, "the job can start with " + text_of(*values)));
      });
}

Result<void> check_change(const RunnableValues& can_run, std::span<const std::string> knobs,
                          const ScheduleConfig& from, const ScheduleConfig& to) {
  return check_changed(
      from, to, [&](const std::string& name, const KnobValue& value) -> Result<void> {
        const auto values = running_values(can_run, knobs, name);
        if (!values) {
          return failure(cannot(name, value, "the job cannot change " + name + " while it runs"));
        }
        if (values->contains(value)) return {};
        return failure(
            cannot(name, value, "while it runs the job can change to " + text_of(*values)));
      });
}

nlohmann::json to_json(const RunnableValues& can_run) {
  json document = json::object();
  if (can_run.start) document["start"] = to_json(*can_run.start);
  if (can_run.running) document["running"] = to_json(*can_run.running);
  return document;
}

void read_runnable_values(JsonReader& reader, RunnableValues& can_run) {
  reader.part("start", can_run.start, read_by_knob);
  reader.part("running", can_run.running, read_by_knob);
}

Result<RunnableValues> parse_runnable_values(std::string_view text) {
  const auto document = parse_object(text, "the values that the job can run");
  HOCKET_TRY(document);
  return read_json(*document, read_runnable_values);
}

}  // namespace hocket
