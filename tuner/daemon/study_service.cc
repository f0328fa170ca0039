#include "tuner/daemon/study_service.h"

#include <algorithm>
#include <utility>

#include "tuner/archive/told_trial.h"
#include "tuner/study_definition.h"

namespace hocket {

StudyService::StudyService(Store& store, WallClock now_unix_ns)
    : store_(store), now_unix_ns_(std::move(now_unix_ns)) {}

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
  return state;
}

Result<void> StudyService::check_lease(std::int64_t lease_ns) const {
  if (lease_ns >= kShortestLeaseNs && lease_ns <= kLongestLeaseNs) return {};
  return failure(ErrorCode::invalid_argument,
                 "lease_ns: expected a number from " + std::to_string(kShortestLeaseNs) + " to " +
                     std::to_string(kLongestLeaseNs) + ", found " + std::to_string(lease_ns));
}

Result<std::vector<TrialRow>> StudyService::catch_up(const StudyRow& study, Running& state) {
  if (!state.search) {
    auto definition = study_definition_from_json(study.definition);
    if (!definition) return failure(definition.error().in("study " + study.name));
    if (!definition->other_objectives.empty()) {
      return failure(ErrorCode::invalid_argument,
                     "study " + study.name + " has several objectives; workers share one");
    }
    SearchOptions options{.method = definition->method,
                          .seed = static_cast<std::uint64_t>(definition->seed),
                          .step = definition->step,
                          .simulate = definition->objective.kind == ObjectiveKind::report,
                          .donor = definition->donor};
    auto search = make_search(definition->space, std::move(options));
    if (!search) return failure(search.error());
    state.search = std::move(*search);
    state.most_trials = definition->trials;
  }
  const auto expired = store_.expire_leases(study.id, now_unix_ns_());
  if (!expired) return failure(expired.error());
  auto trials = store_.trials(study.id, TrialDetail::with_measurements);
  if (!trials) return trials;
  std::set<std::int64_t> there;
  for (const TrialRow& trial : *trials) {
    there.insert(trial.id);
    auto params = params_from_json(trial.params);
    if (!params) return failure(params.error().in("trial " + std::to_string(trial.id)));
    if (trial.state == TrialState::running) {
      state.outstanding.emplace(trial.id, std::move(*params));
      continue;
    }
    state.outstanding.erase(trial.id);
    if (!state.told.insert(trial.id).second) continue;
    if (auto ok = state.search->tell(evaluation_of(trial, *params)); !ok) {
      return failure(ok.error().in("trial " + std::to_string(trial.id)));
    }
  }
  for (auto at = state.outstanding.begin(); at != state.outstanding.end();) {
    if (there.contains(at->first)) {
      ++at;
      continue;
    }
    state.again.push_back(at->second);
    at = state.outstanding.erase(at);
  }
  return trials;
}

Result<StudyService::Asked> StudyService::ask(const std::string& name, const std::string& worker,
                                              std::int64_t lease_ns) {
  if (auto ok = check_lease(lease_ns); !ok) return failure(ok.error());
  const auto study = find(name);
  if (!study) return failure(study.error());
  if (study->state == StudyState::finished) return Asked{{}, "the study is finished", true};
  const auto state = running(study->id);
  std::lock_guard lock(state->mutex);
  const auto trials = catch_up(*study, *state);
  if (!trials) return failure(trials.error());
  const auto most = static_cast<std::size_t>(state->most_trials);
  std::string finished;
  if (trials->size() >= most) {
    if (!state->outstanding.empty()) return Asked{{}, "all trials are taken", false};
    finished = std::to_string(most) + " trials were run";
  }
  std::optional<Suggestion> suggestion;
  if (finished.empty() && !state->again.empty()) {
    suggestion = Suggestion{state->again.front(), "its worker lost the lease"};
    state->again.pop_front();
  }
  const auto is_taken = [&](const Params& params) {
    return std::ranges::any_of(state->outstanding,
                               [&](const auto& other) { return other.second == params; });
  };
  while (finished.empty() && !suggestion) {
    suggestion = state->search->ask();
    if (!suggestion) {
      if (!state->outstanding.empty()) return Asked{{}, "every setting is taken", false};
      finished = "every setting was tried";
    } else if (is_taken(suggestion->params)) {
      suggestion.reset();
    }
  }
  if (!finished.empty()) {
    if (auto ok = store_.update_study(study->id, {.state = StudyState::finished}); !ok) {
      return failure(ok.error());
    }
    return Asked{{}, std::move(finished), true};
  }
  auto row = store_.start_trial({.study_id = study->id,
                                 .params = to_json(suggestion->params),
                                 .worker = worker,
                                 .lease_until_ns = now_unix_ns_() + lease_ns});
  if (!row) {
    state->again.push_front(suggestion->params);
    return failure(row.error());
  }
  state->outstanding.emplace(row->id, suggestion->params);
  return Asked{std::move(*row), suggestion->reason, false};
}

Result<void> StudyService::check_trial(const StudyRow& study, std::int64_t trial_id) const {
  const auto trials = store_.trials(study.id, TrialDetail::summary);
  if (!trials) return failure(trials.error());
  if (std::ranges::find(*trials, trial_id, &TrialRow::id) != trials->end()) return {};
  return failure(ErrorCode::not_found,
                 "study " + study.name + " has no trial " + std::to_string(trial_id) +
                     "; if it was yours, its lease was lost: ask for another, and renew leases "
                     "in time");
}

Result<void> StudyService::tell(const std::string& name, std::int64_t trial_id,
                                const TrialResult& result) {
  const auto study = find(name);
  if (!study) return failure(study.error());
  if (auto ok = check_trial(*study, trial_id); !ok) return ok;
  return store_.finish_trial(trial_id, result);
}

Result<std::int64_t> StudyService::renew(const std::string& name, std::int64_t trial_id,
                                         std::int64_t lease_ns) {
  if (auto ok = check_lease(lease_ns); !ok) return failure(ok.error());
  const auto study = find(name);
  if (!study) return failure(study.error());
  if (auto ok = check_trial(*study, trial_id); !ok) return failure(ok.error());
  const std::int64_t until_ns = now_unix_ns_() + lease_ns;
  if (auto ok = store_.renew_lease(trial_id, until_ns); !ok) return failure(ok.error());
  return until_ns;
}

Result<std::optional<Recommendation>> StudyService::recommend(const std::string& name) {
  const auto study = find(name);
  if (!study) return failure(study.error());
  const auto state = running(study->id);
  std::lock_guard lock(state->mutex);
  if (const auto trials = catch_up(*study, *state); !trials) return failure(trials.error());
  return state->search->recommend();
}

}  // namespace hocket
