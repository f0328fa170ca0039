#include "capi/hocket_schedule.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "archive/profiles/save_profile.h"
#include "capi/call_guard.h"
#include "capi/hocket_client_options.h"
#include "capi/lent_broadcast.h"
#include "capi/open_client.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/plain_text.h"
#include "core/description/step_description.h"
#include "core/description/step_programs.h"
#include "core/scheduler/communication_schedule.h"
#include "core/scheduler/order_messages.h"
#include "core/sim/simulator.h"
#include "core/step/knob.h"
#include "profiler/calibration/calibration.h"
#include "profiler/session/communication_profile.h"
#include "store/open.h"
#include "store/profile_folder.h"

struct hocket_schedule {
  hocket_schedule(int rank, int world_size) : rank(rank), world_size(world_size) {}

  const int rank, world_size;
  hocket::SteadyClock clock;
  hocket::CommunicationRecorder recorder;
  std::unique_ptr<hocket::LentBroadcast> messages;  ///< null: none was lent
  std::function<void(const std::string&)> warn;     ///< may be empty
  std::optional<hocket::CommunicationSchedule> schedule;
  std::jthread order;  ///< exchanges the order, while it is negotiated

  std::mutex mutex;
  // Guarded by mutex:
  std::vector<hocket::ScheduledTensor> tensors;
  hocket::ScheduleConfig config;
  std::optional<hocket::CommunicationProfile> recorded;
  std::string recorded_step;
};

namespace hocket {
namespace {

constexpr std::int64_t kBroadcastTimeoutNs = 30'000'000'000;

Error wrong(const std::string& function, const std::string& why) {
  return {ErrorCode::invalid_argument, function + ": " + why};
}

/// Copies what the caller knows of a struct that begins with its size; zeros are the rest.
template <class T>
Result<T> known_part(const std::string& function, const T* given) {
  if (given == nullptr) return failure(wrong(function, "an argument is NULL"));
  constexpr std::size_t kLeast = sizeof(std::size_t), kMost = std::size_t{1} << 20;
  const std::size_t size = given->size;
  if (size < kLeast || size > kMost) {
    return failure(
        wrong(function, "size is " + std::to_string(size) + "; set it to the size of the struct"));
  }
  T known = {};
  std::memcpy(&known, given, std::min(size, sizeof(T)));
  return known;
}

/// Returns for example "partition_bytes, credit_bytes and order".
std::string effective_knobs() {
  std::string text, last;
  for (const Knob& knob : schedule_knobs()) {
    if (!knob.is_for_tensors) continue;
    if (!last.empty()) text += (text.empty() ? "" : ", ") + last;
    last = knob.name;
  }
  return text + " and " + last;
}

/// Says of each knob that is not the default's and has no effect on a schedule of tensors that it
/// has none. Knobs of the program's own are not looked at.
void note_ineffective(const ScheduleConfig& config, std::vector<std::string>& warnings) {
  for (const std::string& name : changed_knobs({}, config)) {
    const Knob* const knob = find_schedule_knob(name);
    if (is_job_knob(name) || (knob != nullptr && knob->is_for_tensors)) continue;
    warnings.push_back("field \"" + name + "\" has no effect on a schedule of tensors; " +
                       effective_knobs() + " have");
  }
}

/// Reads a configuration; NULL is the default. Warns of what has no effect.
Result<ScheduleConfig> config_of(const char* config_json,
                                 const std::function<void(const std::string&)>& warn) {
  if (config_json == nullptr) return ScheduleConfig();
  std::vector<std::string> warnings;
  auto config = parse_schedule_config(config_json, &warnings);
  if (!config) return failure(config.error().in("config_json"));
  note_ineffective(*config, warnings);
  if (warn) std::ranges::for_each(warnings, warn);
  return config;
}

/// Returns the order of collectives of order=static; none for another order, or without a step.
Result<std::optional<std::vector<std::uint32_t>>> order_of(const ScheduleConfig& config,
                                                           const char* step_json) {
  if (config.order != CollectiveOrder::static_order || step_json == nullptr) return std::nullopt;
  auto step = parse_step_description(step_json);
  if (!step) return failure(step.error().in("step_json"));
  if (const auto ok = check_same_on_all_ranks(*step, "a schedule of tensors"); !ok)
    return failure(ok.error().in("step_json"));
  // The schedule cuts tensors alone; what else a configuration does to a step it does not do.
  ScheduleConfig own;
  for (const Knob& knob : schedule_knobs())
    if (knob.is_for_tensors) knob.member.set(own, knob.value_in(config));
  return static_order(*step, own);
}

void start_order(hocket_schedule& schedule) {
  if (!schedule.schedule->order_is_announced()) return;
  schedule.order = std::jthread([&schedule] {
    (schedule.rank == 0 ? send_order : follow_order)(*schedule.schedule, *schedule.messages);
  });
}

void end_order(hocket_schedule& schedule) {
  schedule.schedule->end_order();
  if (schedule.order.joinable()) schedule.order.join();
}

/// Returns whether ranks with this configuration tell each other their order.
bool negotiates(const ScheduleConfig& config, bool has_static_order, int ranks) {
  return ranks > 1 && config.order != CollectiveOrder::fifo && !has_static_order;
}

Error no_broadcast() {
  return {ErrorCode::invalid_argument,
          "the order of collectives is negotiated between ranks, but no broadcast is lent: set "
          "hocket_schedule_options::broadcast, or use order=fifo, or static with a step"};
}

Result<hocket_schedule*> open_schedule(const hocket_schedule_options* given) {
  const std::string self = "hocket_schedule_open";
  const auto options = known_part(self, given);
  HOCKET_TRY(options);
  constexpr std::int64_t kMostRanks = kMaxStepRanks;
  if (options->world_size < 1 || options->world_size > kMostRanks || options->rank < 0 ||
      options->rank >= options->world_size) {
    return failure(wrong(self, "rank " + std::to_string(options->rank) + " of " +
                                   std::to_string(options->world_size) +
                                   ": must be from 0 to world_size - 1, and world_size from 1 to " +
                                   std::to_string(kMostRanks)));
  }
  std::function<void(const std::string&)> warn;
  if (options->warn != nullptr) {
    warn = [call = options->warn, context = options->context](const std::string& text) {
      call(plain_line(text).c_str(), context);
    };
  }
  auto config = config_of(options->config_json, warn);
  HOCKET_TRY(config);
  auto order = order_of(*config, options->step_json);
  HOCKET_TRY(order);
  const int rank = static_cast<int>(options->rank), ranks = static_cast<int>(options->world_size);
  if (negotiates(*config, order->has_value(), ranks) && options->broadcast == nullptr)
    return failure(no_broadcast());
  auto schedule = std::make_unique<hocket_schedule>(rank, ranks);
  if (options->broadcast != nullptr) {
    schedule->messages = std::make_unique<LentBroadcast>(
        rank, ranks,
        options->broadcast_timeout_ns > 0 ? options->broadcast_timeout_ns : kBroadcastTimeoutNs,
        [broadcast = options->broadcast, context = options->context](std::span<std::byte> block) {
          return broadcast(block.data(), block.size(), context) == 0;
        });
  }
  schedule->warn = std::move(warn);
  schedule->config = *config;
  schedule->schedule.emplace(CommunicationScheduleOptions{.rank = rank,
                                                          .ranks = ranks,
                                                          .config = *config,
                                                          .static_order = std::move(*order),
                                                          .clock = schedule->clock,
                                                          .trace = &schedule->recorder});
  start_order(*schedule);
  return schedule.release();
}

Result<std::int64_t> add_tensor(hocket_schedule& schedule, const hocket_schedule_tensor* given) {
  const auto tensor = known_part("hocket_schedule_add", given);
  HOCKET_TRY(tensor);
  if (tensor->name == nullptr) return failure(wrong("hocket_schedule_add", "name is NULL"));
  if (tensor->priority < 0 || tensor->priority >= kPriorityLevels) {
    return failure(wrong("hocket_schedule_add", "priority is " + std::to_string(tensor->priority) +
                                                    ", allowed are 0 to " +
                                                    std::to_string(kPriorityLevels - 1)));
  }
  ScheduledTensor own{tensor->name, tensor->bytes, static_cast<std::uint32_t>(tensor->priority)};
  std::lock_guard lock(schedule.mutex);
  const auto number = schedule.schedule->add(own);
  HOCKET_TRY(number);
  schedule.tensors.push_back(std::move(own));
  return std::int64_t{*number};
}

/// Calls `call(number)` for a tensor's number, if it may be one.
template <class Call>
Result<int> with_tensor(std::int64_t tensor, const Call& call) {
  if (tensor < 0 || tensor > std::numeric_limits<std::uint32_t>::max())
    return invalid("tensor " + std::to_string(tensor) + " was not added");
  HOCKET_TRY(call(static_cast<std::uint32_t>(tensor)));
  return 0;
}

Result<int> done(const Result<void>& result) {
  HOCKET_TRY(result);
  return 0;
}

Result<int> next_part(hocket_schedule& schedule, hocket_schedule_part* part,
                      std::int64_t timeout_ns) {
  if (part == nullptr) return failure(wrong("hocket_schedule_next", "part is NULL"));
  const auto next = schedule.schedule->next(timeout_ns);
  HOCKET_TRY(next);
  if (!*next) return schedule.schedule->is_closed() ? 2 : 0;
  *part = {.tensor = (*next)->tensor,
           .offset_bytes = (*next)->offset_bytes,
           .bytes = (*next)->bytes,
           .index = static_cast<std::int64_t>((*next)->index),
           .channel = (*next)->channel};
  return 1;
}

Result<int> reconfigure(hocket_schedule& schedule, const char* config_json, const char* step_json) {
  auto config = config_of(config_json, schedule.warn);
  HOCKET_TRY(config);
  auto order = order_of(*config, step_json);
  HOCKET_TRY(order);
  std::lock_guard lock(schedule.mutex);
  const bool will = negotiates(*config, order->has_value(), schedule.world_size);
  if (will && !schedule.messages) return failure(no_broadcast());
  const bool changes_order = will != schedule.schedule->order_is_announced();
  if (changes_order && !schedule.schedule->is_idle()) {
    return failure(ErrorCode::unavailable,
                   "the order of collectives changes while tensors are unfinished; wait for them "
                   "first");
  }
  if (changes_order) end_order(schedule);
  const auto ok = schedule.schedule->reconfigure(*config, std::move(*order));
  if (ok) schedule.config = *config;
  if (changes_order) start_order(schedule);
  return done(ok);
}

Result<int> record(hocket_schedule& schedule, std::int64_t steps) {
  constexpr std::int64_t kMostSteps = 1'000'000;
  if (steps < 1 || steps > kMostSteps) {
    return failure(wrong(
        "hocket_schedule_record",
        "steps is " + std::to_string(steps) + ", allowed are 1 to " + std::to_string(kMostSteps)));
  }
  std::lock_guard lock(schedule.mutex);
  schedule.recorded.reset();
  schedule.recorder.start(schedule.schedule->step() + 1, steps);
  return 0;
}

Result<const char*> recorded_step(hocket_schedule& schedule) {
  std::lock_guard lock(schedule.mutex);
  RankTrace head;
  head.rank = schedule.rank;
  head.ranks = schedule.world_size;
  head.source = "framework";
  std::int64_t dropped = 0;
  const auto events = schedule.recorder.take(dropped);
  head.dropped = dropped;
  auto profile = communication_profile(events, schedule.tensors, std::move(head));
  HOCKET_TRY(profile);
  const ClockFit fit;
  const auto calibration = calibrate(profile->structure, {&profile->trace, 1}, {&fit, 1});
  HOCKET_TRY(calibration);
  schedule.recorded = std::move(*profile);
  schedule.recorded_step = text_of(to_json(calibration->step));
  return schedule.recorded_step.c_str();
}

Result<int> save(hocket_schedule& schedule, const hocket_client* client) {
  const std::string self = "hocket_schedule_save_profile";
  if (client == nullptr) return failure(wrong(self, "the client is NULL"));
  std::lock_guard lock(schedule.mutex);
  if (!schedule.recorded)
    return failure(wrong(self, "call hocket_schedule_recorded_step first, with a result"));
  const auto path = default_store_path();
  HOCKET_TRY(path);
  auto store = open_store(*path);
  HOCKET_TRY(store);
  auto folder = create_profile_folder(**store, *path, client->run.workload.name);
  HOCKET_TRY(folder);
  const auto topology_id = (*store)->upsert_topology(client->run.topology);
  HOCKET_TRY(topology_id);
  const auto workload_id = (*store)->upsert_workload(client->run.workload);
  HOCKET_TRY(workload_id);
  ProfileToSave profile{.folder = std::move(*folder),
                        .ranks = {},
                        .missing = {},
                        .structure = schedule.recorded->structure,
                        .config = to_json(schedule.config),
                        .topology_id = *topology_id,
                        .workload_id = *workload_id};
  profile.ranks.push_back({.trace = schedule.recorded->trace});
  for (std::int64_t rank = 1; rank < schedule.world_size; ++rank)
    profile.missing.push_back({rank, "a framework's ranks record the same step; rank 0's is kept"});
  HOCKET_TRY(save_profile(**store, *path, std::move(profile)));
  return 0;
}

/// Calls `call(schedule)` for a function that returns 0 or -1.
template <class Call>
int guarded_on(hocket_schedule* schedule, const char* function, const Call& call) {
  return guarded(-1, [&]() -> Result<int> {
    if (schedule == nullptr) return failure(wrong(function, "the schedule is NULL"));
    return call(*schedule);
  });
}

}  // namespace
}  // namespace hocket

using hocket::guarded_on;

hocket_schedule* hocket_schedule_open(const hocket_schedule_options* options) {
  return hocket::guarded<hocket_schedule*>(nullptr, [&] { return hocket::open_schedule(options); });
}

std::int64_t hocket_schedule_add(hocket_schedule* schedule, const hocket_schedule_tensor* tensor) {
  return hocket::guarded<std::int64_t>(-1, [&]() -> hocket::Result<std::int64_t> {
    if (schedule == nullptr)
      return hocket::failure(hocket::wrong("hocket_schedule_add", "the schedule is NULL"));
    return hocket::add_tensor(*schedule, tensor);
  });
}

int hocket_schedule_enqueue(hocket_schedule* schedule, std::int64_t tensor) {
  return guarded_on(schedule, "hocket_schedule_enqueue", [&](hocket_schedule& s) {
    return hocket::with_tensor(tensor, [&](std::uint32_t n) { return s.schedule->enqueue(n); });
  });
}

int hocket_schedule_notify_ready(hocket_schedule* schedule, std::int64_t tensor) {
  return guarded_on(schedule, "hocket_schedule_notify_ready", [&](hocket_schedule& s) {
    return hocket::with_tensor(tensor,
                               [&](std::uint32_t n) { return s.schedule->notify_ready(n); });
  });
}

int hocket_schedule_next(hocket_schedule* schedule, hocket_schedule_part* part,
                         std::int64_t timeout_ns) {
  return guarded_on(schedule, "hocket_schedule_next",
                    [&](hocket_schedule& s) { return hocket::next_part(s, part, timeout_ns); });
}

int hocket_schedule_notify_finish(hocket_schedule* schedule, std::int64_t index) {
  return guarded_on(schedule, "hocket_schedule_notify_finish", [&](hocket_schedule& s) {
    return hocket::done(s.schedule->notify_finish({.index = static_cast<std::uint64_t>(index)}));
  });
}

int hocket_schedule_wait(hocket_schedule* schedule, std::int64_t tensor, std::int64_t timeout_ns) {
  return guarded_on(schedule, "hocket_schedule_wait", [&](hocket_schedule& s) {
    return hocket::with_tensor(tensor,
                               [&](std::uint32_t n) { return s.schedule->wait(n, timeout_ns); });
  });
}

int hocket_schedule_end_step(hocket_schedule* schedule) {
  return guarded_on(schedule, "hocket_schedule_end_step",
                    [&](hocket_schedule& s) { return hocket::done(s.schedule->end_step()); });
}

int hocket_schedule_reconfigure(hocket_schedule* schedule, const char* config_json,
                                const char* step_json) {
  return guarded_on(schedule, "hocket_schedule_reconfigure", [&](hocket_schedule& s) {
    return hocket::reconfigure(s, config_json, step_json);
  });
}

int hocket_schedule_fail(hocket_schedule* schedule, const char* message) {
  return guarded_on(schedule, "hocket_schedule_fail",
                    [&](hocket_schedule& s) -> hocket::Result<int> {
                      s.schedule->fail({hocket::ErrorCode::unavailable,
                                        message == nullptr ? "communication failed" : message});
                      return 0;
                    });
}

int hocket_schedule_stop(hocket_schedule* schedule) {
  return guarded_on(schedule, "hocket_schedule_stop",
                    [&](hocket_schedule& s) -> hocket::Result<int> {
                      s.schedule->close();
                      return 0;
                    });
}

int hocket_schedule_record(hocket_schedule* schedule, std::int64_t steps) {
  return guarded_on(schedule, "hocket_schedule_record",
                    [&](hocket_schedule& s) { return hocket::record(s, steps); });
}

const char* hocket_schedule_recorded_step(hocket_schedule* schedule) {
  return hocket::guarded<const char*>(nullptr, [&]() -> hocket::Result<const char*> {
    if (schedule == nullptr) {
      return hocket::failure(
          hocket::wrong("hocket_schedule_recorded_step", "the schedule is NULL"));
    }
    return hocket::recorded_step(*schedule);
  });
}

int hocket_schedule_save_profile(hocket_schedule* schedule, const hocket_client* client) {
  return guarded_on(schedule, "hocket_schedule_save_profile",
                    [&](hocket_schedule& s) { return hocket::save(s, client); });
}

void hocket_schedule_close(hocket_schedule* schedule) {
  if (schedule == nullptr) return;
  schedule->schedule->close();
  if (schedule->order.joinable()) schedule->order.join();
  delete schedule;
}
