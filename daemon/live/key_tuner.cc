#include "daemon/live/key_tuner.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "archive/promotions/neighbour.h"
#include "archive/studies/donor_source.h"
#include "archive/studies/told_trial.h"
#include "core/base/check.h"
#include "core/base/statistics.h"
#include "daemon/live/job_fit.h"
#include "tuner/space/schedule_space.h"

namespace hocket {
namespace {

std::vector<std::string> names_of(const Space& space) {
  std::vector<std::string> names;
  for (const Parameter& parameter : space.parameters()) names.push_back(parameter.name);
  return names;
}

/// Returns the point of the study at which the job is; an error if the study does not have it.
Result<Params> base_in(const Space& space, const RunningJob& job) {
  const auto params = params_of(job.description.config, space);
  HOCKET_TRY(params);
  return space.admit(*params);
}

std::optional<tuning::SearchAnswer> answer_of(const SessionNext& next,
                                              const std::optional<std::string>& error) {
  if (error)
    return tuning::SearchAnswer{tuning::SearchAnswer::Kind::error, "internal error: " + *error};
  if (!next.params) return tuning::SearchAnswer{tuning::SearchAnswer::Kind::end, next.reason};
  return tuning::SearchAnswer{};
}

}  // namespace

KeyTuner::KeyTuner(LiveParts& parts, LiveCounts& counts, ConfigKey key, std::int64_t topology_id,
                   std::int64_t workload_id, std::function<void()> wake)
    : parts_(parts),
      counts_(counts),
      key_(std::move(key)),
      topology_id_(topology_id),
      workload_id_(workload_id),
      wake_(std::move(wake)) {}

std::string KeyTuner::explorer() const {
  const auto* const explorer = state_.explorer();
  return explorer ? explorer->job : std::string();
}

std::uint64_t KeyTuner::explorer_number() const {
  const auto* const explorer = state_.explorer();
  return explorer ? explorer->number : 0;
}

void KeyTuner::forget(const RunningJob& gone) {
  apply(tuning::JobsForgotten{{gone.description.id}});
}

void KeyTuner::report(const RunningJob& job, const JobReport& report) {
  // Times of an earlier registration of the explorer's id are not the explorer's.
  if (report.job == explorer() && job.number != explorer_number()) return;
  apply(tuning::JobReported{job.description.config, report});
}

bool KeyTuner::can_explore(const RunningJob& job) const {
  return job.key == key_ && job.description.explore > 0 && !searched_knobs(job.description).empty();
}

std::optional<tuning::NextExplorer> KeyTuner::find_other() {
  const std::uint64_t current = explorer_number();
  std::optional<tuning::NextExplorer> other;
  parts_.jobs.for_each(key_, [&](const RunningJob& job) {
    const std::string& id = job.description.id;
    const bool is_other = job.number != current && !state_.left_alone.contains(id);
    if (is_other && job.is_connected() && can_explore(job)) {
      other = tuning::NextExplorer{id, job.description.config, job.number};
    }
    return !other;
  });
  return other;
}

tuning::Sight KeyTuner::look(const std::optional<RunningJob>& job, bool may_explore) {
  // A job whose connection broke may reconnect. It is given up only when the registry removes it.
  tuning::Sight sight{.now_ns = parts_.clock.now_ns(),
                      .now_unix_ns = parts_.now_unix_ns(),
                      .may_explore = may_explore,
                      .has_explorer = job && can_explore(*job)};
  if (sight.has_explorer) apply(tuning::ConfigSeen{job->description.config});
  if (tuning::needs_other(state_, sight)) sight.other = find_other();
  const bool is_asking = std::holds_alternative<tuning::Asking>(state_.at);
  if (is_asking && search_->has_answered) sight.answer = answer_of(search_->next, search_->error);
  return sight;
}

Result<void> KeyTuner::advance(bool may_explore) {
  for (;;) {
    const auto job = parts_.jobs.find(explorer_number());
    const tuning::Sight sight = look(job, may_explore);
    const auto action = tuning::due(state_, sight);
    if (!action) return {};
    HOCKET_TRY(carry_out(*action, job, sight));
  }
}

Result<void> KeyTuner::conclude() {
  const auto* const trying = std::get_if<tuning::Trying>(&state_.at);
  if (!trying || !trying->outcome) return {};
  return conclude_candidate(parts_.jobs.find(explorer_number()));
}

Result<void> KeyTuner::carry_out(const tuning::Action& action, const std::optional<RunningJob>& job,
                                 const tuning::Sight& sight) {
  using Kind = tuning::Action::Kind;
  switch (action.kind) {
    case Kind::conclude:
      return conclude_candidate(job);
    case Kind::leave_alone:
      apply(tuning::LeftAlone{});
      return {};
    case Kind::end_study:
    case Kind::end_search:
      return end_study(action);
    case Kind::change_explorer:
      apply(tuning::ExplorerChanged{sight.other});
      return {};
    case Kind::record_drift:
      return record_drift();
    case Kind::reopen_search:
      return reopen_search(action.reason);
    case Kind::lift_quarantine:
      HOCKET_TRY(parts_.store.lift_quarantine(topology_id_, workload_id_, kDaemonActor));
      apply(tuning::QuarantineLifted{});
      return {};
    case Kind::resume_study:
      return resume_study(*job);
    case Kind::begin_study:
      return begin_study(*job);
    case Kind::tell_baseline:
      return tell_baseline(*job);
    case Kind::ask:
      return ask(*job);
    case Kind::return_answer:
      if (search_->next.params) search_->session.give_back(*search_->next.params);
      apply(tuning::AnswerDropped{});
      return {};
    case Kind::offer:
      return offer(*job);
    case Kind::fail_search:
      apply(tuning::AnswerDropped{});
      return invalid(action.reason);
  }
  return {};
}

Result<void> KeyTuner::record_drift() {
  const tuning::FoundDrift& drift = *state_.drift;
  HOCKET_TRY(parts_.store.record_audit(
      {.actor = kDaemonActor,
       .action = "drift",
       .subject = to_string(key_),
       .detail = {{"job", drift.job}, {"before_ns", drift.before_ns}, {"now_ns", drift.now_ns}}}));
  ++counts_.drifts;
  apply(tuning::DriftRecorded{});
  return {};
}

Result<void> KeyTuner::reopen_search(const std::string& reason) {
  const EndedSearch& search = std::get<tuning::Settled>(state_.at).search;
  HOCKET_TRY(parts_.store.record_audit({.actor = kDaemonActor,
                                        .action = "reopen_search",
                                        .subject = search.study,
                                        .detail = {{"key", to_string(key_)}, {"reason", reason}}}));
  parts_.log.write(LogLevel::info, "search opened again",
                   {{"study", search.study}, {"reason", reason}});
  apply(tuning::SearchReopened{});
  return {};
}

Result<void> KeyTuner::begin_study(const RunningJob& job) {
  auto definition = live_definition(job.description);
  HOCKET_TRY(definition);
  // A drift begins a new search; each has its own seed.
  UnreadRows unread;
  const auto studies = parts_.store.studies(&unread);
  HOCKET_TRY(studies);
  definition->seed = static_cast<std::int64_t>(studies->size() + unread.size()) + 1;
  definition->method = parts_.method;
  const auto donor = nearest_donor(parts_.store, *definition,
                                   {job.description.topology, job.description.workload});
  HOCKET_TRY(donor);
  definition->donor =
      *donor ? std::optional((*donor)->donor) : predicted_donor(job.description, definition->space);
  const auto neighbour = find_neighbour(parts_.store, key_);
  HOCKET_TRY(neighbour);
  auto session = live_session(*definition, {}, std::nullopt);
  HOCKET_TRY(session);
  if (*neighbour) {
    const auto config = schedule_config_from_json((*neighbour)->promotion.config);
    const auto params = config ? params_of(*config, definition->space) : failure(config.error());
    if (params) session->prefer({*params});
  }
  const auto study = parts_.store.create_study({.name = {},
                                                .command = {"live", job.description.name},
                                                .definition = to_json(*definition),
                                                .owner = kDaemonActor,
                                                .topology_id = topology_id_,
                                                .workload_id = workload_id_,
                                                .origin = StudyOrigin::live});
  HOCKET_TRY(study);
  search_ = std::make_shared<OpenSearch>(std::move(*session));
  apply(tuning::StudyOpened{{study->id, study->name}});
  return {};
}

Result<void> KeyTuner::resume_study(const RunningJob& job) {
  const auto studies = live_studies(parts_.store, topology_id_, workload_id_);
  HOCKET_TRY(studies);
  const auto expected = live_definition(job.description);
  HOCKET_TRY(expected);
  for (std::size_t i = 0; i < studies->size(); ++i) {
    const StudyRow& study = (*studies)[i];
    const auto definition = study_definition_from_json(study.definition);
    if (!definition || names_of(definition->space) != names_of(expected->space)) continue;
    const auto base = base_in(definition->space, job);
    if (!base) continue;
    if (study.state != StudyState::finished) return resume_trials(job, study, *definition, *base);
    auto ended = read_ended_search(parts_.store, *studies, i, &job.description.config);
    HOCKET_TRY(ended);
    parts_.log.write(LogLevel::info, "nothing to search",
                     {{"key", to_string(key_)}, {"ended", study.name}});
    apply(tuning::NothingToSearch{std::move(*ended)});
    return {};
  }
  return begin_study(job);
}

Result<void> KeyTuner::resume_trials(const RunningJob& job, const StudyRow& study,
                                     const StudyDefinition& definition, const Params& base) {
  const auto trials = parts_.store.trials(study.id, TrialDetail::with_measurements);
  HOCKET_TRY(trials);
  tuning::StudyOpened opened{{study.id, study.name}};
  for (const TrialRow& trial : *trials) {
    const auto params = params_from_json(trial.params);
    if (!params) continue;
    if (trial.state == TrialState::running) {
      const auto config = with_params(job.description.config, *params);
      if (trial.worker != explorer() || !config) continue;
      opened.candidate = {trial.id, *params, *config, parts_.clock.now_ns()};
      continue;
    }
    if (*params == base && trial.value) opened.value_ns = *trial.value;
  }
  auto session =
      live_session(definition, *trials,
                   opened.candidate ? std::optional(opened.candidate->trial) : std::nullopt);
  HOCKET_TRY(session);
  if (!opened.candidate) HOCKET_TRY(parts_.store.abandon_running_trials(study.id));
  tried_for_ = job.owner.speaks_for();
  HOCKET_TRY(parts_.store.update_study(study.id, {.state = StudyState::running}));
  search_ = std::make_shared<OpenSearch>(std::move(*session));
  apply(opened);
  // The job may not have received the candidate; if it has, it knows the number.
  const auto* const trying = std::get_if<tuning::Trying>(&state_.at);
  if (trying && !trying->outcome) publish_candidate();
  return {};
}

Result<void> KeyTuner::end_study(const tuning::Action& action) {
  const bool is_settled = action.kind == tuning::Action::Kind::end_search;
  const tuning::OpenStudy study = *state_.study();
  if (state_.candidate()) {
    HOCKET_TRY(parts_.store.abandon_running_trials(study.id));
    parts_.feed.forget(job_candidate_topic(explorer_number()));
  }
  tuning::StudyEnded ended{is_settled};
  if (is_settled) {
    const auto row = parts_.store.study(std::to_string(study.id));
    HOCKET_TRY(row);
    auto left = read_ended_search(parts_.store, {*row}, 0);
    HOCKET_TRY(left);
    ended.search = std::move(*left);
    parts_.log.write(LogLevel::info, "search ended",
                     {{"study", study.name}, {"reason", action.reason}});
  }
  HOCKET_TRY(parts_.store.update_study(study.id, {.state = action.study_state}));
  HOCKET_TRY(
      parts_.store.record_audit({.actor = kDaemonActor,
                                 .action = "end_search",
                                 .subject = study.name,
                                 .detail = {{"key", to_string(key_)}, {"reason", action.reason}}}));
  search_.reset();
  apply(ended);
  return {};
}

Result<void> KeyTuner::tell_baseline(const RunningJob& job) {
  StudySession& session = search_->session;
  const auto params = params_of(job.description.config, session.space());
  if (!params || !session.space().admit(*params)) {
    return end_study({tuning::Action::Kind::end_study, StudyState::interrupted,
                      "its job was given what the study does not have"});
  }
  const std::int64_t study = state_.study()->id;
  // A call that failed may have left one.
  HOCKET_TRY(parts_.store.abandon_running_trials(study));
  const auto row = parts_.store.start_trial({.study_id = study, .params = to_json(*params)});
  HOCKET_TRY(row);
  TrialOutcome outcome = complete_trial(state_.explorer()->latest_ns);
  outcome.message = "what the job had";
  HOCKET_TRY(parts_.store.finish_trial(row->id, outcome));
  apply(tuning::BaselineTold{*outcome.value});
  return session.tell(*params, outcome);
}

Result<void> KeyTuner::ask(const RunningJob& job) {
  auto quarantined = parts_.store.quarantined(topology_id_, workload_id_);
  HOCKET_TRY(quarantined);
  const auto is_excluded = [job = job.description,
                            quarantined = std::move(*quarantined)](const Params& params) {
    const auto config = with_params(job.config, params);
    if (!config || *config == job.config) return true;
    // A resumed study may have been begun with a job that can run more.
    if (fit_of(job, *config).fit != JobFitKind::now) return true;
    const nlohmann::json document = to_json(*config);
    return std::ranges::any_of(quarantined,
                               [&](const QuarantineRow& row) { return row.config == document; });
  };
  search_->has_answered = false;
  apply(tuning::SearchAsked{});
  parts_.searches.run([search = search_, is_excluded, value_ns = state_.explorer()->value_ns,
                       wake = wake_, errors = parts_.errors, key = to_string(key_)] {
    search->error = errors.contain(ErrorOrigin::key, {{"key", key}}, [&] {
      search->next = search->session.ask(is_excluded);
      if (search->next.params) return;
      search->next.params =
          search->session.worth_another_look(value_ns, kWorthwhileGain, is_excluded);
    });
    search->has_answered = true;
    wake();
  });
  return {};
}

Result<void> KeyTuner::offer(const RunningJob& job) {
  const Params params = *search_->next.params;
  const auto config = with_params(job.description.config, params);
  HOCKET_TRY(config);
  const auto row = parts_.store.start_trial(
      {.study_id = state_.study()->id, .params = to_json(params), .worker = explorer()});
  HOCKET_TRY(row);
  tried_for_ = job.owner.speaks_for();
  apply(tuning::CandidateOffered{{row->id, params, *config, parts_.clock.now_ns()}});
  ++counts_.offered;
  publish_candidate();
  return {};
}

void KeyTuner::publish_candidate() {
  const auto& candidate = *state_.candidate();
  const DaemonMessage message = CandidateMessage{candidate.trial, candidate.config};
  parts_.feed.publish(job_candidate_topic(explorer_number()),
                      {std::nullopt, std::string(type_of(message)), to_json(message).dump()});
}

Result<void> KeyTuner::conclude_candidate(const std::optional<RunningJob>& job) {
  const auto& trying = std::get<tuning::Trying>(state_.at);
  const tuning::Conclusion conclusion =
      tuning::conclusion_of(trying, job ? &job->description.config : nullptr);
  if (conclusion.is_kept) HOCKET_TRY(promote(conclusion));
  return conclusion.is_measured() ? conclude_measured(conclusion) : conclude_unmeasured(conclusion);
}

Result<void> KeyTuner::promote(const tuning::Conclusion& conclusion) {
  const auto& trying = std::get<tuning::Trying>(state_.at);
  const auto rows = parts_.store.promotions({.key = key_});
  HOCKET_TRY(rows);
  const PromotionRow* const current = newest_for(*rows, tried_for_);
  const nlohmann::json config = to_json(trying.candidate.config);
  // It was promoted before an error, or before the daemon was started again.
  if (current != nullptr && current->config == config) return {};
  std::optional<MeasuredGain> measured;
  if (!conclusion.candidate_ns.empty()) {
    const double candidate = median(conclusion.candidate_ns);
    const double before = median(conclusion.current_ns);
    measured = MeasuredGain{candidate, before, 1 - candidate / before};
  }
  HOCKET_TRY(parts_.store.promote(
      {.topology_id = topology_id_,
       .workload_id = workload_id_,
       .study_id = trying.study.id,
       .config = config,
       .measured = measured,
       .origin = PromotionOrigin::live,
       .stage = tried_for_.empty() ? PromotionStage::released : PromotionStage::staged,
       .actor = "job " + trying.explorer.job,
       .note = trying.outcome->message,
       .kept_by = tried_for_.empty() ? std::vector<std::string>() : std::vector{tried_for_}}));
  return {};
}

Result<void> KeyTuner::conclude_measured(const tuning::Conclusion& conclusion) {
  const auto& trying = std::get<tuning::Trying>(state_.at);
  TrialOutcome outcome = complete_trial(conclusion.samples_ns);
  outcome.message = trying.outcome->message;
  // The error of these times adds to that of the value, which is relative to them.
  outcome.metrics[kReferenceMetric] = conclusion.current_ns;
  HOCKET_TRY(parts_.store.finish_trial(trying.candidate.trial, outcome));
  if (conclusion.is_slower) {
    HOCKET_TRY(parts_.store.quarantine({.topology_id = topology_id_,
                                        .workload_id = workload_id_,
                                        .config = to_json(trying.candidate.config),
                                        .reason = trying.outcome->message,
                                        .actor = "job " + trying.explorer.job}));
  }
  ++(conclusion.is_kept ? counts_.kept : counts_.rolled_back);
  const Params params = trying.candidate.params;
  end_candidate(conclusion, *outcome.value);
  return search_->session.tell(params, outcome);
}

Result<void> KeyTuner::conclude_unmeasured(const tuning::Conclusion& conclusion) {
  const auto& trying = std::get<tuning::Trying>(state_.at);
  const Params params = trying.candidate.params;
  if (conclusion.is_kept) {
    // It will be measured as the current configuration.
    HOCKET_TRY(parts_.store.abandon_running_trials(trying.study.id));
    search_->session.withdraw(params);
    ++counts_.kept;
    end_candidate(conclusion, 0);
    return {};
  }
  TrialOutcome outcome;
  outcome.message = trying.outcome->message;
  HOCKET_TRY(parts_.store.finish_trial(trying.candidate.trial, outcome));
  ++counts_.rejected;
  end_candidate(conclusion, 0);
  return search_->session.tell(params, outcome);
}

void KeyTuner::end_candidate(const tuning::Conclusion& conclusion, double value_ns) {
  take_back_candidate(conclusion.is_kept);
  apply(tuning::CandidateEnded{conclusion, value_ns});
}

void KeyTuner::take_back_candidate(bool is_kept) {
  const std::uint64_t number = explorer_number();
  if (is_kept) {
    const auto job = parts_.jobs.find(number);
    parts_.jobs.runs_with(number, state_.candidate()->config, job ? job->version : 0);
  }
  parts_.feed.forget(job_candidate_topic(number));
}

Result<void> KeyTuner::leave_removed_study() {
  const auto* const study = state_.study();
  if (!study) return {};
  const auto row = parts_.store.study(std::to_string(study->id));
  if (row) return {};
  if (row.error().code != ErrorCode::not_found) return failure(row.error());
  parts_.log.write(LogLevel::warning, "the study was removed while it ran",
                   {{"key", to_string(key_)}, {"study", study->name}});
  if (const auto* trying = std::get_if<tuning::Trying>(&state_.at)) {
    take_back_candidate(trying->outcome && trying->outcome->status == ChangeStatus::applied);
  }
  search_.reset();
  apply(tuning::StudyRemoved{});
  return {};
}

}  // namespace hocket
