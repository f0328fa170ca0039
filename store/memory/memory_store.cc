#include "store/memory/memory_store.h"
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "store/memory/row_list.h"
#include "store/rules/audit_entries.h"
#include "store/rules/row_rules.h"

namespace hocket::memory {
namespace {

using Lock = std::unique_lock<std::mutex>;

/// Returns the id of the row with `row`'s fingerprint; inserts the row if it is new.
template <class Row>
Result<std::int64_t> upsert(std::vector<Row>& rows, Row row) {
  const auto text = rules::object_text(row.document, "the description");
  if (!text) return failure(text.error());
  const auto it = std::ranges::find(rows, row.fingerprint, &Row::fingerprint);
  if (it != rows.end()) return it->id;
  row.id = next_id(rows);
  rows.push_back(std::move(row));
  return rows.back().id;
}

bool matches(const PromotionRow& row, const PromotionFilter& filter) {
  return row.topology_id == filter.topology_id.value_or(row.topology_id) &&
         row.workload_id == filter.workload_id.value_or(row.workload_id) &&
         (!filter.study_id || row.study_id == filter.study_id) &&
         row.stage == filter.stage.value_or(row.stage);
}

}  // namespace

MemoryStore::MemoryStore(WallClock now_unix_ns) : now_unix_ns_(std::move(now_unix_ns)) {}

std::unique_lock<std::mutex> MemoryStore::lock_for_change() {
  Lock lock(mutex_);
  ++changes_;
  return lock;
}

Result<std::int64_t> MemoryStore::upsert_topology(const Topology& topology) {
  const Lock lock = lock_for_change();
  return upsert(topologies_,
                TopologyRow{0, fingerprint(topology), readable_name(topology), to_json(topology)});
}

Result<std::int64_t> MemoryStore::upsert_workload(const Workload& workload) {
  const Lock lock = lock_for_change();
  return upsert(workloads_,
                WorkloadRow{0, fingerprint(workload), workload.name, to_json(workload)});
}

Result<std::vector<TopologyRow>> MemoryStore::topologies() {
  const Lock lock(mutex_);
  return topologies_;
}

Result<std::vector<WorkloadRow>> MemoryStore::workloads(std::string_view selector) {
  const Lock lock(mutex_);
  std::vector<WorkloadRow> found = workloads_;
  std::erase_if(found, [&](const auto& row) { return !rules::matches(row, selector); });
  return found;
}

Result<void> MemoryStore::check_references(std::optional<std::int64_t> topology_id,
                                           std::optional<std::int64_t> workload_id) const {
  if (topology_id && find_row(topologies_, *topology_id) == nullptr) {
    return failure(rules::no_such("topology", *topology_id));
  }
  if (workload_id && find_row(workloads_, *workload_id) == nullptr) {
    return failure(rules::no_such("workload", *workload_id));
  }
  return {};
}

Result<StudyRow> MemoryStore::create_study(const NewStudy& study) {
  if (auto ok = rules::check(study); !ok) return failure(ok.error());
  const Lock lock = lock_for_change();
  if (auto ok = check_references(study.topology_id, study.workload_id); !ok) {
    return failure(ok.error());
  }
  const auto taken = [&](const std::string& name) -> Result<bool> {
    return std::ranges::find(studies_, name, &StudyRow::name) != studies_.end();
  };
  StudyRow row;
  row.id = next_id(studies_);
  if (study.name.empty()) {
    const auto* workload = study.workload_id ? find_row(workloads_, *study.workload_id) : nullptr;
    row.name = *rules::generated_name(
        rules::name_stem(study.command, workload == nullptr ? "" : workload->name), row.id, taken);
  } else {
    if (*taken(study.name)) return failure(rules::name_taken(study.name));
    row.name = study.name;
  }
  row.command = study.command;
  row.definition = study.definition;
  row.owner = study.owner;
  row.topology_id = study.topology_id;
  row.workload_id = study.workload_id;
  row.created_at_ns = row.updated_at_ns = now_unix_ns_();
  studies_.push_back(row);
  return row;
}

Result<void> MemoryStore::update_study(std::int64_t study_id, const StudyUpdate& update) {
  if (auto ok = rules::check(update); !ok) return failure(ok.error());
  const Lock lock = lock_for_change();
  auto* row = find_row(studies_, study_id);
  if (row == nullptr) return failure(rules::no_such("study", study_id));
  if (auto ok = rules::check_owner(*row, update); !ok) return failure(ok.error());
  if (auto ok = check_references(update.topology_id, update.workload_id); !ok) {
    return failure(ok.error());
  }
  rules::apply(*row, update);
  row->updated_at_ns = now_unix_ns_();
  return {};
}

Result<std::vector<StudyRow>> MemoryStore::studies() {
  const Lock lock(mutex_);
  return studies_;
}

Result<StudyRow> MemoryStore::study(std::string_view name_or_id) {
  const Lock lock(mutex_);
  const auto id = rules::parse_id(name_or_id);
  const auto it = std::ranges::find_if(
      studies_, [&](const StudyRow& row) { return id ? row.id == *id : row.name == name_or_id; });
  if (it == studies_.end()) return failure(rules::no_such_study(name_or_id));
  return *it;
}

Result<std::optional<StudyRow>> MemoryStore::latest_unfinished_study() {
  const Lock lock(mutex_);
  const auto it = std::find_if(studies_.rbegin(), studies_.rend(), [](const StudyRow& row) {
    return row.state != StudyState::finished;
  });
  if (it == studies_.rend()) return std::nullopt;
  return *it;
}

Result<TrialRow> MemoryStore::start_trial(const NewTrial& trial) {
  if (auto ok = rules::check(trial); !ok) return failure(ok.error());
  const Lock lock = lock_for_change();
  auto* study = find_row(studies_, trial.study_id);
  if (study == nullptr) return failure(rules::no_such("study", trial.study_id));
  TrialRow row;
  for (const auto& other : trials_) {
    if (other.study_id == trial.study_id) row.number = std::max(row.number, other.number);
  }
  ++row.number;
  row.id = ++last_trial_id_;
  row.study_id = trial.study_id;
  row.phase = trial.phase;
  row.params = trial.params;
  row.worker = trial.worker;
  row.lease_until_ns = trial.lease_until_ns;
  row.started_at_ns = study->updated_at_ns = now_unix_ns_();
  trials_.push_back(row);
  return row;
}

Result<void> MemoryStore::finish_trial(std::int64_t trial_id, const TrialResult& result) {
  const auto told = rules::checked(result);
  if (!told) return failure(told.error());
  const Lock lock = lock_for_change();
  auto* row = find_row(trials_, trial_id);
  if (row == nullptr) return failure(rules::no_such("trial", trial_id));
  const auto must_end = rules::must_end(*row, *told);
  if (!must_end) return failure(must_end.error());
  if (!*must_end) return {};
  row->state = told->state;
  row->value = told->value;
  row->spread = told->spread;
  row->message = told->message;
  row->measurements = told->measurements;
  row->finished_at_ns = find_row(studies_, row->study_id)->updated_at_ns = now_unix_ns_();
  return {};
}

Result<std::int64_t> MemoryStore::abandon_running_trials(std::int64_t study_id) {
  const Lock lock = lock_for_change();
  auto* study = find_row(studies_, study_id);
  if (study == nullptr) return failure(rules::no_such("study", study_id));
  const auto removed = std::erase_if(trials_, [&](const TrialRow& row) {
    return row.study_id == study_id && row.state == TrialState::running;
  });
  study->updated_at_ns = now_unix_ns_();
  return static_cast<std::int64_t>(removed);
}

Result<void> MemoryStore::renew_lease(std::int64_t trial_id, std::int64_t lease_until_ns) {
  const Lock lock = lock_for_change();
  auto* row = find_row(trials_, trial_id);
  if (row == nullptr) return failure(rules::no_such("trial", trial_id));
  if (auto ok = rules::check_renewable(*row); !ok) return ok;
  row->lease_until_ns = lease_until_ns;
  return {};
}

Result<std::int64_t> MemoryStore::expire_leases(std::int64_t study_id, std::int64_t now_ns) {
  const Lock lock = lock_for_change();
  auto* study = find_row(studies_, study_id);
  if (study == nullptr) return failure(rules::no_such("study", study_id));
  const auto removed = std::erase_if(trials_, [&](const TrialRow& row) {
    return row.study_id == study_id && row.state == TrialState::running && row.lease_until_ns &&
           *row.lease_until_ns <= now_ns;
  });
  if (removed > 0) study->updated_at_ns = now_unix_ns_();
  return static_cast<std::int64_t>(removed);
}

Result<std::vector<TrialRow>> MemoryStore::trials(std::int64_t study_id, TrialDetail detail) {
  const Lock lock(mutex_);
  if (find_row(studies_, study_id) == nullptr) return failure(rules::no_such("study", study_id));
  std::vector<TrialRow> found;
  for (const auto& row : trials_) {
    if (row.study_id != study_id) continue;
    found.push_back(row);
    if (detail == TrialDetail::summary) found.back().measurements.clear();
  }
  return found;
}

Result<ConfigKey> MemoryStore::key_of(std::int64_t topology_id, std::int64_t workload_id) const {
  if (auto ok = check_references(topology_id, workload_id); !ok) return failure(ok.error());
  return ConfigKey{find_row(topologies_, topology_id)->fingerprint,
                   find_row(workloads_, workload_id)->fingerprint};
}

void MemoryStore::write_audit(NewAudit audit) {
  audit_.push_back({next_id(audit_), now_unix_ns_(), std::move(audit.actor),
                    std::move(audit.action), std::move(audit.subject), std::move(audit.detail)});
}

Result<PromotionRow> MemoryStore::promote(const NewPromotion& promotion) {
  if (auto ok = rules::check(promotion); !ok) return failure(ok.error());
  const Lock lock = lock_for_change();
  const auto key = key_of(promotion.topology_id, promotion.workload_id);
  if (!key) return failure(key.error());
  if (promotion.study_id && find_row(studies_, *promotion.study_id) == nullptr) {
    return failure(rules::no_such("study", *promotion.study_id));
  }
  const auto state = key_states_.find({promotion.topology_id, promotion.workload_id});
  PromotionRow row = rules::promoted(
      promotion, state == key_states_.end() ? KeyState() : state->second, now_unix_ns_());
  row.id = next_id(promotions_);
  promotions_.push_back(row);
  write_audit(rules::audit_of(row, *key));
  return row;
}

Result<void> MemoryStore::set_stage(std::int64_t promotion_id, PromotionStage stage,
                                    std::string_view actor, std::string_view note) {
  if (auto ok = rules::check_actor(actor, note); !ok) return ok;
  const Lock lock = lock_for_change();
  auto* row = find_row(promotions_, promotion_id);
  if (row == nullptr) return failure(rules::no_such("version", promotion_id));
  const auto must_move = rules::must_move(*row, stage);
  if (!must_move) return failure(must_move.error());
  if (!*must_move) return {};
  const auto key = key_of(row->topology_id, row->workload_id);
  write_audit(rules::audit_of_stage(*row, stage, actor, note, *key));
  row->stage = stage;
  return {};
}

std::optional<PromotionRow> MemoryStore::newest_promotion(const ConfigKey& key,
                                                          PromotionStage stage) const {
  const auto it =
      std::find_if(promotions_.rbegin(), promotions_.rend(), [&](const PromotionRow& row) {
        return row.stage == stage && *key_of(row.topology_id, row.workload_id) == key;
      });
  return it == promotions_.rend() ? std::nullopt : std::optional(*it);
}

Result<std::optional<PromotionRow>> MemoryStore::current_promotion(
    std::string_view topology_fingerprint, std::string_view workload_fingerprint) {
  const Lock lock(mutex_);
  return newest_promotion({std::string(topology_fingerprint), std::string(workload_fingerprint)},
                          PromotionStage::released);
}

Result<std::optional<PromotionRow>> MemoryStore::staged_promotion(
    std::string_view topology_fingerprint, std::string_view workload_fingerprint) {
  const Lock lock(mutex_);
  return newest_promotion({std::string(topology_fingerprint), std::string(workload_fingerprint)},
                          PromotionStage::staged);
}

Result<std::vector<PromotionRow>> MemoryStore::promotions(const PromotionFilter& filter) {
  const Lock lock(mutex_);
  std::vector<PromotionRow> found = promotions_;
  std::erase_if(found, [&](const PromotionRow& row) {
    return !matches(row, filter) ||
           (filter.key && *key_of(row.topology_id, row.workload_id) != *filter.key);
  });
  return found;
}

Result<KeyState> MemoryStore::key_state(std::string_view topology_fingerprint,
                                        std::string_view workload_fingerprint) {
  const Lock lock(mutex_);
  for (const auto& [ids, state] : key_states_) {
    const auto key = *key_of(ids.first, ids.second);
    if (key.topology == topology_fingerprint && key.workload == workload_fingerprint) return state;
  }
  return KeyState();
}

Result<void> MemoryStore::set_key_state(std::int64_t topology_id, std::int64_t workload_id,
                                        const KeyState& state, std::string_view actor) {
  if (auto ok = rules::check_actor(actor, ""); !ok) return ok;
  const Lock lock = lock_for_change();
  const auto key = key_of(topology_id, workload_id);
  if (!key) return failure(key.error());
  const auto known = key_states_.find({topology_id, workload_id});
  if ((known == key_states_.end() ? KeyState() : known->second) == state) return {};
  key_states_[{topology_id, workload_id}] = state;
  write_audit(rules::audit_of_state(state, actor, *key));
  return {};
}

Result<std::vector<KeyRow>> MemoryStore::keys() {
  const Lock lock(mutex_);
  auto states = key_states_;
  for (const auto& row : promotions_) states.try_emplace({row.topology_id, row.workload_id});
  std::vector<KeyRow> found;
  for (const auto& [ids, state] : states) {
    const auto key = *key_of(ids.first, ids.second);
    const auto current = newest_promotion(key, PromotionStage::released);
    found.push_back({ids.first, ids.second, key, find_row(topologies_, ids.first)->name,
                     find_row(workloads_, ids.second)->name, state,
                     current ? std::optional(current->id) : std::nullopt});
  }
  return found;
}

Result<void> MemoryStore::quarantine(const NewQuarantine& quarantine) {
  if (auto ok = rules::check(quarantine); !ok) return ok;
  const Lock lock = lock_for_change();
  const auto key = key_of(quarantine.topology_id, quarantine.workload_id);
  if (!key) return failure(key.error());
  QuarantineRow row{next_id(quarantine_), quarantine.topology_id, quarantine.workload_id,
                    quarantine.config,    quarantine.reason,      quarantine.actor,
                    now_unix_ns_()};
  // Compares texts: 1 and 1.0 are equal as values, but two configurations in a file.
  const auto known = std::ranges::find_if(quarantine_, [&](const QuarantineRow& each) {
    return each.topology_id == row.topology_id && each.workload_id == row.workload_id &&
           each.config.dump() == row.config.dump();
  });
  if (known == quarantine_.end()) {
    quarantine_.push_back(std::move(row));
  } else {
    row.id = known->id;
    *known = std::move(row);
  }
  write_audit(rules::audit_of(quarantine, *key));
  return {};
}

Result<std::vector<QuarantineRow>> MemoryStore::quarantined(std::int64_t topology_id,
                                                            std::int64_t workload_id) {
  const Lock lock(mutex_);
  std::vector<QuarantineRow> found = quarantine_;
  std::erase_if(found, [&](const QuarantineRow& row) {
    return row.topology_id != topology_id || row.workload_id != workload_id;
  });
  return found;
}

Result<std::int64_t> MemoryStore::lift_quarantine(std::int64_t topology_id,
                                                  std::int64_t workload_id,
                                                  std::string_view actor) {
  if (auto ok = rules::check_actor(actor, ""); !ok) return failure(ok.error());
  const Lock lock = lock_for_change();
  const auto key = key_of(topology_id, workload_id);
  if (!key) return failure(key.error());
  const auto count =
      static_cast<std::int64_t>(std::erase_if(quarantine_, [&](const QuarantineRow& row) {
        return row.topology_id == topology_id && row.workload_id == workload_id;
      }));
  if (count > 0) write_audit(rules::audit_of_lifting(count, actor, *key));
  return count;
}

Result<void> MemoryStore::record_audit(const NewAudit& audit) {
  if (auto ok = rules::check(audit); !ok) return ok;
  const Lock lock = lock_for_change();
  write_audit(audit);
  return {};
}

Result<std::vector<AuditRow>> MemoryStore::audit(const AuditFilter& filter) {
  const Lock lock(mutex_);
  std::vector<AuditRow> found = audit_;
  std::erase_if(found, [&](const AuditRow& row) {
    return row.id <= filter.after_id || row.subject != filter.subject.value_or(row.subject);
  });
  if (filter.limit && *filter.limit < found.size()) {
    const auto surplus = static_cast<std::ptrdiff_t>(found.size() - *filter.limit);
    if (filter.newest) {
      found.erase(found.begin(), found.begin() + surplus);
    } else {
      found.erase(found.end() - surplus, found.end());
    }
  }
  return found;
}

Result<std::int64_t> MemoryStore::change_count() {
  const Lock lock(mutex_);
  return changes_;
}

}  // namespace hocket::memory
