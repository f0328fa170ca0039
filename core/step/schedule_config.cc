#include "core/step/schedule_config.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/base/json.h"
#include "core/base/json_reader.h"
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

// Single list of the knobs and their fields. A visitor has integer() and choice(), called with a
// knob's name and its field.
template <class Visitor, class Config>
void visit_knobs(Visitor& visitor, Config& config) {
  visitor.integer("partition_bytes", config.partition_bytes);
  visitor.integer("credit_bytes", config.credit_bytes);
  visitor.integer("streams", config.streams);
  visitor.integer("comm_channels", config.comm_channels);
  visitor.choice("order", config.order);
  visitor.choice("communication", config.communication);
  visitor.integer("pull_credit_bytes", config.pull_credit_bytes);
  visitor.integer("bucket_bytes", config.bucket_bytes);
  visitor.choice("primitive", config.primitive);
  visitor.integer("group_ranks", config.group_ranks);
  visitor.choice("launch", config.launch);
  visitor.integer("compute_parts", config.compute_parts);
  visitor.choice("compute_order", config.compute_order);
  visitor.integer("micro_batches_kept", config.micro_batches_kept);
  visitor.integer("offload_k", config.offload_k);
  visitor.integer("prefetch_layers", config.prefetch_layers);
  visitor.choice("step_issue", config.step_issue);
}

template <class Visitor, class Region>
void visit_region(Visitor& visitor, Region& region) {
  visitor.integer("partition_bytes", region.partition_bytes);
  visitor.integer("bucket_bytes", region.bucket_bytes);
  visitor.integer("streams", region.streams);
  visitor.integer("priority", region.priority);
  visitor.choice("primitive", region.primitive);
  visitor.integer("group_ranks", region.group_ranks);
  visitor.choice("launch", region.launch);
  visitor.integer("compute_parts", region.compute_parts);
}

const Knob& named(std::span<const Knob> knobs, std::string_view name) {
  return *std::ranges::find(knobs, name, &Knob::name);
}

template <class T>
struct Optional {
  using Value = T;
  static constexpr bool is = false;
};
template <class T>
struct Optional<std::optional<T>> {
  using Value = T;
  static constexpr bool is = true;
};
template <class T>
using ValueOf = typename Optional<std::remove_const_t<T>>::Value;

/// Reads the knobs present in an object.
class KnobReader {
 public:
  KnobReader(JsonReader& fields, std::span<const Knob> knobs) : fields_(fields), knobs_(knobs) {}

  template <class T>
  void integer(const char* name, T& target) {
    const Knob& knob = named(knobs_, name);
    const auto read = [&](const JsonValue& found) {
      target = static_cast<ValueOf<T>>(found.integer(knob.low, knob.high));
    };
    fields_.value(name, read, kOptional);
  }
  template <class T>
  void choice(const char* name, T& target) {
    const Knob& knob = named(knobs_, name);
    const auto read = [&](const JsonValue& found) {
      target = static_cast<ValueOf<T>>(index_of(found, knob));
    };
    fields_.value(name, read, kOptional);
  }

 private:
  static std::size_t index_of(const JsonValue& found, const Knob& knob) {
    const auto other = std::ranges::find_if(
        knob.other_spellings, [&](const Knob::Spelling& each) { return found.is(each.word); });
    if (other == knob.other_spellings.end()) return found.word(knob.choices);
    return static_cast<std::size_t>(std::ranges::find(knob.choices, other->choice) -
                                    knob.choices.begin());
  }

  JsonReader& fields_;
  const std::span<const Knob> knobs_;
};

/// Writes every field that has a value to an object, under names that begin with `prefix`.
class KnobWriter {
 public:
  KnobWriter(json& object, std::string prefix, std::span<const Knob> knobs)
      : object_(object), prefix_(std::move(prefix)), knobs_(knobs) {}

  template <class T>
  void integer(const char* name, const T& value) {
    write(name, value, [](const auto& number) { return json(number); });
  }
  template <class T>
  void choice(const char* name, const T& value) {
    write(name, value, [&](const auto& chosen) {
      return json(named(knobs_, name).choices[static_cast<std::size_t>(chosen)]);
    });
  }

 private:
  template <class T, class ToJson>
  void write(const char* name, const T& value, ToJson to_json) {
    if constexpr (Optional<T>::is) {
      if (value) object_[prefix_ + name] = to_json(*value);
    } else {
      object_[prefix_ + name] = to_json(value);
    }
  }

  json& object_;
  const std::string prefix_;
  const std::span<const Knob> knobs_;
};

/// Keeps the error of the first integer that is out of range.
class KnobChecker {
 public:
  KnobChecker(std::string prefix, std::span<const Knob> knobs)
      : prefix_(std::move(prefix)), knobs_(knobs) {}

  template <class T>
  void integer(const char* name, const T& value) {
    if constexpr (Optional<T>::is) {
      if (value) check(name, *value);
    } else {
      check(name, value);
    }
  }
  template <class T>
  void choice(const char*, const T&) {}

  const std::optional<Error>& error() const { return error_; }

 private:
  void check(const char* name, std::int64_t value) {
    const Knob& knob = named(knobs_, name);
    if ((value < knob.low || value > knob.high) && !error_)
      error_ = wrong_integer(prefix_ + name, knob.low, knob.high, value);
  }

  const std::string prefix_;
  const std::span<const Knob> knobs_;
  std::optional<Error> error_;
};

std::string region_path(const std::string& region) {
  return std::string(kRegionKnobPrefix) + region + ".";
}

Error contradiction(const std::string& region, const char* field, const std::string& what) {
  return {ErrorCode::invalid_argument, "field \"" + region_path(region) + field + "\": " + what};
}

/// Returns the first value out of range or contradiction in a region's overrides.
std::optional<Error> check_region(const ScheduleConfig& config, const std::string& name,
                                  const RegionOverrides& region) {
  KnobChecker ranges(region_path(name), region_knobs());
  visit_region(ranges, region);
  if (ranges.error()) return ranges.error();
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

/// Keeps the fields that the reader has not asked for, and adds a warning for each.
void keep_others(JsonReader& reader, std::map<std::string, std::string>& unknown_fields,
                 std::vector<std::string>* warnings) {
  reader.others([&](const std::string& name, const JsonValue& value) {
    unknown_fields[name] = value.json().dump(-1, ' ', false, json::error_handler_t::replace);
    if (!warnings) return;
    const FrameworkKnob* const other = find_framework_knob(name);
    warnings->push_back("field \"" + value.path() +
                        "\" is not known to this version and has no effect" +
                        (other == nullptr ? reader.suggestion(name) : "; " + in_own_words(*other)));
  });
}

json with_others(const std::map<std::string, std::string>& unknown_fields) {
  json document = json::object();
  for (const auto& [name, text] : unknown_fields)
    document[name] = json::parse(text, nullptr, /*allow_exceptions=*/false);
  return document;
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

void read_knobs(JsonReader& reader, ScheduleConfig& config, std::vector<std::string>* warnings) {
  KnobReader knobs(reader, schedule_knobs());
  visit_knobs(knobs, config);
  const auto read_region = [&](JsonReader& fields, RegionOverrides& region) {
    KnobReader overrides(fields, region_knobs());
    visit_region(overrides, region);
    fields.value(
        kDimension, [&](const JsonValue& found) { region.dimension = found.text(); }, kOptional);
    keep_others(fields, region.unknown_fields, warnings);
  };
  const auto read_regions = [&](JsonReader& regions) {
    regions.members([&](const std::string& name, const JsonValue& value) {
      if (name.empty()) regions.self().refuse("names that are not empty");
      value.object([&](JsonReader& fields) { read_region(fields, config.regions[name]); });
    });
  };
  reader.object(kRegions, read_regions, kOptional);
  reader.object(
      kJob, [&](JsonReader& values) { read_job_values(values, config.job); }, kOptional);
  keep_others(reader, config.unknown_fields, warnings);
}

void read_config(JsonReader& reader, ScheduleConfig& config, std::vector<std::string>* warnings) {
  // A newer version is read too: its new fields are kept, the shared ones checked.
  reader.format(kConfigFormat, std::numeric_limits<int>::max());
  read_knobs(reader, config, warnings);
  if (!reader.finish()) return;
  if (const auto ok = validate(config); !ok) reader.self().fail(ok.error());
}

/// Returns true for the knobs of the first format, which are written whatever their value.
bool is_always_written(std::string_view knob) {
  constexpr std::array<std::string_view, 5> names{"partition_bytes", "credit_bytes", "streams",
                                                  "comm_channels", "order"};
  return std::ranges::count(names, knob) > 0;
}

}  // namespace

std::string_view to_string(CollectiveOrder order) {
  return named(schedule_knobs(), "order").choices[static_cast<std::size_t>(order)];
}
std::string_view to_string(Communication communication) {
  return named(schedule_knobs(), "communication").choices[static_cast<std::size_t>(communication)];
}
std::string_view to_string(CollectivePrimitive primitive) {
  return named(schedule_knobs(), "primitive").choices[static_cast<std::size_t>(primitive)];
}
std::string_view to_string(CollectiveLaunch launch) {
  return named(schedule_knobs(), "launch").choices[static_cast<std::size_t>(launch)];
}
std::string_view to_string(ComputeOrder order) {
  return named(schedule_knobs(), "compute_order").choices[static_cast<std::size_t>(order)];
}
std::string_view to_string(StepIssue issue) {
  return named(schedule_knobs(), "step_issue").choices[static_cast<std::size_t>(issue)];
}

Result<void> validate(const ScheduleConfig& config) {
  KnobChecker ranges("", schedule_knobs());
  visit_knobs(ranges, config);
  if (ranges.error()) return failure(*ranges.error());
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
  KnobWriter knobs(values, "", schedule_knobs());
  visit_knobs(knobs, config);
  for (const auto& [name, value] : config.job) values[knob_name_of(name)] = to_json(value);
  for (const auto& [name, region] : config.regions) {
    KnobWriter overrides(values, region_path(name), region_knobs());
    visit_region(overrides, region);
    if (region.dimension) values[region_path(name) + kDimension] = *region.dimension;
  }
  return values;
}

ScheduleConfig unpartitioned(const ScheduleConfig& config) {
  const ScheduleConfig plain;
  ScheduleConfig result = config;
  result.bucket_bytes = plain.bucket_bytes;
  result.primitive = plain.primitive;
  result.group_ranks = plain.group_ranks;
  result.launch = plain.launch;
  result.compute_parts = plain.compute_parts;
  result.compute_order = plain.compute_order;
  result.micro_batches_kept = plain.micro_batches_kept;
  result.regions.clear();
  return result;
}

bool is_partitioned(const ScheduleConfig& config) {
  return config != unpartitioned(config);
}

std::vector<std::string> changed_knobs(const ScheduleConfig& from, const ScheduleConfig& to) {
  const json old_values = knob_values(from), new_values = knob_values(to);
  std::vector<std::string> changed;
  for (const Knob& knob : schedule_knobs()) {
    const std::string name(knob.name);
    if (old_values.at(name) != new_values.at(name)) changed.push_back(name);
  }
  json others = old_values;
  others.update(new_values);
  for (const auto& [name, value] : others.items()) {
    if (!name.starts_with(kRegionKnobPrefix) && !name.starts_with(kJobKnobPrefix)) continue;
    if (old_values.value(name, json()) != new_values.value(name, json())) changed.push_back(name);
  }
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
  read_knobs(reader, changed, nullptr);
  return reader.result(std::move(changed));
}

json to_json(const ScheduleConfig& config) {
  json document = with_others(config.unknown_fields);
  document["format"] = kConfigFormat;
  document["version"] = kConfigVersion;
  const json defaults = knob_values(ScheduleConfig{});
  KnobWriter knobs(document, "", schedule_knobs());
  visit_knobs(knobs, config);
  for (const auto& [name, value] : defaults.items()) {
    if (!is_always_written(name) && document[name] == value) document.erase(name);
  }
  for (const auto& [name, value] : config.job) document[kJob][name] = to_json(value);
  for (const auto& [name, region] : config.regions) {
    json& overrides = document[kRegions][name] = with_others(region.unknown_fields);
    KnobWriter writer(overrides, "", region_knobs());
    visit_region(writer, region);
    if (region.dimension) overrides[kDimension] = *region.dimension;
  }
  return document;
}

json to_json(const JobValue& value) {
  return std::visit([](const auto& held) { return json(held); }, value);
}

void read_job_value(const JsonValue& found, JobValue& value) {
  if (found.json().is_string()) {
    value = found.text(kMaxJobWordBytes);
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
  read_config(reader, config, warnings);
  return reader.result(std::move(config));
}

void read_schedule_config(JsonReader& reader, ScheduleConfig& config) {
  read_config(reader, config, nullptr);
}

Result<ScheduleConfig> parse_schedule_config(std::string_view text,
                                             std::vector<std::string>* warnings) {
  const auto document = parse_object(text, "configuration");
  HOCKET_TRY(document);
  return schedule_config_from_json(*document, warnings);
}

}  // namespace hocket
