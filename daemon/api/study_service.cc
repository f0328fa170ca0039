#include "daemon/api/study_service.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "archive/studies/told_trial.h"
#include "tuner/study/study_definition.h"

namespace hocket {

Result<void> StudyService::load(const StudyRow& study, const std::vector<TrialRow>& trials,
                                Running& state) {
  const auto definition = study_definition_from_json(study.definition);
  if (!definition) return failure(definition.error().in("study " + study.name));
  if (!definition->other_objectives.empty()) {
    return failure(ErrorCode::invalid_argument,
                   "study " + study.name + " has several objectives; workers share one");
  }
  std::vector<Trial> past;
  state.told.clear();
  state.outstanding.clear();
  for (const TrialRow& row : trials) {
    auto trial = trial_of(row);
    HOCKET_TRY(trial);
    if (row.state == TrialState::running) {
      state.outstanding.emplace(row.id, trial->params);
    } else {
      state.told.insert(row.id);
    }
    past.push_back(std::move(*trial));
  }
  auto session = StudySession::make(session_options(*definition), past);
  if (!session) return failure(session.error().in("study " + study.name));
  state.session = std::move(*session);
  return {};
}

Result<void> StudyService::take_changes(const std::vector<TrialRow>& trials, Running& state) {
  std::set<std::int64_t> stored;
  std::vector<const TrialRow*> ended;
  for (const TrialRow& trial : trials) {
    stored.insert(trial.id);
    if (trial.state != TrialState::running && !state.told.contains(trial.id))
      ended.push_back(&trial);
  }
  // In the order in which a session that is made from the store takes them.
  std::ranges::stable_sort(ended, {}, [](const TrialRow* t) { return t->finished_at_ns; });
  for (const TrialRow* trial : ended) {
    const auto told = state.session->tell(state.outstanding.at(trial->id), outcome_of(*trial));
    if (!told) return failure(told.error().in("trial " + std::to_string(trial->number)));
    state.told.insert(trial->id);
    state.outstanding.erase(trial->id);
  }
  std::erase_if(state.outstanding, [&](const auto& trial) {
    if (stored.contains(trial.first)) return false;
    state.session->give_back(trial.second);
    return true;
  });
  return {};
}

StudyService::StudyService(Store& store, MemoryLimits limits) : store_(store), limits_(limits) {}

Result<StudyRow> StudyService::find(const std::string& study) const {
  auto row = store_.study(study);
  if (!row) return row;
  if (row->owner != kOwner) {
    return failure(ErrorCode::invalid_argument,
                   "study " + row->name + " is run by " + row->owner +
                       "; only studies that were created here can be asked");
  }
  return row;
}

std::shared_ptr<StudyService::Running> StudyService::running(std::int64_t study_id) {
  std::lock_guard lock(mutex_);
  auto& state = running_[study_id];
  if (!state) state = std::make_shared<Running>();
  state->used = ++uses_;
  const std::shared_ptr<Running> asked = state;
  while (running_.size() > limits_.study_sessions) {
    auto oldest = running_.end();
    for (auto at = running_.begin(); at != running_.end(); ++at) {
      if (at->second.use_count() > 1) continue;  // a call uses it
      if (oldest == running_.end() || at->second->used < oldest->second->used) oldest = at;
    }
    if (oldest == running_.end()) break;
    running_.erase(oldest);
  }
  return asked;
}

std::size_t StudyService::sessions() const {
  std::lock_guard lock(mutex_);
  return running_.size();
}

Result<void> StudyService::check_lease(std::int64_t lease_ns) {
  if (lease_ns >= kShortestLeaseNs && lease_ns <= kLongestLeaseNs) return {};
  return failure(ErrorCode::invalid_argument,
                 "lease_ns: expected a number from " + std::to_string(kShortestLeaseNs) + " to " +
                     std::to_string(kLongestLeaseNs) + ", found " + std::to_string(lease_ns));
}

Result<void> StudyService::catch_up(const StudyRow& study, Running& state) {
  HOCKET_TRY(store_.expire_leases(study.id));
  const auto trials = store_.trials(study.id, TrialDetail::with_measurements);
  HOCKET_TRY(trials);
  const bool is_known = std::ranges::all_of(*trials, [&](const TrialRow& trial) {
    return state.told.contains(trial.id) || state.outstanding.contains(trial.id);
  });
  auto ok = state.session && is_known ? take_changes(*trials, state) : load(study, *trials, state);
  // Half of the changes would be taken twice.
  if (!ok) state.session.reset();
  return ok;
}

Result<StudyService::Asked> StudyService::ask(const std::string& name, const std::string& worker,
                                              std::int64_t lease_ns) {
  HOCKET_TRY(check_lease(lease_ns));
  const auto study = find(name);
  HOCKET_TRY(study);
  if (study->state == StudyState::finished) return Asked{{}, "the study is finished", true};
  const auto state = running(study->id);
  std::lock_guard lock(state->mutex);
  HOCKET_TRY(catch_up(*study, *state));
  SessionNext next = state->session->ask();
  if (!next.params) {
    if (next.is_over) {
      HOCKET_TRY(store_.update_study(study->id, {.state = StudyState::finished}));
    }
    return Asked{{}, std::move(next.reason), next.is_over};
  }
  auto row = store_.start_trial({.study_id = study->id,
                                 .params = to_json(*next.params),
                                 .worker = worker,
                                 .lease_ns = lease_ns});
  if (!row) {
    state->session->give_back(*next.params);
    return failure(row.error());
  }
  state->outstanding.emplace(row->id, std::move(*next.params));
  if (next.kind == AskKind::again) next.reason = "its worker lost the lease";
  return Asked{std::move(*row), std::move(next.reason), false};
}

Result<void> StudyService::check_trial(const StudyRow& study, std::int64_t trial_id) const {
  const auto trials = store_.trials(study.id, TrialDetail::summary);
  HOCKET_TRY(trials);
  if (std::ranges::find(*trials, trial_id, &TrialRow::id) != trials->end()) return {};
  return failure(ErrorCode::not_found,
                 "study " + study.name + " has no trial " + std::to_string(trial_id) +
                     "; if it was yours, its lease was lost: ask for another, and renew leases "
                     "in time");
}

Result<void> StudyService::tell(const std::string& name, std::int64_t trial_id,
                                const TrialOutcome& outcome) {
  const auto study = find(name);
  HOCKET_TRY(study);
  const auto state = running(study->id);
  std::lock_guard lock(state->mutex);
  if (auto ok = check_trial(*study, trial_id); !ok) return ok;
  return store_.finish_trial(trial_id, outcome);
}

Result<std::int64_t> StudyService::renew(const std::string& name, std::int64_t trial_id,
                                         std::int64_t lease_ns) {
  HOCKET_TRY(check_lease(lease_ns));
  const auto study = find(name);
  HOCKET_TRY(study);
  HOCKET_TRY(check_trial(*study, trial_id));
  return store_.renew_lease(trial_id, lease_ns);
}

Result<std::optional<Recommendation>> StudyService::recommend(const std::string& name) {
  const auto study = find(name);
  HOCKET_TRY(study);
  const auto state = running(study->id);
  std::lock_guard lock(state->mutex);
  HOCKET_TRY(catch_up(*study, *state));
  return state->session->recommend();
}

}  // namespace hocket
