#include "core/step/schedule_config.h"

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "core/base/text.h"
#include "core/step/framework_knob.h"
#include "core/step/knob.h"

namespace hocket {
namespace {

using nlohmann::json;

constexpr const char* kConfigFormat = "hocket-schedule";
constexpr int kConfigVersion = 1;
constexpr const char* kRegions = "regions";
constexpr const char* kJob = "job";
constexpr std::size_t kMaxJobValues = 64;
constexpr const char* kDimension = "dimension";
constexpr std::size_t kMaxRegionTextBytes = 200;

std::span<const Knob> knobs_of(const ScheduleConfig&) {
  return schedule_knobs();
}
std::span<const Knob> knobs_of(const RegionOverrides&) {
  return region_knobs();
}

const KnobMember<ScheduleConfig>& member_of(const Knob& knob, const ScheduleConfig&) {
  return knob.member;
}
const KnobMember<RegionOverrides>& member_of(const Knob& knob, const RegionOverrides&) {
  return knob.region_member;
}

std::int64_t read_number(const Knob& knob, const JsonValue& found) {
  if (!knob.is_choice()) return found.integer(knob.low, knob.high);
  const auto index =
      found.json().is_string() ? knob.index_of(found.text()) : std::optional<std::int64_t>();
  return index ? *index : static_cast<std::int64_t>(found.word(knob.choices));
}

json number_to_json(const Knob& knob, std::int64_t number) {
  if (knob.is_choice()) return knob.choices.at(static_cast<std::size_t>(number));
  return number;
}

/// Reads the knobs present in an object.
template <class Owner>
void read_members(JsonReader& fields, Owner& owner) {
  for (const Knob& knob : knobs_of(owner)) {
    const auto read = [&](const JsonValue& found) {
      member_of(knob, owner).set(owner, read_number(knob, found));
    };
    fields.value(knob.name, read, kOptional);
  }
}

/// Calls `write(knob, number)` for every knob that has a value.
template <class Owner, class Write>
void for_each_value(const Owner& owner, const Write& write) {
  for (const Knob& knob : knobs_of(owner))
    if (const auto number = member_of(knob, owner).get(owner)) write(knob, *number);
}

/// Writes every value to an object, under names that begin with `prefix`.
template <class Owner>
void write_members(const Owner& owner, json& object, const std::string& prefix = "") {
  for_each_value(owner, [&](const Knob& knob, std::int64_t number) {
    object[prefix + std::string(knob.name)] = number_to_json(knob, number);
  });
}

/// Returns the error of the first integer that is out of range.
template <class Owner>
std::optional<Error> check_members(const Owner& owner, const std::string& prefix = "") {
  std::optional<Error> error;
  for_each_value(owner, [&](const Knob& knob, std::int64_t number) {
    const bool is_allowed = knob.is_choice() || (number >= knob.low && number <= knob.high);
    if (!is_allowed && !error)
      error = wrong_integer(prefix + std::string(knob.name), knob.low, knob.high, number);
  });
  return error;
}

std::string region_path(const std::string& region) {
  return std::string(kRegionKnobPrefix) + region + ".";
}

Error contradiction(const std::string& region, const char* field, const std::string& what) {
  return {ErrorCode::invalid_argument, "field \"" + region_path(region) + field + "\": " + what};
}

/// Returns the first value out of range or contradiction in a region's overrides.
std::optional<Error> check_region(const ScheduleConfig& config, const std::string& name,
                                  const RegionOverrides& region) {
  if (auto error = check_members(region, region_path(name))) return error;
  if (region.streams && *region.streams > config.streams) {
    return contradiction(name, "streams",
                         "expected at most the " + std::to_string(config.streams) +
                             " of \"streams\", found " + std::to_string(*region.streams));
  }
  const int compute_parts = region.compute_parts.value_or(config.compute_parts);
  if (region.dimension && compute_parts == 1) {
    return contradiction(name, kDimension,
                         "nothing is divided along \"" + *region.dimension +
                             "\", since compute_parts is 1; raise it, or leave this field out");
  }
  const std::int64_t bucket_bytes = region.bucket_bytes.value_or(config.bucket_bytes);
  if (bucket_bytes > 0 && compute_parts > 1 && (region.bucket_bytes || region.compute_parts)) {
    return contradiction(name, region.compute_parts ? "compute_parts" : "bucket_bytes",
                         "a bucket waits for all that it joins, so what feeds it is not divided; "
                         "give bucket_bytes 0 or compute_parts 1");
  }
  return std::nullopt;
}

/// Deals with a field that is no knob.
using TakeOther =
    std::function<void(JsonReader& reader, const std::string& name, const JsonValue& value)>;

void refuse_other(JsonReader&, const std::string& name, const JsonValue& value) {
  value.fail(unknown_knob(name));
}

void warn_of_other(JsonReader& reader, const std::string& name, const JsonValue& value,
                   std::vector<std::string>& warnings) {
  const FrameworkKnob* const other = find_framework_knob(name);
  warnings.push_back("field \"" + value.path() +
                     "\" is not known to this version and has no effect" +
                     (other == nullptr ? reader.suggestion(name) : "; " + in_own_words(*other)));
}

void read_others(JsonReader& reader, const TakeOther& take) {
  reader.others(
      [&](const std::string& name, const JsonValue& value) { take(reader, name, value); });
}

/// Returns whether `text` is short and without control characters, as names that people give are.
bool is_short_line(const std::string& text) {
  return text.size() <= kMaxRegionTextBytes && printable(text, kMaxRegionTextBytes) == text;
}

void read_job_values(JsonReader& values, std::map<std::string, JobValue>& job) {
  values.members([&](const std::string& name, const JsonValue& value) {
    if (!is_job_knob(knob_name_of(name))) {
      return values.self().refuse("names of 1 to 64 of a-z, 0-9 and \"_\"");
    }
    if (job.size() >= kMaxJobValues && !job.contains(name)) {
      return values.self().refuse("at most " + std::to_string(kMaxJobValues) + " knobs");
    }
    read_job_value(value, job[name]);
  });
}

void read_knobs(JsonReader& reader, ScheduleConfig& config, const TakeOther& take_other) {
  read_members(reader, config);
  const auto read_region = [&](JsonReader& fields, RegionOverrides& region) {
    read_members(fields, region);
    const auto read_dimension = [&](const JsonValue& found) {
      region.dimension = found.text();
      if (!is_short_line(*region.dimension)) found.refuse("at most 200 printable characters");
    };
    fields.value(kDimension, read_dimension, kOptional);
    read_others(fields, take_other);
  };
  const auto read_regions = [&](JsonReader& regions) {
    regions.members([&](const std::string& name, const JsonValue& value) {
      if (name.empty() || !is_short_line(name))
        return regions.self().refuse("names of 1 to 200 printable characters");
      value.object([&](JsonReader& fields) { read_region(fields, config.regions[name]); });
    });
  };
  reader.object(kRegions, read_regions, kOptional);
  reader.object(
      kJob, [&](JsonReader& values) { read_job_values(values, config.job); }, kOptional);
  read_others(reader, take_other);
}

void read_config(JsonReader& reader, ScheduleConfig& config, const TakeOther& take_other) {
  // A newer version is read too: the fields that both know are checked.
  reader.format(kConfigFormat, std::numeric_limits<int>::max());
  read_knobs(reader, config, take_other);
  if (!reader.finish()) return;
  if (const auto ok = validate(config); !ok) reader.self().fail(ok.error());
}

/// Writes the job's own knobs and those of regions, as knob_values() names them.
void write_others(const ScheduleConfig& config, json& values) {
  for (const auto& [name, value] : config.job) values[knob_name_of(name)] = to_json(value);
  for (const auto& [name, region] : config.regions) {
    write_members(region, values, region_path(name));
    if (region.dimension) values[region_path(name) + kDimension] = *region.dimension;
  }
}

}  // namespace

Result<void> validate(const ScheduleConfig& config) {
  if (const auto error = check_members(config)) return failure(*error);
  if (config.bucket_bytes > 0 && config.compute_parts > 1) {
    return failure(ErrorCode::invalid_argument,
                   "field \"compute_parts\": a bucket waits for all that it joins, so what feeds "
                   "it is not divided; give bucket_bytes 0 or compute_parts 1");
  }
  for (const auto& [name, region] : config.regions) {
    if (const auto error = check_region(config, name, region)) return failure(*error);
  }
  return {};
}

json knob_values(const ScheduleConfig& config) {
  json values = json::object();
  write_members(config, values);
  write_others(config, values);
  return values;
}

ScheduleConfig unpartitioned(const ScheduleConfig& config) {
  ScheduleConfig result = config;
  set_defaults(result, KnobEffect::partitioning);
  result.regions.clear();
  return result;
}

bool is_partitioned(const ScheduleConfig& config) {
  return !config.regions.empty() || !has_defaults(config, KnobEffect::partitioning);
}

std::vector<std::string> changed_knobs(const ScheduleConfig& from, const ScheduleConfig& to) {
  std::vector<std::string> changed;
  for (const Knob& knob : schedule_knobs())
    if (knob.value_in(from) != knob.value_in(to)) changed.emplace_back(knob.name);
  json old_values = json::object(), new_values = json::object();
  write_others(from, old_values);
  write_others(to, new_values);
  json others = old_values;
  others.update(new_values);
  for (const auto& [name, value] : others.items())
    if (old_values.value(name, json()) != new_values.value(name, json())) changed.push_back(name);
  return changed;
}

Result<ScheduleConfig> with_knob(const ScheduleConfig& config, std::string_view name,
                                 const json& value) {
  ScheduleConfig changed = config;
  const auto field = split_region_knob(name);
  const bool is_dimension = field && field->second == kDimension;
  const bool is_own = is_job_knob(name);
  if (!is_dimension && !is_own && find_knob(name) == nullptr) return failure(unknown_knob(name));
  json object;
  if (field) {
    object = {{kRegions, {{field->first, {{field->second, value}}}}}};
  } else if (is_own) {
    object = {{kJob, {{name.substr(kJobKnobPrefix.size()), value}}}};
  } else {
    object = {{name, value}};
  }
  JsonReader reader(object);
  read_knobs(reader, changed, refuse_other);
  return reader.result(std::move(changed));
}

json to_json(const ScheduleConfig& config) {
  json document;
  document["format"] = kConfigFormat;
  document["version"] = kConfigVersion;
  for (const Knob& knob : schedule_knobs()) {
    const std::int64_t number = knob.value_in(config);
    if (knob.is_always_written || number != knob.default_value)
      document[std::string(knob.name)] = number_to_json(knob, number);
  }
  for (const auto& [name, value] : config.job) document[kJob][name] = to_json(value);
  for (const auto& [name, region] : config.regions) {
    json& overrides = document[kRegions][name] = json::object();
    write_members(region, overrides);
    if (region.dimension) overrides[kDimension] = *region.dimension;
  }
  return document;
}

json to_json(const JobValue& value) {
  return std::visit([](const auto& held) { return json(held); }, value);
}

void read_job_value(const JsonValue& found, JobValue& value) {
  if (found.json().is_string()) {
    std::string word = found.text(kMaxJobWordBytes);
    if (!is_short_line(word)) found.refuse("a word of printable characters");
    value = std::move(word);
  } else {
    value = found.integer(-kMaxJobInteger, kMaxJobInteger);
  }
}

std::string job_value_text(const JobValue& value) {
  const auto* const number = std::get_if<std::int64_t>(&value);
  return number ? std::to_string(*number) : std::get<std::string>(value);
}

Result<ScheduleConfig> schedule_config_from_json(const json& document,
                                                 std::vector<std::string>* warnings) {
  JsonReader reader(document);
  ScheduleConfig config;
  read_config(reader, config, [&](JsonReader& at, const std::string& name, const JsonValue& value) {
    if (warnings) warn_of_other(at, name, value, *warnings);
  });
  return reader.result(std::move(config));
}

void read_schedule_config(JsonReader& reader, ScheduleConfig& config) {
  read_config(reader, config, refuse_other);
}

void read_known_knobs(JsonReader& reader, ScheduleConfig& config) {
  read_config(reader, config, [](JsonReader&, const std::string&, const JsonValue&) {});
}

Result<ScheduleConfig> parse_schedule_config(std::string_view text,
                                             std::vector<std::string>* warnings) {
  const auto document = parse_object(text, "configuration");
  HOCKET_TRY(document);
  return schedule_config_from_json(*document, warnings);
}

}  // namespace hocket
