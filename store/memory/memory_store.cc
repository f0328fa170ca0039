#include "store/memory/memory_store.h"

#include <algorithm>
#include <utility>

#include "store/rules/rules.h"

namespace hocket::memory {
namespace {

using Lock = std::lock_guard<std::mutex>;

template <class Rows>
auto find_row(Rows& rows, std::int64_t id) -> decltype(rows.data()) {
  const auto it = std::ranges::find(rows, id, [](const auto& row) { return row.id; });
  return it == rows.end() ? nullptr : &*it;
}

template <class Rows>
std::int64_t next_id(const Rows& rows) {
  return rows.empty() ? 1 : rows.back().id + 1;
}

/// The id of the row with `row`'s fingerprint, inserted when it is new.
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
         row.study_id == filter.study_id.value_or(row.study_id);
}

}  // namespace

MemoryStore::MemoryStore(WallClock now_unix_ns) : now_unix_ns_(std::move(now_unix_ns)) {}

Result<std::int64_t> MemoryStore::upsert_topology(const Topology& topology) {
  const Lock lock(mutex_);
  return upsert(topologies_,
                TopologyRow{0, fingerprint(topology), readable_name(topology), to_json(topology)});
}

Result<std::int64_t> MemoryStore::upsert_workload(const Workload& workload) {
  const Lock lock(mutex_);
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
  const Lock lock(mutex_);
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
  const Lock lock(mutex_);
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
  const Lock lock(mutex_);
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
  row.started_at_ns = study->updated_at_ns = now_unix_ns_();
  trials_.push_back(row);
  return row;
}

Result<void> MemoryStore::finish_trial(std::int64_t trial_id, const TrialResult& result) {
  const auto told = rules::checked(result);
  if (!told) return failure(told.error());
  const Lock lock(mutex_);
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
  const Lock lock(mutex_);
  auto* study = find_row(studies_, study_id);
  if (study == nullptr) return failure(rules::no_such("study", study_id));
  const auto removed = std::erase_if(trials_, [&](const TrialRow& row) {
    return row.study_id == study_id && row.state == TrialState::running;
  });
  study->updated_at_ns = now_unix_ns_();
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

Result<PromotionRow> MemoryStore::promote(const NewPromotion& promotion) {
  if (auto ok = rules::check(promotion); !ok) return failure(ok.error());
  const Lock lock(mutex_);
  if (auto ok = check_references(promotion.topology_id, promotion.workload_id); !ok) {
    return failure(ok.error());
  }
  if (find_row(studies_, promotion.study_id) == nullptr) {
    return failure(rules::no_such("study", promotion.study_id));
  }
  promotions_.push_back({next_id(promotions_), promotion.topology_id, promotion.workload_id,
                         promotion.study_id, promotion.config, promotion.value,
                         promotion.default_value, promotion.gain, now_unix_ns_()});
  return promotions_.back();
}

Result<std::optional<PromotionRow>> MemoryStore::current_promotion(
    std::string_view topology_fingerprint, std::string_view workload_fingerprint) {
  const Lock lock(mutex_);
  const auto it =
      std::find_if(promotions_.rbegin(), promotions_.rend(), [&](const PromotionRow& row) {
        return find_row(topologies_, row.topology_id)->fingerprint == topology_fingerprint &&
               find_row(workloads_, row.workload_id)->fingerprint == workload_fingerprint;
      });
  if (it == promotions_.rend()) return std::nullopt;
  return *it;
}

Result<std::vector<PromotionRow>> MemoryStore::promotions(const PromotionFilter& filter) {
  const Lock lock(mutex_);
  std::vector<PromotionRow> found = promotions_;
  std::erase_if(found, [&](const PromotionRow& row) { return !matches(row, filter); });
  return found;
}

}  // namespace hocket::memory
