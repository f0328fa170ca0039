#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/json.h"
#include "tuner/archive/neighbour.h"
#include "tuner/daemon/api/handlers/call.h"

namespace hocket {
namespace {

Response config_response(const Call& call, const BoardEntry& entry) {
  Response response;
  response.etag = entry.etag;
  if (has_etag(call.request.if_none_match, entry.etag)) {
    response.status = 304;
  } else {
    response.body = entry.body;
  }
  return response;
}

/// Returns the ids of a key's topology and workload; not_found for a key that no job has named.
Result<KeyRow> ids_of(Store& store, const ConfigKey& key) {
  KeyRow row{.key = key};
  const auto topologies = store.topologies();
  if (!topologies) return failure(topologies.error());
  const auto topology = std::ranges::find(*topologies, key.topology, &TopologyRow::fingerprint);
  const auto workloads = store.workloads(key.workload);
  if (!workloads) return failure(workloads.error());
  const auto workload = std::ranges::find(*workloads, key.workload, &WorkloadRow::fingerprint);
  if (topology == topologies->end() || workload == workloads->end()) {
    return failure(ErrorCode::not_found, "nothing is known of key " + to_string(key) +
                                             "; POST its topology and workload to /v1/resolve");
  }
  row.topology_id = topology->id;
  row.workload_id = workload->id;
  return row;
}

/// The answer to whoever has changed something.
Result<Reply> changed(const Call& call, const ConfigKey& key) {
  const auto entry = call.parts.board.refresh(key);
  if (!entry) return failure(entry.error());
  if (!*entry) return json_response({{"key", to_string(key)}, {"version", 0}});
  return config_response(call, **entry);
}

}  // namespace

Result<Reply> resolve(const Call& call) {
  const auto body = call.body();
  if (!body) return failure(body.error());
  Topology topology;
  Workload workload;
  JsonReader reader(*body);
  reader.part("topology", topology, read_topology);
  reader.part("workload", workload, read_workload);
  if (auto ok = reader.done(); !ok) return failure(ok.error());
  Store& store = call.parts.store;
  if (const auto id = store.upsert_topology(topology); !id) return failure(id.error());
  if (const auto id = store.upsert_workload(workload); !id) return failure(id.error());
  const ConfigKey key{fingerprint(topology), fingerprint(workload)};
  const auto entry = call.parts.board.find(key);
  if (!entry) return failure(entry.error());
  if (*entry) {
    auto document = nlohmann::json::parse(*(*entry)->body);
    document["match"] = "exact";
    return json_response(document);
  }
  nlohmann::json document = {{"key", to_string(key)}, {"match", "none"}};
  const auto neighbour = find_neighbour(store, key);
  if (!neighbour) return failure(neighbour.error());
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

Result<Reply> list_configs(const Call& call) {
  const auto keys = call.parts.store.keys();
  if (!keys) return failure(keys.error());
  nlohmann::json list = nlohmann::json::array();
  for (const KeyRow& row : *keys) {
    nlohmann::json item = {{"key", to_string(row.key)},
                           {"topology", row.topology_name},
                           {"workload", row.workload_name},
                           {"pinned", row.state.pinned},
                           {"frozen", row.state.frozen}};
    if (row.current_id) item["version"] = *row.current_id;
    list.push_back(std::move(item));
  }
  return json_response({{"configs", std::move(list)}});
}

Result<Reply> get_config(const Call& call) {
  const auto key = call.key();
  if (!key) return failure(key.error());
  const auto wait_seconds = call.number("wait", 0, kMaxWaitSeconds, 0);
  if (!wait_seconds) return failure(wait_seconds.error());
  const std::string topic = ConfigBoard::topic(to_string(*key));
  // Reads the position before the entry, so that no change in between is missed.
  const auto seen = call.parts.feed.position(topic).sequence;
  const auto entry = call.parts.board.find(*key);
  if (!entry) return failure(entry.error());
  const bool is_news = *entry && !has_etag(call.request.if_none_match, (*entry)->etag);
  if (!is_news && *wait_seconds > 0 && !call.is_last) {
    call.parts.live.key_changed(*key);
    return Await{topic, seen, *wait_seconds * 1'000'000'000};
  }
  if (!*entry) {
    return failure(ErrorCode::not_found, "key " + to_string(*key) + " has no configuration yet");
  }
  return config_response(call, **entry);
}

Result<Reply> push_config(const Call& call) {
  const auto key = call.key();
  if (!key) return failure(key.error());
  const auto body = call.body();
  if (!body) return failure(body.error());
  ScheduleConfig config;
  std::string note;
  JsonReader reader(*body);
  reader.part("config", config, read_schedule_config);
  reader.text("note", note, "");
  if (auto ok = reader.done(); !ok) return failure(ok.error());
  const auto ids = ids_of(call.parts.store, *key);
  if (!ids) return failure(ids.error());
  const auto row = call.parts.store.promote({.topology_id = ids->topology_id,
                                             .workload_id = ids->workload_id,
                                             .config = to_json(config),
                                             .origin = PromotionOrigin::push,
                                             .stage = PromotionStage::staged,
                                             .actor = call.who.name,
                                             .note = note});
  if (!row) return failure(row.error());
  call.parts.live.key_changed(*key);
  return json_response(
      {{"key", to_string(*key)}, {"version", row->id}, {"stage", to_string(row->stage)}});
}

Result<Reply> pin_config(const Call& call) {
  const auto key = call.key();
  if (!key) return failure(key.error());
  const auto body = call.body();
  if (!body) return failure(body.error());
  bool pinned = true;
  std::optional<std::int64_t> version;
  JsonReader reader(*body);
  reader.flag("pinned", pinned, true);
  reader.integer("version", version, 1, std::numeric_limits<std::int64_t>::max());
  if (auto ok = reader.done(); !ok) return failure(ok.error());
  Store& store = call.parts.store;
  const auto ids = ids_of(store, *key);
  if (!ids) return failure(ids.error());
  auto state = store.key_state(key->topology, key->workload);
  if (!state) return failure(state.error());
  if (version) {
    const auto rows = store.promotions({.key = *key});
    if (!rows) return failure(rows.error());
    const auto wanted = std::ranges::find(*rows, *version, &PromotionRow::id);
    if (wanted == rows->end()) {
      return failure(ErrorCode::not_found,
                     "key " + to_string(*key) + " has no version " + std::to_string(*version));
    }
    const auto current = store.current_promotion(key->topology, key->workload);
    if (!current) return failure(current.error());
    if (!*current || (*current)->config != wanted->config) {
      const auto row = store.promote({.topology_id = ids->topology_id,
                                      .workload_id = ids->workload_id,
                                      .config = wanted->config,
                                      .origin = PromotionOrigin::pin,
                                      .stage = PromotionStage::released,
                                      .actor = call.who.name,
                                      .note = "as version " + std::to_string(*version)});
      if (!row) return failure(row.error());
    }
  }
  state->pinned = pinned;
  if (auto ok = store.set_key_state(ids->topology_id, ids->workload_id, *state, call.who.name);
      !ok) {
    return failure(ok.error());
  }
  call.parts.live.key_changed(*key);
  return changed(call, *key);
}

Result<Reply> freeze_config(const Call& call) {
  const auto key = call.key();
  if (!key) return failure(key.error());
  const auto body = call.body();
  if (!body) return failure(body.error());
  bool frozen = true;
  JsonReader reader(*body);
  reader.flag("frozen", frozen, true);
  if (auto ok = reader.done(); !ok) return failure(ok.error());
  Store& store = call.parts.store;
  const auto ids = ids_of(store, *key);
  if (!ids) return failure(ids.error());
  auto state = store.key_state(key->topology, key->workload);
  if (!state) return failure(state.error());
  state->frozen = frozen;
  if (auto ok = store.set_key_state(ids->topology_id, ids->workload_id, *state, call.who.name);
      !ok) {
    return failure(ok.error());
  }
  call.parts.live.key_changed(*key);
  return changed(call, *key);
}

Result<Reply> roll_back_config(const Call& call) {
  const auto key = call.key();
  if (!key) return failure(key.error());
  const auto body = call.body();
  if (!body) return failure(body.error());
  std::string note;
  JsonReader reader(*body);
  reader.text("note", note, "");
  if (auto ok = reader.done(); !ok) return failure(ok.error());
  Store& store = call.parts.store;
  const auto ids = ids_of(store, *key);
  if (!ids) return failure(ids.error());
  auto last = store.current_promotion(key->topology, key->workload);
  if (!last) return failure(last.error());
  auto staged = store.staged_promotion(key->topology, key->workload);
  if (!staged) return failure(staged.error());
  // An older staged version was already replaced.
  if (*staged && (!*last || (*staged)->id > (*last)->id)) last = std::move(staged);
  if (!*last) {
    return failure(ErrorCode::not_found, "key " + to_string(*key) + " has no version to roll back");
  }
  if (auto ok = store.set_stage((*last)->id, PromotionStage::withdrawn, call.who.name, note); !ok) {
    return failure(ok.error());
  }
  const auto previous = store.current_promotion(key->topology, key->workload);
  if (!previous) return failure(previous.error());
  const auto row = store.promote(
      {.topology_id = ids->topology_id,
       .workload_id = ids->workload_id,
       .config = *previous ? (*previous)->config : to_json(ScheduleConfig{}),
       .origin = PromotionOrigin::rollback,
       .stage = PromotionStage::released,
       .actor = call.who.name,
       .note = "from version " + std::to_string((*last)->id) + (note.empty() ? "" : ": ") + note});
  if (!row) return failure(row.error());
  call.parts.live.key_changed(*key);
  return changed(call, *key);
}

Result<Reply> audit(const Call& call) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const auto after = call.number("after", 0, kMost, 0);
  if (!after) return failure(after.error());
  const auto limit = call.number("limit", 1, 10'000, 1000);
  if (!limit) return failure(limit.error());
  AuditFilter filter{.after_id = *after, .limit = static_cast<std::uint32_t>(*limit)};
  if (const auto subject = call.target.find("subject")) filter.subject = std::string(*subject);
  // Without a starting point, returns the newest entries.
  filter.newest = !call.target.find("after");
  const auto rows = call.parts.store.audit(filter);
  if (!rows) return failure(rows.error());
  nlohmann::json entries = nlohmann::json::array();
  for (const AuditRow& row : *rows) {
    entries.push_back({{"id", row.id},
                       {"at_ns", row.at_ns},
                       {"actor", row.actor},
                       {"action", row.action},
                       {"subject", row.subject},
                       {"detail", row.detail}});
  }
  return json_response({{"entries", std::move(entries)}});
}

}  // namespace hocket
