#include "capi/hocket_client_options.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "core/base/json.h"
#include "core/base/plain_text.h"
#include "core/step/knob.h"

namespace hocket {
namespace {

Error missing(const std::string& what) {
  return {ErrorCode::invalid_argument, "hocket_client_open: " + what};
}

Result<Topology> read_topology(const hocket_client_options& options) {
  nlohmann::json document = to_json(Topology{});
  if (options.topology_json != nullptr) {
    auto parsed = parse_object(options.topology_json, "topology_json");
    HOCKET_TRY(parsed);
    document = std::move(*parsed);
  }
  if (options.world_size != 0) document["world_size"] = options.world_size;
  if (options.link != nullptr) document["link"] = options.link;
  auto topology = topology_from_json(document);
  if (!topology) return failure(topology.error().in("topology_json, world_size or link"));
  return topology;
}

Result<Workload> read_workload(const hocket_client_options& options) {
  if (options.workload_name == nullptr || *options.workload_name == '\0')
    return failure(missing("workload_name must be set"));
  if (options.tensor_count > 0 && options.tensors == nullptr)
    return failure(missing("tensor_count without tensors"));
  auto tensors = nlohmann::json::array();
  for (std::size_t i = 0; i < options.tensor_count; ++i) {
    const auto& [name, bytes] = options.tensors[i];
    if (name == nullptr) return failure(missing("a tensor has no name"));
    tensors.push_back({{"name", name}, {"bytes", bytes}});
  }
  nlohmann::json described = {{"name", options.workload_name}, {"tensors", std::move(tensors)}};
  if (options.traits != nullptr) {
    auto traits = parse_object(options.traits, "traits");
    HOCKET_TRY(traits);
    described["traits"] = std::move(*traits);
  }
  // Serializing replaces invalid UTF-8, for which no fingerprint can be computed.
  const auto document = parse_object(text_of(described), "workload");
  HOCKET_TRY(document);
  return workload_from_json(*document);
}

Result<std::vector<std::string>> read_knobs(const hocket_client_options& options) {
  if (options.knob_count > 0 && options.knobs == nullptr)
    return failure(missing("knob_count without knobs"));
  std::vector<std::string> names;
  for (const char* const name : std::span(options.knobs, options.knob_count)) {
    if (name == nullptr) return failure(missing("a knob has no name"));
    if (find_schedule_knob(name) == nullptr) return failure(missing(unknown_knob(name).message));
    names.emplace_back(name);
  }
  return names;
}

Error wrong_knob(const hocket_knob& given, const std::string& what) {
  return missing("own_knobs: knob \"" + std::string(given.name) + "\": " + what);
}

Result<DeclaredKnob> read_own_knob(const hocket_knob* given) {
  if (given == nullptr || given->size < sizeof(hocket_knob) || given->name == nullptr)
    return failure(missing("own_knobs: expected knobs with a name, and size sizeof(hocket_knob)"));
  DeclaredKnob knob{.name = given->name,
                    .unit = given->unit == nullptr ? "" : given->unit,
                    .low = given->low,
                    .high = given->high,
                    .log = given->log != 0};
  if (given->choice_count == 0) {
    knob.default_value = given->default_value;
    return knob;
  }
  if (given->choices == nullptr) return failure(wrong_knob(*given, "choice_count without choices"));
  for (const char* const word : std::span(given->choices, given->choice_count)) {
    if (word == nullptr) return failure(wrong_knob(*given, "a choice is NULL"));
    knob.choices.emplace_back(word);
  }
  const auto index = static_cast<std::size_t>(given->default_value);
  if (given->default_value < 0 || index >= knob.choices.size())
    return failure(wrong_knob(*given, "default_value is not the index of a choice"));
  knob.low = knob.high = 0;
  knob.log = false;
  knob.default_value = knob.choices[index];
  return knob;
}

Result<std::vector<DeclaredKnob>> read_own_knobs(const hocket_client_options& options) {
  if (options.own_knob_count > 0 && options.own_knobs == nullptr)
    return failure(missing("own_knob_count without own_knobs"));
  std::vector<DeclaredKnob> knobs;
  for (const hocket_knob* const given : std::span(options.own_knobs, options.own_knob_count)) {
    auto knob = read_own_knob(given);
    HOCKET_TRY(knob);
    knobs.push_back(std::move(*knob));
  }
  if (const auto ok = validate(knobs); !ok) return failure(ok.error().in("own_knobs"));
  return knobs;
}

std::function<void(const std::string&)> sink_of(void (*call)(const char*, void*), void* context) {
  if (call == nullptr) return [](const std::string&) {};
  // Programs print it, and it may repeat what a daemon has said.
  return [call, context](const std::string& text) { call(plain_line(text).c_str(), context); };
}

/// Returns the options of a program that may have been compiled with fewer members.
Result<hocket_client_options> with_all_members(const hocket_client_options* given) {
  constexpr std::size_t kEarlierSizes[] = {
      offsetof(hocket_client_options, on_profile), offsetof(hocket_client_options, can_run),
      offsetof(hocket_client_options, own_knobs), offsetof(hocket_client_options, decides_alone),
      offsetof(hocket_client_options, traits)};
  if (given == nullptr || (given->size < sizeof(hocket_client_options) &&
                           std::ranges::count(kEarlierSizes, given->size) == 0)) {
    return failure(missing("options->size must be sizeof(hocket_client_options)"));
  }
  hocket_client_options options = {};
  std::memcpy(&options, given, std::min(given->size, sizeof options));
  return options;
}

/// Returns the values of the scheduler's knobs with which a program can start that does not say:
/// all, but order=static, for which it must have an order.
ValuesByKnob all_values() {
  ValuesByKnob values;
  for (const Knob& knob : schedule_knobs()) values[std::string(knob.name)] = {};
  for (const Knob& knob : region_knobs()) values[std::string(knob.name)] = {};
  values["order"].words = {std::string(to_string(CollectiveOrder::fifo)),
                           std::string(to_string(CollectiveOrder::negotiated))};
  return values;
}

/// Adds the program's own knobs to what it can run.
void add_own(std::span<const DeclaredKnob> own, RunnableValues& can_run) {
  if (own.empty()) return;
  if (!can_run.start) can_run.start = all_values();
  for (const DeclaredKnob& knob : own) {
    KnobValues& values = (*can_run.start)[knob_name_of(knob.name)];
    values.words = knob.choices;
    if (!knob.choices.empty()) continue;
    values.low = knob.low;
    values.high = knob.high;
  }
}

Result<RunnableValues> read_can_run(const hocket_client_options& given,
                                    const std::vector<std::string>& knobs,
                                    std::span<const DeclaredKnob> own) {
  RunnableValues can_run;
  if (given.can_run != nullptr) {
    auto stated = parse_runnable_values(given.can_run);
    if (!stated) return failure(stated.error().in("can_run"));
    can_run = std::move(*stated);
  }
  add_own(own, can_run);
  ValuesByKnob& running = can_run.running ? *can_run.running : can_run.running.emplace();
  auto orders = running_values(can_run, knobs, "order");
  if (!orders) return can_run;
  const Knob& order = *find_knob("order");
  if (orders->words.empty()) orders->words.assign(order.choices.begin(), order.choices.end());
  std::erase(orders->words, to_string(CollectiveOrder::static_order));
  if (orders->words.empty()) {
    return failure(missing("can_run: no program can change to order=static while it runs"));
  }
  running["order"] = std::move(*orders);
  return can_run;
}

std::function<Result<void>(const ScheduleConfig&)> accept_of(const hocket_client_options& given) {
  if (given.accept == nullptr) return {};
  return [call = given.accept, context = given.context](const ScheduleConfig& config) {
    char reason[500] = {};
    const std::string text = text_of(to_json(config));
    if (call(text.c_str(), reason, sizeof reason, context) == 0) return Result<void>();
    reason[sizeof reason - 1] = '\0';
    return Result<void>(failure(ErrorCode::invalid_argument,
                                reason[0] == '\0' ? "the program refuses it" : reason));
  };
}

std::function<bool()> may_try_of(const hocket_client_options& given) {
  if (given.may_try == nullptr) return {};
  return [call = given.may_try, context = given.context] { return call(context) != 0; };
}

std::function<void(std::int64_t, std::int64_t)> on_profile_of(const hocket_client_options& given) {
  if (given.on_profile == nullptr) return {};
  return [call = given.on_profile, context = given.context](
             std::int64_t first_step, std::int64_t steps) { call(first_step, steps, context); };
}

}  // namespace

Result<ClientOptions> read_options(const hocket_client_options* options_given) {
  const auto given = with_all_members(options_given);
  HOCKET_TRY(given);
  auto topology = read_topology(*given);
  HOCKET_TRY(topology);
  if (given->rank < 0 || given->rank >= topology->world_size) {
    return failure(missing("rank must be from 0 to " + std::to_string(topology->world_size - 1) +
                           ", of the world size"));
  }
  if (!(given->explore >= 0 && given->explore <= 0.5))
    return failure(missing("explore must be from 0 to 0.5"));
  auto knobs = read_knobs(*given);
  HOCKET_TRY(knobs);
  auto own_knobs = read_own_knobs(*given);
  HOCKET_TRY(own_knobs);
  for (std::size_t i = 0; i < own_knobs->size(); ++i) {
    if (given->own_knobs[i]->running != 0) knobs->push_back(knob_name_of((*own_knobs)[i].name));
  }
  auto can_run = read_can_run(*given, *knobs, *own_knobs);
  HOCKET_TRY(can_run);
  ClientOptions options{.rank = static_cast<int>(given->rank),
                        .topology = std::move(*topology),
                        .knobs = std::move(*knobs),
                        .own_knobs = std::move(*own_knobs),
                        .can_run = std::move(*can_run),
                        .explore = given->explore,
                        .accept = accept_of(*given),
                        .on_profile = on_profile_of(*given),
                        .decides_alone = given->decides_alone != 0,
                        .may_try = may_try_of(*given),
                        .warn = sink_of(given->warn, given->context),
                        .say = sink_of(given->say, given->context)};
  if (given->predictions != nullptr) {
    auto predictions = parse_predictions(given->predictions);
    HOCKET_TRY(predictions);
    options.predictions = std::move(*predictions);
  }
  if (options.decides_alone && options.rank > 0)
    return failure(missing("decides_alone: only rank 0 opens a client"));
  if (options.rank == 0) {
    auto workload = read_workload(*given);
    HOCKET_TRY(workload);
    options.workload = std::move(*workload);
    options.workload.knobs = options.own_knobs;
    return options;
  }
  if (given->config_json == nullptr)
    return failure(missing("config_json must be rank 0's configuration on a rank above 0"));
  const auto config = parse_schedule_config(given->config_json);
  if (!config) return failure(config.error().in("config_json"));
  if (const auto ok = check_declared(*config, options.own_knobs); !ok)
    return failure(ok.error().in("config_json"));
  options.config = with_declared_defaults(*config, options.own_knobs);
  return options;
}

std::string text_of(const nlohmann::json& document) {
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace hocket
