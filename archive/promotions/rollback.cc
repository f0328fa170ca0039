#include "archive/promotions/rollback.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/text.h"

namespace hocket {
namespace {

Result<void> plan_previous(Store& store, RollbackPlan& plan) {
  const ConfigKey& key = plan.key.key;
  auto last = store.current_promotion(key.topology, key.workload);
  HOCKET_TRY(last);
  auto staged = store.staged_promotion(key.topology, key.workload);
  HOCKET_TRY(staged);
  // An older staged version was already replaced.
  if (*staged && (!*last || (*staged)->id > (*last)->id)) last = std::move(staged);
  if (!*last) {
    return failure(ErrorCode::not_found, "key " + to_string(key) + " has no version to roll back");
  }
  if ((*last)->stage == PromotionStage::released && is_default(**last)) {
    return failure(ErrorCode::not_found,
                   "key " + to_string(key) + " is at its default already, by version " +
                       std::to_string((*last)->id) +
                       "; `hocket versions` lists its versions, and a rollback to a number brings "
                       "one back");
  }
  plan.withdrawn.push_back((*last)->id);
  plan.config = nlohmann::json::object();
  plan.reason = "from version " + std::to_string((*last)->id);
  const auto rows = store.promotions({.key = key});
  HOCKET_TRY(rows);
  for (auto row = rows->rbegin(); row != rows->rend(); ++row) {
    if (row->stage != PromotionStage::released || row->id == (*last)->id) continue;
    if (row->config != (*last)->config) {
      plan.config = row->config;
      break;
    }
    // An earlier rollback has brought this configuration back.
    plan.withdrawn.push_back(row->id);
  }
  return {};
}

Result<void> plan_default(Store& store, RollbackPlan& plan) {
  const ConfigKey& key = plan.key.key;
  auto current = store.current_promotion(key.topology, key.workload);
  HOCKET_TRY(current);
  const auto staged = store.staged_promotion(key.topology, key.workload);
  HOCKET_TRY(staged);
  if (!*current && !*staged) {
    return failure(ErrorCode::not_found,
                   "key " + to_string(key) + " has no version to go back from");
  }
  if (*staged) plan.withdrawn.push_back((*staged)->id);
  plan.config = nlohmann::json::object();
  plan.reason = "to the default";
  if (*current && is_default(**current)) plan.is_there = std::move(**current);
  return {};
}

Result<void> plan_version(Store& store, std::int64_t version, RollbackPlan& plan) {
  const ConfigKey& key = plan.key.key;
  const auto rows = store.promotions({.key = key});
  HOCKET_TRY(rows);
  const auto wanted = std::ranges::find(*rows, version, &PromotionRow::id);
  if (wanted == rows->end()) {
    return failure(ErrorCode::not_found, "key " + to_string(key) + " has no version " +
                                             std::to_string(version) +
                                             "; `hocket versions` lists those that it has");
  }
  const auto staged = store.staged_promotion(key.topology, key.workload);
  HOCKET_TRY(staged);
  if (*staged && (*staged)->id != version) plan.withdrawn.push_back((*staged)->id);
  plan.config = wanted->config;
  plan.reason = "to version " + std::to_string(version);
  return {};
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
  UnreadRows unread;
  const auto topologies = store.topologies(&unread);
  HOCKET_TRY(topologies);
  const auto topology = std::ranges::find(*topologies, key.topology, &TopologyRow::fingerprint);
  const auto workloads = store.workloads(key.workload, &unread);
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

Result<RollbackPlan> plan_rollback(Store& store, const ConfigKey& key,
                                   const RollbackTarget& target) {
  auto row = find_key_row(store, key);
  HOCKET_TRY(row);
  RollbackPlan plan{.key = std::move(*row)};
  const auto* version = std::get_if<NumberedVersion>(&target);
  const auto planned = version != nullptr ? plan_version(store, *version, plan)
                       : std::holds_alternative<NoConfiguration>(target)
                           ? plan_default(store, plan)
                           : plan_previous(store, plan);
  HOCKET_TRY(planned);
  return plan;
}

Result<PromotionRow> roll_back(Store& store, const ConfigKey& key, const RollbackTarget& target,
                               const std::string& actor, const std::string& note) {
  auto plan = plan_rollback(store, key, target);
  HOCKET_TRY(plan);
  for (const std::int64_t version : plan->withdrawn) {
    HOCKET_TRY(store.set_stage(version, PromotionStage::withdrawn, actor, note));
  }
  if (plan->is_there) return std::move(*plan->is_there);
  return store.promote({.topology_id = plan->key.topology_id,
                        .workload_id = plan->key.workload_id,
                        .config = std::move(plan->config),
                        .origin = PromotionOrigin::rollback,
                        .stage = PromotionStage::released,
                        .actor = actor,
                        .note = note.empty() ? plan->reason : plan->reason + ": " + note});
}

}  // namespace hocket
