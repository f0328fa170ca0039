#include <algorithm>
#include <nlohmann/json.hpp>

#include "archive/promotions/neighbour.h"
#include "archive/promotions/promotion_list.h"
#include "archive/promotions/rollback.h"
#include "archive/promotions/shared_promotions.h"
#include "archive/promotions/version_json.h"
#include "core/base/json_reader.h"
#include "core/sharing/shared_configs.h"
#include "daemon/api/handlers/call.h"
#include "daemon/api/handlers/key_jobs.h"
#include "daemon/live/ended_search.h"
#include "daemon/live/live_search.h"
#include "store/starting_version.h"

namespace hocket {
namespace {

ServiceResponse config_response(const RouteCall& call, const BoardEntry& entry) {
  ServiceResponse response;
  response.etag = entry.etag;
  if (has_etag(call.request.if_none_match, entry.etag)) {
    response.status = 304;
  } else {
    response.body = entry.body;
  }
  return response;
}

/// Makes live tuning look at a key that was changed in the store. If it is too busy to be told, the
/// next tick finds the change.
void look_soon(const RouteCall& call, const ConfigKey& key) {
  (void)call.parts.live.key_changed(key);
}

/// The answer to whoever has changed something.
Result<ServiceReply> changed(const RouteCall& call, const ConfigKey& key) {
  const auto entry = call.parts.board.refresh(key);
  HOCKET_TRY(entry);
  if (*entry) return config_response(call, **entry);
  const auto state = call.parts.store.key_state(key.topology, key.workload);
  HOCKET_TRY(state);
  return json_response({{"key", to_string(key)},
                        {"version", 0},
                        {"pinned", state->pinned},
                        {"frozen", state->frozen}});
}

/// Returns the entry of the version that a job gets when it starts; null if there is none.
/// `passed_over` receives the reasons for which newer versions are not used.
Result<ConfigBoard::EntryPtr> entry_for(const RouteCall& call, const ConfigKey& key,
                                        const RunnableValues& can_run,
                                        std::vector<std::string>& passed_over) {
  const std::string owner(speaks_for(call.who));
  const auto current = call.parts.board.find(key, owner);
  HOCKET_TRY(current);
  if (!*current || check_start(can_run, *(*current)->event.config)) return *current;
  const auto version = runnable_version(call.parts.store, key, can_run, passed_over, owner);
  HOCKET_TRY(version);
  if (!*version) return ConfigBoard::EntryPtr();
  return call.parts.board.entry_of(key, (*version)->row);
}

/// Returns the same, of a job that is not known yet.
Result<ConfigBoard::EntryPtr> entry_for_new(const RouteCall& call, const Topology& topology,
                                            const Workload& workload, const ConfigKey& key,
                                            const RunnableValues& can_run,
                                            std::vector<std::string>& passed_over) {
  Store& store = call.parts.store;
  auto ok = store.upsert_topology(topology);
  if (ok) ok = store.upsert_workload(workload);
  auto entry = ok ? entry_for(call, key, can_run, passed_over) : failure(ok.error());
  const bool is_lost = !entry && (entry.error().code == ErrorCode::unavailable ||
                                  entry.error().code == ErrorCode::timed_out);
  if (!is_lost) return entry;
  // The store cannot be reached: what is known here is better than nothing.
  auto known = call.parts.board.cached(to_string(key), speaks_for(call.who));
  if (!known || !check_start(can_run, *known->event.config)) return entry;
  return known;
}

/// Adds what the ended search of the key has left, so that a job can say what it trains with.
void add_search(const RouteCall& call, const ConfigKey& key, nlohmann::json& document) {
  const auto row = find_key_row(call.parts.store, key);
  const auto ended = row ? newest_ended_search(call.parts.store, row->topology_id, row->workload_id)
                         : failure(row.error());
  // The configuration does not depend on it.
  if (!ended || !*ended) return;
  document["search"] = to_json(**ended);
  if (const auto why = why_search_again(**ended, {}, call.parts.now_unix_ns()))
    document["search"]["opened_again"] = *why;
}

Result<ServiceReply> resolve(const RouteCall& call) {
  const auto body = call.body();
  HOCKET_TRY(body);
  Topology topology;
  Workload workload;
  JsonReader reader(*body);
  reader.part("topology", topology, read_topology);
  reader.part("workload", workload, read_workload);
  RunnableValues can_run;
  reader.object(
      "can_run", [&](JsonReader& fields) { read_runnable_values(fields, can_run); }, kOptional);
  HOCKET_TRY(reader.done());
  const ConfigKey key{fingerprint(topology), fingerprint(workload)};
  std::vector<std::string> passed_over;
  const auto entry = entry_for_new(call, topology, workload, key, can_run, passed_over);
  HOCKET_TRY(entry);
  if (*entry) {
    auto document = nlohmann::json::parse(*(*entry)->body);
    document["match"] = "exact";
    if (!passed_over.empty()) document["passed_over"] = passed_over;
    add_search(call, key, document);
    return json_response(document);
  }
  nlohmann::json document = {{"key", to_string(key)}, {"match", "none"}};
  if (!passed_over.empty()) document["passed_over"] = passed_over;
  add_search(call, key, document);
  const auto neighbour = find_neighbour(call.parts.store, key);
  HOCKET_TRY(neighbour);
  if (*neighbour) {
    document["match"] = "nearest";
    document["distance"] = (*neighbour)->distance;
    document["from"] = to_string((*neighbour)->key);
    document["difference"] = (*neighbour)->difference;
    document["version"] = (*neighbour)->promotion.id;
    document["config"] = (*neighbour)->promotion.config;
    document["origin"] = to_string((*neighbour)->promotion.origin);
  }
  return json_response(document);
}

Result<ServiceReply> list_configs(const RouteCall& call) {
  const auto keys = call.parts.store.keys();
  HOCKET_TRY(keys);
  UnreadRows unread;
  const auto workloads = call.parts.store.workloads("", &unread);
  HOCKET_TRY(workloads);
  const auto topologies = call.parts.store.topologies(&unread);
  HOCKET_TRY(topologies);
  const auto set_aside = call.parts.live.set_aside();
  nlohmann::json list = nlohmann::json::array();
  for (const KeyRow& row : *keys) {
    const auto workload = std::ranges::find(*workloads, row.workload_id, &WorkloadRow::id);
    const auto topology = std::ranges::find(*topologies, row.topology_id, &TopologyRow::id);
    // Another process has added it since the keys were read, or it cannot be read.
    if (workload == workloads->end() || topology == topologies->end()) continue;
    nlohmann::json item = to_json(row, *topology, *workload);
    const auto stopped = set_aside.find(to_string(row.key));
    if (stopped != set_aside.end()) item["tuning_stopped"] = stopped->second;
    list.push_back(std::move(item));
  }
  return json_response(with_unread({{"configs", std::move(list)}}, unread));
}

Result<ServiceReply> get_config(const RouteCall& call) {
  const auto key = call.key();
  HOCKET_TRY(key);
  const auto wait_seconds = call.number("wait", 0, kMaxWaitSeconds, 0);
  HOCKET_TRY(wait_seconds);
  const std::string topic = ConfigBoard::topic(to_string(*key));
  // Reads the position before the entry, so that no change in between is missed.
  const auto seen = call.parts.feed.position(topic).sequence;
  const auto entry = call.parts.board.find(*key, speaks_for(call.who));
  HOCKET_TRY(entry);
  const bool is_news = *entry && !has_etag(call.request.if_none_match, (*entry)->etag);
  if (!is_news && *wait_seconds > 0 && !call.is_last) {
    HOCKET_TRY(call.parts.live.key_changed(*key));
    return AwaitEvent{topic, seen, *wait_seconds * 1'000'000'000};
  }
  if (!*entry) {
    return failure(ErrorCode::not_found, "key " + to_string(*key) + " has no configuration yet");
  }
  return config_response(call, **entry);
}

Result<ServiceReply> push_config(const RouteCall& call) {
  const auto key = call.key();
  HOCKET_TRY(key);
  const auto body = call.body();
  HOCKET_TRY(body);
  ScheduleConfig config;
  std::string note;
  JsonReader reader(*body);
  reader.part("config", config, read_schedule_config);
  reader.text("note", note, "");
  HOCKET_TRY(reader.done());
  const auto ids = find_key_row(call.parts.store, *key);
  HOCKET_TRY(ids);
  HOCKET_TRY(check_own_knobs(call.parts.store, *key, config));
  const auto row = call.parts.store.promote({.topology_id = ids->topology_id,
                                             .workload_id = ids->workload_id,
                                             .config = to_json(config),
                                             .origin = PromotionOrigin::push,
                                             .stage = PromotionStage::staged,
                                             .actor = call.actor(),
                                             .note = note});
  HOCKET_TRY(row);
  nlohmann::json answer = {
      {"key", to_string(*key)}, {"version", row->id}, {"stage", to_string(row->stage)}};
  const KeyJobs jobs = jobs_of(call, *key, config);
  if (jobs.running > 0 && jobs.can_change == 0) answer["no_job_can_change"] = jobs.reason;
  look_soon(call, *key);
  return json_response(answer);
}

/// Stores the state of a key after `edit(row, state)`, and answers with the key's configuration.
template <class Edit>
Result<ServiceReply> change_state(const RouteCall& call, const ConfigKey& key, Edit edit) {
  Store& store = call.parts.store;
  const auto row = find_key_row(store, key);
  HOCKET_TRY(row);
  auto state = store.key_state(key.topology, key.workload);
  HOCKET_TRY(state);
  HOCKET_TRY(edit(*row, *state));
  HOCKET_TRY(store.set_key_state(row->topology_id, row->workload_id, *state, call.actor()));
  look_soon(call, key);
  return changed(call, key);
}

/// Promotes the configuration of an earlier version again, unless jobs get it already.
Result<void> return_to(const RouteCall& call, const ConfigKey& key, const KeyRow& row,
                       std::int64_t version) {
  Store& store = call.parts.store;
  const auto rows = store.promotions({.key = key});
  HOCKET_TRY(rows);
  const auto wanted = std::ranges::find(*rows, version, &PromotionRow::id);
  if (wanted == rows->end()) {
    return failure(ErrorCode::not_found,
                   "key " + to_string(key) + " has no version " + std::to_string(version));
  }
  const auto current = store.current_promotion(key.topology, key.workload);
  HOCKET_TRY(current);
  if (*current && (*current)->config == wanted->config) return {};
  HOCKET_TRY(store.promote({.topology_id = row.topology_id,
                            .workload_id = row.workload_id,
                            .config = wanted->config,
                            .origin = PromotionOrigin::pin,
                            .stage = PromotionStage::released,
                            .actor = call.actor(),
                            .note = "as version " + std::to_string(version)}));
  return {};
}

Result<ServiceReply> pin_config(const RouteCall& call) {
  const auto key = call.key();
  HOCKET_TRY(key);
  const auto body = call.body();
  HOCKET_TRY(body);
  bool pinned = true;
  std::optional<std::int64_t> version;
  JsonReader reader(*body);
  reader.flag("pinned", pinned, true);
  reader.integer("version", version, 1, std::numeric_limits<std::int64_t>::max());
  HOCKET_TRY(reader.done());
  return change_state(call, *key, [&](const KeyRow& row, KeyState& state) -> Result<void> {
    if (version) HOCKET_TRY(return_to(call, *key, row, *version));
    state.pinned = pinned;
    return {};
  });
}

Result<ServiceReply> freeze_config(const RouteCall& call) {
  const auto key = call.key();
  HOCKET_TRY(key);
  const auto body = call.body();
  HOCKET_TRY(body);
  bool frozen = true;
  JsonReader reader(*body);
  reader.flag("frozen", frozen, true);
  HOCKET_TRY(reader.done());
  return change_state(call, *key, [&](const KeyRow&, KeyState& state) -> Result<void> {
    state.frozen = frozen;
    return {};
  });
}

Result<ServiceReply> roll_back_config(const RouteCall& call) {
  const auto key = call.key();
  HOCKET_TRY(key);
  const auto body = call.body();
  HOCKET_TRY(body);
  std::string note, to;
  JsonReader reader(*body);
  reader.text("note", note, "");
  reader.text("to", to, "");
  HOCKET_TRY(reader.done());
  const auto target = parse_rollback_target(to);
  if (!target) return failure(target.error().in("field \"to\""));
  HOCKET_TRY(roll_back(call.parts.store, *key, *target, call.actor(), note));
  look_soon(call, *key);
  return changed(call, *key);
}

/// Returns a key's current configuration as other sites take it. The name of this site is whoever
/// writes the file to say.
Result<ServiceReply> get_shared(const RouteCall& call) {
  const auto key = call.key();
  HOCKET_TRY(key);
  const auto site = call.target.find("site");
  const auto exported =
      export_configs(call.parts.store, {.keys = {to_string(*key)}}, std::string(site.value_or("")));
  HOCKET_TRY(exported);
  if (!exported->configs.empty()) return json_response(to_json(exported->configs.front()));
  if (!exported->notes.empty()) return invalid(exported->notes.front());
  return failure(ErrorCode::not_found, "key " + to_string(*key) + " has no configuration yet");
}

Result<ServiceReply> take_shared(const RouteCall& call) {
  const auto body = call.body();
  HOCKET_TRY(body);
  const auto dry_run = call.number("dry_run", 0, 1, 0);
  HOCKET_TRY(dry_run);
  const auto shared = shared_configs_from_json(*body);
  HOCKET_TRY(shared);
  const auto outcomes =
      import_configs(call.parts.store, shared->configs, call.actor(), *dry_run == 1);
  HOCKET_TRY(outcomes);
  for (std::size_t i = 0; i < outcomes->size(); ++i) {
    const bool is_changed = (*outcomes)[i].action == ImportAction::imported && *dry_run == 0;
    if (is_changed) look_soon(call, key_of(shared->configs[i]));
  }
  return json_response(import_json(shared->configs, *outcomes));
}

Result<ServiceReply> list_versions(const RouteCall& call) {
  const auto key = call.key();
  HOCKET_TRY(key);
  Store& store = call.parts.store;
  UnreadRows unread;
  const auto rows = store.promotions({.key = *key}, &unread);
  HOCKET_TRY(rows);
  nlohmann::json versions = nlohmann::json::array();
  for (const PromotionRow& row : *rows) {
    const auto document = version_json(store, row);
    HOCKET_TRY(document);
    versions.push_back(*document);
  }
  return json_response(
      with_unread({{"key", to_string(*key)}, {"versions", std::move(versions)}}, unread));
}

Result<ServiceReply> audit(const RouteCall& call) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const auto after = call.number("after", 0, kMost, 0);
  HOCKET_TRY(after);
  const auto limit = call.number("limit", 1, 10'000, 1000);
  HOCKET_TRY(limit);
  AuditFilter filter{.after_id = *after, .limit = static_cast<std::uint32_t>(*limit)};
  if (const auto subject = call.target.find("subject")) filter.subject = std::string(*subject);
  // Without a starting point, returns the newest entries.
  filter.newest = !call.target.find("after");
  UnreadRows unread;
  const auto rows = call.parts.store.audit(filter, &unread);
  HOCKET_TRY(rows);
  nlohmann::json entries = nlohmann::json::array();
  for (const AuditRow& row : *rows) entries.push_back(audit_json(row));
  return json_response(with_unread({{"entries", std::move(entries)}}, unread));
}

}  // namespace

std::span<const ApiRoute> config_routes() {
  static constexpr ApiRoute kRoutes[] = {
      {"POST", "/v1/resolve", AccessRole::report, resolve},
      {"GET", "/v1/configs", AccessRole::read, list_configs},
      {"POST", "/v1/configs", AccessRole::admin, take_shared},
      {"GET", "/v1/configs/{key}", AccessRole::read, get_config},
      {"PUT", "/v1/configs/{key}", AccessRole::admin, push_config},
      {"GET", "/v1/configs/{key}/shared", AccessRole::admin, get_shared},
      {"PUT", "/v1/configs/{key}/pin", AccessRole::admin, pin_config},
      {"PUT", "/v1/configs/{key}/freeze", AccessRole::admin, freeze_config},
      {"PUT", "/v1/configs/{key}/rollback", AccessRole::admin, roll_back_config},
      {"GET", "/v1/configs/{key}/versions", AccessRole::read, list_versions},
      {"GET", "/v1/audit", AccessRole::read, audit},
  };
  return kRoutes;
}

}  // namespace hocket
