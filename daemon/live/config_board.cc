#include "daemon/live/config_board.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/protocol/job_message.h"
#include "daemon/live/live_dependencies.h"
#include "store/declared.h"
#include "store/origin.h"
#include "store/promoted_schedule.h"

namespace hocket {
namespace {

/// Returns whether an operator decided on this version, whatever jobs measure. The daemon's own
/// rollbacks are not decisions of this kind.
bool is_ordered(const PromotionRow& version) {
  const bool is_decision =
      version.origin == PromotionOrigin::rollback || version.origin == PromotionOrigin::pin;
  return is_decision && version.actor != kDaemonActor;
}

/// Returns what a version of `key` declares. What cannot be read declares nothing.
Result<nlohmann::json> declared_json(Store& store, const ConfigKey& key, const PromotionRow& row) {
  UnreadRows unread;
  const auto workloads = store.workloads(key.workload, &unread);
  HOCKET_TRY(workloads);
  const auto own = std::ranges::find(*workloads, key.workload, &WorkloadRow::fingerprint);
  const auto declaration = declaration_of(
      row.declared, own == workloads->end() ? nlohmann::json::object() : own->document);
  return to_json(declaration.value_or(Declaration()));
}

}  // namespace

FeedEvent event_of(const ConfigMessage& message) {
  return {message.version, std::string(type_of(message)), to_json(DaemonMessage(message)).dump(),
          std::make_shared<const ScheduleConfig>(message.config)};
}

ConfigBoard::ConfigBoard(Store& store, Feed& feed, MemoryLimits limits)
    : store_(store), feed_(feed), limits_(limits) {}

ConfigBoard::EntryPtr ConfigBoard::cached(std::string_view key, std::string_view owner) const {
  std::shared_lock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  const Slot& slot = found->second;
  slot.used.store(++uses_, std::memory_order_relaxed);
  const auto owned = slot.owned.find(owner);
  return owned == slot.owned.end() ? slot.entry : owned->second;
}

void ConfigBoard::put(const std::string& key, EntryPtr entry, OwnedEntries owned) {
  std::unique_lock lock(mutex_);
  if (!entry && owned.empty()) {
    entries_.erase(key);
    return;
  }
  Slot& slot = entries_[key];
  slot.entry = std::move(entry);
  slot.owned = std::move(owned);
  slot.used = ++uses_;
  if (entries_.size() <= limits_.board_entries) return;
  entries_.erase(std::ranges::min_element(
      entries_, {}, [](const auto& at) { return at.second.used.load(std::memory_order_relaxed); }));
}

void ConfigBoard::forget(const ConfigKey& key) {
  std::lock_guard refreshing(refreshing_);
  const std::string text = to_string(key);
  {
    std::unique_lock lock(mutex_);
    entries_.erase(text);
  }
  feed_.forget(topic(text));
  const auto owners = published_.find(text);
  if (owners == published_.end()) return;
  for (const std::string& owner : owners->second) feed_.forget(topic(text, owner));
  published_.erase(owners);
}

std::size_t ConfigBoard::size() const {
  std::shared_lock lock(mutex_);
  return entries_.size();
}

Result<ConfigBoard::EntryPtr> ConfigBoard::find(const ConfigKey& key, std::string_view owner) {
  if (auto entry = cached(to_string(key), owner)) return entry;
  HOCKET_TRY(refresh(key));
  return cached(to_string(key), owner);
}

Result<ConfigBoard::EntryPtr> ConfigBoard::refresh(const ConfigKey& key) {
  std::lock_guard refreshing(refreshing_);
  const std::string text = to_string(key);
  const auto promotion = store_.current_promotion(key.topology, key.workload);
  HOCKET_TRY(promotion);
  EntryPtr entry;
  if (*promotion) {
    auto released = entry_of(key, **promotion);
    HOCKET_TRY(released);
    entry = std::move(*released);
  }
  auto owned = owned_entries(key, entry ? entry->version : 0);
  HOCKET_TRY(owned);
  put(text, entry, std::move(*owned));
  return entry;
}

Result<ConfigBoard::OwnedEntries> ConfigBoard::owned_entries(const ConfigKey& key,
                                                             std::int64_t released) const {
  const auto staged = store_.promotions({.key = key, .stage = PromotionStage::staged});
  HOCKET_TRY(staged);
  OwnedEntries owned;
  for (const PromotionRow& row : *staged) {
    if (row.id <= released || row.kept_by.empty()) continue;
    const auto entry = entry_of(key, row);
    if (!entry) {
      // A version that one owner's jobs have kept must not hide the others.
      if (entry.error().code == ErrorCode::invalid_argument) continue;
      return failure(entry.error());
    }
    for (const std::string& owner : row.kept_by) owned[owner] = *entry;
  }
  return owned;
}

Result<ConfigBoard::EntryPtr> ConfigBoard::entry_of(const ConfigKey& key,
                                                    const PromotionRow& row) const {
  const auto state = store_.key_state(key.topology, key.workload);
  HOCKET_TRY(state);
  const auto origin = origin_of(store_, row);
  HOCKET_TRY(origin);
  const auto config = promoted_schedule(row);
  if (!config) return failure(config.error().in("version " + std::to_string(row.id)));
  const ConfigMessage message{row.id, *config, *origin, is_ordered(row)};
  nlohmann::json document = to_json(DaemonMessage(message));
  document["key"] = to_string(key);
  document["setting"] = row.config;
  const auto declared = declared_json(store_, key, row);
  HOCKET_TRY(declared);
  document["declared"] = *declared;
  document["pinned"] = state->pinned;
  document["frozen"] = state->frozen;
  if (row.stage == PromotionStage::staged) document["kept_by"] = row.kept_by;
  document["promoted_at_ns"] = row.promoted_at_ns;
  auto entry = std::make_shared<BoardEntry>();
  entry->version = row.id;
  entry->state = *state;
  entry->etag = "\"" + std::to_string(row.id) + "\"";
  entry->body = std::make_shared<const std::string>(document.dump() + "\n");
  entry->event = event_of(message);
  return EntryPtr(entry);
}

void ConfigBoard::publish(const ConfigKey& key, const std::string& owner) {
  std::lock_guard refreshing(refreshing_);
  const auto entry = cached(to_string(key), owner);
  if (!entry) return;
  const std::string name = topic(to_string(key), owner);
  if (!owner.empty()) published_[to_string(key)].insert(owner);
  const auto newest = feed_.position(name).newest;
  if (!newest || newest->id != entry->version) feed_.publish(name, entry->event);
}

}  // namespace hocket
