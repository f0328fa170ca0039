#include "daemon/retention/retention.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

namespace hocket {
namespace {

constexpr std::int64_t kHourNs = 3600LL * 1'000'000'000;
constexpr std::uint32_t kAuditPageRows = 10'000;

/// Returns for example "91 days" or "3 hours".
std::string time_since(std::int64_t age_ns) {
  const std::int64_t hours = age_ns / kHourNs, count = hours < 48 ? hours : hours / 24;
  const std::string unit = hours < 48 ? "hour" : "day";
  return std::to_string(count) + " " + unit + (count == 1 ? "" : "s");
}

bool is_older(std::int64_t at_ns, std::int64_t age_ns, std::int64_t now_unix_ns) {
  return now_unix_ns - at_ns > age_ns;
}

/// Removes one study, unless it has changed since the decision. Returns an error if the store
/// fails.
Result<void> remove_study(Store& store, const ExpiredStudy& expired, std::string_view actor,
                          RetentionRemoval& removal) {
  const auto study = store.study(std::to_string(expired.id));
  if (!study && study.error().code == ErrorCode::not_found) return {};
  HOCKET_TRY(study);
  if (study->state == StudyState::running) return {};
  const auto removed = store.remove_study(study->id, study->owner, actor);
  if (removed) {
    removal.studies.push_back(expired);
    return {};
  }
  if (removed.error().code == ErrorCode::not_found) return {};
  // Either somebody has taken it over, or the store fails, which the next call shows.
  removal.notes.push_back("study " + study->name + " stays: " + removed.error().message);
  const auto still = store.study(std::to_string(expired.id));
  if (!still && still.error().code != ErrorCode::not_found) return failure(still.error());
  return {};
}

Result<void> remove_audit(Store& store, std::int64_t before_ns, std::string_view actor,
                          const std::stop_token& stop, RetentionRemoval& removal) {
  while (!stop.stop_requested()) {
    const auto count = store.prune_audit(before_ns, actor);
    HOCKET_TRY(count);
    removal.audit_entries += *count;
    if (*count < kMostPrunedAuditEntries) break;
  }
  return {};
}

Result<void> remove_profiles(Store& store, const std::string& store_path,
                             const std::vector<PruneDecision>& decisions,
                             const std::stop_token& stop, PruneResult& all) {
  for (const PruneDecision& decision : decisions) {
    if (stop.stop_requested()) break;
    auto pruned = prune_profiles(store, store_path, std::span(&decision, 1));
    HOCKET_TRY(pruned);
    all.freed_bytes += pruned->freed_bytes;
    std::ranges::move(pruned->removed, std::back_inserter(all.removed));
    std::ranges::move(pruned->notes, std::back_inserter(all.notes));
  }
  return {};
}

/// Studies and audit entries have entries of the store; profiles have none.
Result<void> record_profiles(Store& store, const PruneResult& pruned, std::string_view actor) {
  if (pruned.removed.empty()) return {};
  auto names = nlohmann::json::array();
  for (const PruneDecision& decision : pruned.removed) names.push_back(decision.profile.name);
  return store.record_audit(
      {.actor = std::string(actor),
       .action = "prune_profiles",
       .subject = {},
       .detail = {{"profiles", std::move(names)}, {"freed_bytes", pruned.freed_bytes}}});
}

Result<void> remove_all(Store& store, const std::string& store_path,
                        const RetentionDecision& decision, std::string_view actor,
                        const std::stop_token& stop, RetentionRemoval& removal) {
  for (const ExpiredStudy& study : decision.studies) {
    if (stop.stop_requested()) return {};
    if (auto ok = remove_study(store, study, actor, removal); !ok) return ok;
  }
  if (decision.audit_before_ns) {
    auto ok = remove_audit(store, *decision.audit_before_ns, actor, stop, removal);
    if (!ok) return ok;
  }
  const auto profiles =
      remove_profiles(store, store_path, decision.profiles, stop, removal.profiles);
  const auto recorded = record_profiles(store, removal.profiles, actor);
  return profiles ? recorded : profiles;
}

}  // namespace

RetentionDecision what_to_remove(const RetentionPolicy& policy, const RetentionRows& rows,
                                 std::int64_t now_unix_ns) {
  RetentionDecision decision;
  decision.unread = rows.unread;
  if (policy.studies_ns) {
    std::vector<const StudyRow*> expired;
    for (const StudyRow& study : rows.studies) {
      if (study.state == StudyState::running || rows.used_studies.contains(study.id)) continue;
      if (is_older(study.updated_at_ns, *policy.studies_ns, now_unix_ns)) expired.push_back(&study);
    }
    std::ranges::stable_sort(expired, {}, &StudyRow::updated_at_ns);
    for (const StudyRow* study : expired) {
      decision.studies.push_back(
          {study->id, study->name,
           "it has not changed for " + time_since(now_unix_ns - study->updated_at_ns)});
    }
  }
  if (policy.audit_ns) decision.audit_before_ns = now_unix_ns - *policy.audit_ns;
  if (policy.profiles || policy.profile_bytes) {
    decision.profiles =
        decide_prune(rows.profiles,
                     {.newest = policy.profiles, .total_bytes = policy.profile_bytes}, now_unix_ns);
  }
  return decision;
}

Result<RetentionRows> retention_rows(Store& store, const RetentionPolicy& policy,
                                     const ServedTraceBytes& served_bytes) {
  RetentionRows rows;
  if (policy.studies_ns) {
    // A study that cannot be read is not removed.
    auto studies = store.studies(&rows.unread);
    HOCKET_TRY(studies);
    rows.studies = std::move(*studies);
    const auto keys = store.keys();
    HOCKET_TRY(keys);
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> current;  // by key
    for (const KeyRow& key : *keys) {
      if (key.current_id) current[{key.topology_id, key.workload_id}] = *key.current_id;
    }
    for (const auto stage : {PromotionStage::released, PromotionStage::staged}) {
      const std::size_t unread = rows.unread.size();
      const auto versions = store.promotions({.stage = stage}, &rows.unread);
      HOCKET_TRY(versions);
      // Nobody knows which study such a version needs.
      if (rows.unread.size() > unread) rows.studies.clear();
      for (const PromotionRow& version : *versions) {
        const auto found = current.find({version.topology_id, version.workload_id});
        const std::int64_t released = found == current.end() ? 0 : found->second;
        // A version that only some owners have kept is replaced by one that is released later.
        const bool is_used = stage == PromotionStage::released
                                 ? version.id == released
                                 : version.kept_by.empty() || version.id > released;
        if (is_used && version.study_id) rows.used_studies.insert(*version.study_id);
      }
    }
  }
  if (policy.profiles || policy.profile_bytes) {
    auto profiles = prune_candidates(store, served_bytes, &rows.unread);
    HOCKET_TRY(profiles);
    rows.profiles = std::move(*profiles);
  }
  return rows;
}

Result<std::int64_t> count_audit(Store& store, std::int64_t before_ns) {
  std::int64_t count = 0;
  AuditFilter page{.limit = kAuditPageRows};
  for (;;) {
    UnreadRows unread;
    const auto rows = store.audit(page, &unread);
    HOCKET_TRY(rows);
    count += std::ranges::count_if(
        *rows, [&](std::int64_t at_ns) { return at_ns < before_ns; }, &AuditRow::at_ns);
    if (rows->size() + unread.size() < kAuditPageRows || rows->empty()) return count;
    page.after_id = rows->back().id;
  }
}

RetentionRemoval remove_expired(Store& store, const std::string& store_path,
                                const RetentionDecision& decision, std::string_view actor,
                                const std::stop_token& stop) {
  RetentionRemoval removal;
  removal.unread = decision.unread;
  const auto done = remove_all(store, store_path, decision, actor, stop, removal);
  if (!done) removal.error = done.error();
  return removal;
}

}  // namespace hocket
