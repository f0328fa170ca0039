#include "capi/hocket_client.h"

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "capi/call_guard.h"
#include "capi/hocket_client_options.h"
#include "capi/open_client.h"
#include "client/link/http_daemon_link.h"
#include "client/live/live_ballot.h"
#include "client/start/client.h"
#include "core/base/json.h"
#include "core/base/plain_text.h"
#include "core/step/knob_value.h"
#include "store/config_source.h"
#include "store/open.h"

namespace hocket {
namespace {

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

/// Returns an id that other jobs do not have: host, process and time.
std::string make_job_id(std::string host) {
  std::erase_if(host, [](unsigned char c) { return c >= 0x80 || !(std::isalnum(c) || c == '-'); });
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return host.substr(0, 60) + "-" + std::to_string(::getpid()) + "-" +
         std::to_string(std::chrono::nanoseconds(now).count());
}

void register_job(hocket_client& client, const ClientOptions& given) {
  // A daemon must not take a trial for the job's own choice. The user has been warned of a daemon
  // that cannot be named.
  auto daemon = daemon_from_environment();
  if (client.fetched.source == "trial") {
    client.daemon_why = "the program is a study's trial";
    return;
  }
  if (!daemon) {
    client.daemon_why = daemon.error().message;
    return;
  }
  DaemonLinkOptions options{.daemon = std::move(*daemon)};
  options.job.host = host_name();
  options.job.id = make_job_id(options.job.host);
  options.job.name = client.run.workload.name;
  options.job.topology = client.run.topology;
  options.job.workload = client.run.workload;
  options.job.config = client.fetched.config;
  options.job.version = client.fetched.version;
  options.job.explore = given.explore;
  options.job.knobs = client.knobs;
  options.job.can_run = given.can_run;
  options.job.predictions = given.predictions;
  options.warn = given.warn;
  options.seed = std::hash<std::string>()(options.job.id);
  client.report.job = options.job.id;
  client.report.version = options.job.version;
  client.link = open_daemon_link(std::move(options));
  if (!client.link) client.daemon_why = "a thread could not be started";
}

void open_ballot(hocket_client& client, const ClientOptions& options) {
  LiveBallotOptions live;
  live.tuning.job = client.report.job;
  live.tuning.config = client.fetched.config;
  live.tuning.version = client.fetched.version;
  live.tuning.explore = options.explore;
  live.tuning.say = options.say;
  live.on_profile = options.on_profile;
  live.tuning.may_try = options.may_try;
  live.decides_alone = options.decides_alone;
  live.declared = client.own_knobs;
  live.accept = [&client, can_run = options.can_run, accept = options.accept,
                 warn = options.warn](const ScheduleConfig& config) -> Result<void> {
    HOCKET_TRY(check_declared(config, client.own_knobs));
    HOCKET_TRY(check_change(can_run, client.knobs, client.fetched.config, config));
    const auto accepted = accept ? accept(config) : Result<void>();
    // Rank 0's reason reaches the outcome; what another rank sends says only that it refuses.
    if (!accepted && client.rank > 0)
      warn("a configuration is refused: " + accepted.error().message);
    return accepted;
  };
  client.live.emplace(std::move(live), options.rank, options.topology.world_size, client.link.get(),
                      client.clock);
}

/// Returns the store's file as a source; null where the environment names none.
std::unique_ptr<ConfigSource> store_source(const RunnableValues& can_run) {
  auto path = default_store_path();
  return path ? open_config_source(std::move(*path), can_run) : nullptr;
}

/// On rank 0: fetches the configuration and registers the job.
Result<void> ask(hocket_client& client, ClientOptions& options) {
  const auto store = store_source(options.can_run);
  auto fetched = ask_for_config(options.topology, options.workload, store.get(),
                                process_environment, options.can_run, options.accept);
  HOCKET_TRY(fetched);
  for (const auto& warning : fetched->warnings) options.warn(warning);
  client.fetched = std::move(*fetched);
  client.log.emplace();
  client.run.topology = options.topology;
  client.run.workload = options.workload;
  client.run.config = client.fetched.config;
  client.run.config_source = client.fetched.source;
  register_job(client, options);
  return {};
}

Result<hocket_client*> open(const hocket_client_options* given) {
  auto options = read_options(given);
  HOCKET_TRY(options);
  auto client = std::make_unique<hocket_client>();
  client->rank = options->rank;
  client->world_size = options->topology.world_size;
  client->knobs = options->knobs;
  client->own_knobs = options->own_knobs;
  if (options->rank > 0) {
    client->fetched.config = options->config;
    client->fetched.source = "rank 0";
  } else
    HOCKET_TRY(ask(*client, *options));
  client->config_json = text_of(to_json(client->fetched.config));
  if (!client->knobs.empty()) open_ballot(*client, *options);
  return client.release();
}

Result<int> daemon_standing(hocket_client* client, const char** why) {
  if (client == nullptr) return failure(misused("hocket_client_daemon", "the client is NULL"));
  int state = HOCKET_DAEMON_NONE;
  if (client->link) {
    const DaemonStanding standing = client->link->standing();
    state = HOCKET_DAEMON_ASKED + static_cast<int>(standing.state);
    if (client->daemon_why != standing.why) client->daemon_why = plain_line(standing.why);
  }
  if (why != nullptr) *why = client->daemon_why.c_str();
  return state;
}
static_assert(
    HOCKET_DAEMON_ASKED + static_cast<int>(DaemonStanding::State::asked) == HOCKET_DAEMON_ASKED &&
    HOCKET_DAEMON_ASKED + static_cast<int>(DaemonStanding::State::away) == HOCKET_DAEMON_AWAY &&
    HOCKET_DAEMON_ASKED + static_cast<int>(DaemonStanding::State::knows) == HOCKET_DAEMON_KNOWS);

Result<int> get_knob(const char* config_json, const char* name, std::int64_t* value) {
  if (config_json == nullptr || name == nullptr || value == nullptr)
    return failure(ErrorCode::invalid_argument, "hocket_config_get: an argument is NULL");
  const auto config = parse_schedule_config(config_json);
  HOCKET_TRY(config);
  const auto knob = read_knob(to_json(*config), name);
  HOCKET_TRY(knob);
  *value = knob->number;
  return 0;
}
static_assert(static_cast<int>(CollectiveOrder::fifo) == HOCKET_ORDER_FIFO &&
              static_cast<int>(CollectiveOrder::static_order) == HOCKET_ORDER_STATIC &&
              static_cast<int>(CollectiveOrder::negotiated) == HOCKET_ORDER_NEGOTIATED);

Result<int> get_own_knob(const hocket_client* client, const char* name, std::int64_t* value) {
  if (client == nullptr || name == nullptr || value == nullptr)
    return failure(ErrorCode::invalid_argument, "hocket_client_get: an argument is NULL");
  const DeclaredKnob* const own = find_declared(client->own_knobs, name);
  if (own == nullptr) return get_knob(client->config_json.c_str(), name, value);
  const JobValue& held = client->live ? client->live->running().job.at(own->name)
                                      : client->fetched.config.job.at(own->name);
  const auto* const number = std::get_if<std::int64_t>(&held);
  *value =
      number ? *number
             : std::ranges::find(own->choices, std::get<std::string>(held)) - own->choices.begin();
  return 0;
}

/// Rejects all changes: this program cannot change its configuration while it runs.
std::vector<ChangeOutcome> refuse_changes(DaemonLink& link) {
  std::vector<ChangeOutcome> outcomes;
  while (const auto message = link.take()) {
    ChangeOutcome outcome{.status = ChangeStatus::rejected,
                          .message = "the program takes a configuration when it starts"};
    if (const auto* const config = std::get_if<ConfigMessage>(&*message)) {
      outcome.version = config->version;
    } else if (const auto* const candidate = std::get_if<CandidateMessage>(&*message)) {
      outcome.trial = candidate->trial;
    } else {
      continue;
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

Result<int> report(hocket_client* client, const std::int64_t* iteration_ns, std::size_t count) {
  const std::string self = "hocket_client_report";
  if (client == nullptr || (iteration_ns == nullptr && count > 0))
    return failure(misused(self, "an argument is NULL"));
  if (client->live)
    return failure(misused(self, "a program with knobs calls hocket_iteration instead"));
  const std::span times(iteration_ns, count);
  if (!std::ranges::all_of(times, is_time)) return failure(misused(self, "a time is not positive"));
  if (client->rank > 0) return 0;
  for (const std::int64_t wall_ns : times) tell_study(*client, wall_ns);
  client->report.step += static_cast<std::int64_t>(count);
  if (!client->link) return 0;
  JobReport report = client->report;
  report.outcomes = refuse_changes(*client->link);
  report.iteration_ns.assign(
      times.end() - static_cast<std::ptrdiff_t>(std::min(count, kMaxReportedIterations)),
      times.end());
  client->link->report(std::move(report));
  return 0;
}

Result<int> close(hocket_client& client) {
  if (client.live) client.live->finish();
  if (client.rank > 0) return 0;
  HOCKET_TRY(write_report(client.run));
  return 0;
}

}  // namespace
}  // namespace hocket

int hocket_client_abi(void) {
  return HOCKET_CLIENT_ABI;
}

const char* hocket_client_library_version(void) {
  return HOCKET_VERSION;
}

const char* hocket_error(void) {
  return hocket::last_c_error().c_str();
}

hocket_client* hocket_client_open(const hocket_client_options* options) {
  return hocket::guarded<hocket_client*>(nullptr, [&] { return hocket::open(options); });
}

const char* hocket_client_config(const hocket_client* client) {
  return client->config_json.c_str();
}

const char* hocket_client_source(const hocket_client* client) {
  return client->fetched.source.c_str();
}

const char* hocket_client_detail(const hocket_client* client) {
  return client->fetched.detail.c_str();
}

const char* hocket_client_key(const hocket_client* client) {
  return client->fetched.key.c_str();
}

const char* hocket_client_search(const hocket_client* client) {
  return client->fetched.search.c_str();
}

std::int64_t hocket_client_version(const hocket_client* client) {
  return client->fetched.version;
}

int hocket_client_daemon(hocket_client* client, const char** why) {
  return hocket::guarded(-1, [&] { return hocket::daemon_standing(client, why); });
}

int hocket_config_get(const char* config_json, const char* knob, std::int64_t* value) {
  return hocket::guarded(-1, [&] { return hocket::get_knob(config_json, knob, value); });
}

int hocket_client_get(const hocket_client* client, const char* knob, std::int64_t* value) {
  return hocket::guarded(-1, [&] { return hocket::get_own_knob(client, knob, value); });
}

int hocket_client_report(hocket_client* client, const std::int64_t* iteration_ns,
                         std::size_t count) {
  return hocket::guarded(-1, [&] { return hocket::report(client, iteration_ns, count); });
}

int hocket_client_close(hocket_client* client) {
  const std::unique_ptr<hocket_client> owned(client);
  if (!owned) return 0;
  return hocket::guarded(-1, [&] { return hocket::close(*owned); });
}
