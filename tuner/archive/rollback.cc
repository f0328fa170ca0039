#include "tuner/archive/rollback.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/printable_text.h"

namespace hocket {
namespace {

std::string with_note(std::string text, const std::string& note) {
  return note.empty() ? text : text + ": " + note;
}

Result<PromotionRow> release(Store& store, const KeyRow& key, nlohmann::json config,
                             const std::string& actor, std::string note) {
  return store.promote({.topology_id = key.topology_id,
                        .workload_id = key.workload_id,
                        .config = std::move(config),
                        .origin = PromotionOrigin::rollback,
                        .stage = PromotionStage::released,
                        .actor = actor,
                        .note = std::move(note)});
}

Result<PromotionRow> to_previous(Store& store, const KeyRow& key, const std::string& actor,
                                 const std::string& note) {
  auto last = store.current_promotion(key.key.topology, key.key.workload);
  HOCKET_TRY(last);
  auto staged = store.staged_promotion(key.key.topology, key.key.workload);
  HOCKET_TRY(staged);
  // An older staged version was already replaced.
  if (*staged && (!*last || (*staged)->id > (*last)->id)) last = std::move(staged);
  if (!*last) {
    return failure(ErrorCode::not_found,
                   "key " + to_string(key.key) + " has no version to roll back");
  }
  if ((*last)->stage == PromotionStage::released && is_default(**last)) {
    return failure(ErrorCode::not_found,
                   "key " + to_string(key.key) + " is at its default already, by version " +
                       std::to_string((*last)->id) +
                       "; `hocket versions` lists its versions, and a rollback to a number brings "
                       "one back");
  }
  HOCKET_TRY(store.set_stage((*last)->id, PromotionStage::withdrawn, actor, note));
  auto previous = store.current_promotion(key.key.topology, key.key.workload);
  HOCKET_TRY(previous);
  // An earlier rollback may have brought this configuration back.
  while (*previous && (*previous)->config == (*last)->config) {
    HOCKET_TRY(store.set_stage((*previous)->id, PromotionStage::withdrawn, actor, note));
    previous = store.current_promotion(key.key.topology, key.key.workload);
    HOCKET_TRY(previous);
  }
  return release(store, key, *previous ? (*previous)->config : nlohmann::json::object(), actor,
                 with_note("from version " + std::to_string((*last)->id), note));
}

Result<PromotionRow> to_default(Store& store, const KeyRow& key, const std::string& actor,
                                const std::string& note) {
  auto current = store.current_promotion(key.key.topology, key.key.workload);
  HOCKET_TRY(current);
  const auto staged = store.staged_promotion(key.key.topology, key.key.workload);
  HOCKET_TRY(staged);
  if (!*current && !*staged) {
    return failure(ErrorCode::not_found,
                   "key " + to_string(key.key) + " has no version to go back from");
  }
  if (*staged) {
    HOCKET_TRY(store.set_stage((*staged)->id, PromotionStage::withdrawn, actor, note));
  }
  if (*current && is_default(**current)) return std::move(**current);
  return release(store, key, nlohmann::json::object(), actor, with_note("to the default", note));
}

Result<PromotionRow> to_version(Store& store, const KeyRow& key, std::int64_t version,
                                const std::string& actor, const std::string& note) {
  const auto rows = store.promotions({.key = key.key});
  HOCKET_TRY(rows);
  const auto wanted = std::ranges::find(*rows, version, &PromotionRow::id);
  if (wanted == rows->end()) {
    return failure(ErrorCode::not_found, "key " + to_string(key.key) + " has no version " +
                                             std::to_string(version) +
                                             "; `hocket versions` lists those that it has");
  }
  const auto staged = store.staged_promotion(key.key.topology, key.key.workload);
  HOCKET_TRY(staged);
  if (*staged && (*staged)->id != version) {
    HOCKET_TRY(store.set_stage((*staged)->id, PromotionStage::withdrawn, actor, note));
  }
  return release(store, key, wanted->config, actor,
                 with_note("to version " + std::to_string(version), note));
}

}  // namespace

Result<RollbackTarget> parse_rollback_target(const std::string& text) {
  if (text.empty()) return RollbackTarget(PreviousVersion{});
  if (text == "default") return RollbackTarget(NoConfiguration{});
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number > 0)
    return RollbackTarget(NumberedVersion{number});
  return failure(
      ErrorCode::invalid_argument,
      "expected \"default\" or the number of a version, found \"" + printable(text, 80) + "\"");
}

bool is_default(const PromotionRow& version) {
  return version.config.empty();
}

Result<KeyRow> find_key_row(Store& store, const ConfigKey& key) {
  KeyRow row{.key = key};
  const auto topologies = store.topologies();
  HOCKET_TRY(topologies);
  const auto topology = std::ranges::find(*topologies, key.topology, &TopologyRow::fingerprint);
  const auto workloads = store.workloads(key.workload);
  HOCKET_TRY(workloads);
  const auto workload = std::ranges::find(*workloads, key.workload, &WorkloadRow::fingerprint);
  if (topology == topologies->end() || workload == workloads->end()) {
    return failure(ErrorCode::not_found, "nothing is known of key " + to_string(key) +
                                             "; POST its topology and workload to /v1/resolve");
  }
  row.topology_id = topology->id;
  row.workload_id = workload->id;
  return row;
}

Result<PromotionRow> roll_back(Store& store, const ConfigKey& key, const RollbackTarget& target,
                               const std::string& actor, const std::string& note) {
  const auto row = find_key_row(store, key);
  HOCKET_TRY(row);
  if (const auto* version = std::get_if<NumberedVersion>(&target))
    return to_version(store, *row, *version, actor, note);
  return std::holds_alternative<NoConfiguration>(target) ? to_default(store, *row, actor, note)
                                                         : to_previous(store, *row, actor, note);
}

}  // namespace hocket
