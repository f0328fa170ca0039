#include "daemon/live/key_tuner.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "archive/promotions/neighbour.h"
#include "archive/studies/donor_source.h"
#include "archive/studies/told_trial.h"
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

}  // namespace

KeyTuner::KeyTuner(LiveParts& parts, LiveCounts& counts, ConfigKey key, std::int64_t topology_id,
                   std::int64_t workload_id, std::function<void()> wake)
    : parts_(parts),
      counts_(counts),
      key_(std::move(key)),
      topology_id_(topology_id),
      workload_id_(workload_id),
      wake_(std::move(wake)) {}

void KeyTuner::report(const RunningJob& job, const JobReport& report) {
  const std::string& id = job.description.id;
  for (const ChangeOutcome& outcome : report.outcomes) {
    // A job that ends has not refused a candidate for which it had no time.
    const bool is_untried = report.ended && outcome.status == ChangeStatus::rejected;
    if (!outcome.trial || is_untried) continue;
    if (explorer_.empty()) early_outcome_ = {id, outcome};
    if (id == explorer_ && offered_ && offered_->trial_id == outcome.trial) outcome_ = outcome;
  }
  if (id != explorer_) return;
  look_at_base(job);
  // A configuration that was applied just now is not the base yet.
  if (std::ranges::find(report.outcomes, ChangeStatus::applied, &ChangeOutcome::status) !=
      report.outcomes.end()) {
    return;
  }
  for (const std::int64_t wall_ns : report.iteration_ns) {
    add_iteration(static_cast<double>(wall_ns));
  }
}

void KeyTuner::look_at_base(const RunningJob& job) {
  if (base_ == job.description.config) return;
  base_ = job.description.config;
  base_ns_ = 0;
  baseline_ns_.clear();
  drift_ = DriftDetector();
}

void KeyTuner::add_iteration(double wall_ns) {
  if (base_ns_ == 0) {
    if (baseline_ns_.size() >= kBaselineIterations) baseline_ns_.erase(baseline_ns_.begin());
    baseline_ns_.push_back(wall_ns);
  }
  const double before_ns = drift_.reference_ns();
  if (!drift_.add(wall_ns)) return;
  ++counts_.drifts;
  drifted_ = {{"job", explorer_}, {"before_ns", before_ns}, {"now_ns", drift_.drifted_to_ns()}};
  base_ns_ = 0;
  baseline_ns_.clear();
}

bool KeyTuner::can_explore(const RunningJob& job) const {
  return job.key == key_ && job.description.explore > 0 &&
         !left_alone_.contains(job.description.id) && !searched_knobs(job.description).empty();
}

Result<void> KeyTuner::choose_explorer() {
  // A job whose connection broke may reconnect. It is given up only when the registry removes it.
  const auto now = parts_.jobs.find(explorer_);
  const bool is_fit = now && can_explore(*now);
  const bool is_late = offered_ && parts_.clock.now_ns() - offered_->since_ns > kAnswerLimitNs;
  if (is_fit && !is_late) return {};
  std::erase_if(left_alone_, [&](const std::string& id) { return !parts_.jobs.find(id); });
  std::string next;
  parts_.jobs.for_each(key_, [&](const RunningJob& job) {
    if (job.streams > 0 && can_explore(job) && job.description.id != explorer_) {
      next = job.description.id;
    }
    return next.empty();
  });
  if (is_fit && next.empty()) return {};
  if (is_fit) left_alone_.insert(explorer_);
  if (auto ok = leave_explorer(); !ok) return ok;
  explorer_ = std::move(next);
  return {};
}

Result<void> KeyTuner::leave_explorer() {
  if (offered_) {
    HOCKET_TRY(parts_.store.abandon_running_trials(study_->id));
    parts_.feed.forget(job_candidate_topic(explorer_));
    offered_.reset();
  }
  outcome_.reset();
  if (study_) {
    if (auto ok = end_study(StudyState::interrupted, "its job is gone, or left alone"); !ok) {
      return ok;
    }
  }
  explorer_.clear();
  is_over_ = false;
  rejections_ = 0;
  base_.reset();
  return {};
}

Result<void> KeyTuner::advance(bool may_explore) {
  if (auto ok = choose_explorer(); !ok) return ok;
  const auto job = parts_.jobs.find(explorer_);
  if (!job) return {};
  look_at_base(*job);
  if (drifted_) {
    if (auto ok = parts_.store.record_audit({.actor = kDaemonActor,
                                             .action = "drift",
                                             .subject = to_string(key_),
                                             .detail = *drifted_});
        !ok) {
      return ok;
    }
    drifted_.reset();
    must_begin_ = true;
  }
  if (must_begin_ && !offered_) {
    if (auto ok = begin_again(); !ok) return ok;
  }
  if (!may_explore) return {};
  if (!study_ && !is_over_) {
    const auto resumed = must_begin_ ? Result<bool>(false) : resume_study(*job);
    HOCKET_TRY(resumed);
    if (!*resumed) {
      if (auto ok = begin_study(*job); !ok) return ok;
    }
    if (outcome_) {
      if (auto ok = conclude(); !ok) return ok;
    }
  }
  if (!study_ || offered_) return {};
  HOCKET_TRY(take_answer());
  if (asked_) return {};
  if (base_ns_ == 0) {
    if (auto ok = tell_baseline(*job); !ok) return ok;
  }
  if (base_ns_ == 0) return {};
  return offer(*job);
}

Result<void> KeyTuner::begin_again() {
  if (study_) {
    if (auto ok = end_study(StudyState::finished, "the time of an iteration drifted"); !ok) {
      return ok;
    }
  }
  HOCKET_TRY(parts_.store.lift_quarantine(topology_id_, workload_id_, kDaemonActor));
  is_over_ = false;
  return {};
}

Result<void> KeyTuner::begin_study(const RunningJob& job) {
  auto definition = live_definition(job.description);
  HOCKET_TRY(definition);
  // A drift begins a new search; each has its own seed.
  const auto studies = parts_.store.studies();
  HOCKET_TRY(studies);
  definition->seed = static_cast<std::int64_t>(studies->size()) + 1;
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
  auto study = parts_.store.create_study({.name = {},
                                          .command = {"live", job.description.name},
                                          .definition = to_json(*definition),
                                          .owner = kDaemonActor,
                                          .topology_id = topology_id_,
                                          .workload_id = workload_id_,
                                          .origin = StudyOrigin::live});
  HOCKET_TRY(study);
  study_ = std::move(*study);
  session_ = std::move(*session);
  must_begin_ = false;
  return {};
}

Result<bool> KeyTuner::resume_study(const RunningJob& job) {
  const auto studies = parts_.store.studies();
  HOCKET_TRY(studies);
  const auto expected = live_definition(job.description);
  HOCKET_TRY(expected);
  for (auto study = studies->rbegin(); study != studies->rend(); ++study) {
    if (study->owner != kDaemonActor || study->topology_id != topology_id_ ||
        study->workload_id != workload_id_) {
      continue;
    }
    const auto definition = study_definition_from_json(study->definition);
    if (!definition || names_of(definition->space) != names_of(expected->space)) continue;
    const auto params = params_of(job.description.config, definition->space);
    const auto base = params ? definition->space.admit(*params) : params;
    if (!base) continue;
    if (study->state == StudyState::finished) {
      is_over_ = true;
      parts_.log.write(LogLevel::info, "nothing to search",
                       {{"key", to_string(key_)}, {"ended", study->name}});
      return true;
    }
    HOCKET_TRY(resume_trials(job, *study, *definition, *base));
    return true;
  }
  return false;
}

Result<void> KeyTuner::resume_trials(const RunningJob& job, const StudyRow& study,
                                     const StudyDefinition& definition, const Params& base) {
  const auto trials = parts_.store.trials(study.id, TrialDetail::with_measurements);
  HOCKET_TRY(trials);
  std::optional<Offered> offered;
  double base_ns = 0;
  for (const TrialRow& trial : *trials) {
    const auto params = params_from_json(trial.params);
    if (!params) continue;
    if (trial.state == TrialState::running) {
      const auto config = with_params(job.description.config, *params);
      if (trial.worker != explorer_ || !config) continue;
      offered = Offered{trial.id, *params, *config, parts_.clock.now_ns()};
      continue;
    }
    if (*params == base && trial.value) base_ns = *trial.value;
  }
  auto session =
      live_session(definition, *trials, offered ? std::optional(offered->trial_id) : std::nullopt);
  HOCKET_TRY(session);
  if (!offered) {
    HOCKET_TRY(parts_.store.abandon_running_trials(study.id));
  }
  if (auto ok = parts_.store.update_study(study.id, {.state = StudyState::running}); !ok) {
    return ok;
  }
  study_ = study;
  session_ = std::move(*session);
  offered_ = std::move(offered);
  base_ns_ = base_ns;
  const auto early = std::exchange(early_outcome_, std::nullopt);
  if (!offered_) return {};
  if (early && early->first == explorer_ && early->second.trial == offered_->trial_id) {
    outcome_ = early->second;
  } else {
    // The job may not have received it; if it has, it knows the number.
    publish_offered();
  }
  return {};
}

Result<void> KeyTuner::end_study(StudyState state, const std::string& reason) {
  if (auto ok = parts_.store.update_study(study_->id, {.state = state}); !ok) return ok;
  if (auto ok =
          parts_.store.record_audit({.actor = kDaemonActor,
                                     .action = "end_search",
                                     .subject = study_->name,
                                     .detail = {{"key", to_string(key_)}, {"reason", reason}}});
      !ok) {
    return ok;
  }
  study_.reset();
  session_.reset();
  asked_.reset();
  answer_.reset();
  return {};
}

Result<void> KeyTuner::tell_baseline(const RunningJob& job) {
  if (baseline_ns_.size() < kBaselineIterations) return {};
  const auto params = params_of(job.description.config, session_->space());
  if (!params || !session_->space().admit(*params)) {
    return end_study(StudyState::interrupted, "its job was given what the study does not have");
  }
  // A call that failed may have left one.
  HOCKET_TRY(parts_.store.abandon_running_trials(study_->id));
  const auto row = parts_.store.start_trial({.study_id = study_->id, .params = to_json(*params)});
  HOCKET_TRY(row);
  TrialOutcome outcome = complete_trial(baseline_ns_);
  outcome.message = "what the job had";
  if (auto ok = parts_.store.finish_trial(row->id, outcome); !ok) return ok;
  base_ns_ = *outcome.value;
  baseline_ns_.clear();
  return session_->tell(*params, outcome);
}

Result<void> KeyTuner::ask(const RunningJob& job) {
  auto quarantined = parts_.store.quarantined(topology_id_, workload_id_);
  HOCKET_TRY(quarantined);
  const auto is_excluded = [job = job.description,
                            quarantined = std::move(*quarantined)](const Params& params) {
    const auto config = with_params(job.config, params);
    if (!config || *config == job.config) return true;
    // A resumed study may have been begun with a job that can run more.
    if (fit_of(job, *config).fit != Fit::now) return true;
    const nlohmann::json document = to_json(*config);
    return std::ranges::any_of(quarantined,
                               [&](const QuarantineRow& row) { return row.config == document; });
  };
  asked_ = std::make_shared<Asked>(std::move(*session_), job.description.config);
  session_.reset();
  parts_.searches.run(
      [asked = asked_, is_excluded, wake = wake_, errors = parts_.errors, key = to_string(key_)] {
        asked->error = errors.contain(Where::key, {{"key", key}},
                                      [&] { asked->next = asked->session.ask(is_excluded); });
        asked->has_answered = true;
        wake();
      });
  return {};
}

Result<void> KeyTuner::take_answer() {
  if (!asked_ || !asked_->has_answered) return {};
  const auto asked = std::exchange(asked_, nullptr);
  session_ = std::move(asked->session);
  if (asked->error) return invalid("internal error: " + *asked->error);
  answer_ = Answer{std::move(asked->next), asked->base};
  return {};
}

Result<void> KeyTuner::offer(const RunningJob& job) {
  const auto& base = job.description.config;
  if (answer_ && answer_->base != base) {
    // What was excluded depends on what the job has, which has changed meanwhile.
    if (answer_->next.params) session_->give_back(*answer_->next.params);
    answer_.reset();
  }
  if (!answer_) {
    HOCKET_TRY(ask(job));
    HOCKET_TRY(take_answer());
    if (!answer_) return {};
  }
  const SessionNext& next = answer_->next;
  if (!next.params) {
    const std::string reason = next.reason;
    parts_.log.write(LogLevel::info, "search ended", {{"study", study_->name}, {"reason", reason}});
    if (auto ok = end_study(StudyState::finished, reason); !ok) return ok;
    is_over_ = true;
    return {};
  }
  const auto config = with_params(base, *next.params);
  HOCKET_TRY(config);
  const auto row = parts_.store.start_trial(
      {.study_id = study_->id, .params = to_json(*next.params), .worker = explorer_});
  HOCKET_TRY(row);
  offered_ = Offered{row->id, *next.params, *config, parts_.clock.now_ns()};
  answer_.reset();
  ++counts_.offered;
  publish_offered();
  return {};
}

void KeyTuner::publish_offered() {
  const DaemonMessage message = CandidateMessage{offered_->trial_id, offered_->config};
  parts_.feed.publish(job_candidate_topic(explorer_),
                      {std::nullopt, std::string(type_of(message)), to_json(message).dump()});
}

}  // namespace hocket
