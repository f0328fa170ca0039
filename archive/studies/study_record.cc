#include "archive/studies/study_record.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "archive/studies/owner.h"
#include "archive/studies/study_job.h"
#include "archive/studies/study_result.h"
#include "core/base/check.h"
#include "tuner/space/schedule_space.h"

namespace hocket {

Result<nlohmann::json> promoted_config(const Params& params) {
  bool has_knob = false;
  for (const auto& [name, value] : params) has_knob = has_knob || is_knob(name);
  auto document = to_json(params);
  if (!has_knob) return document;
  const auto config = schedule_config_for(params);
  HOCKET_TRY(config);
  // The configuration has a place of its own for overrides of regions.
  for (const auto& [name, value] : params) {
    if (is_knob(name)) document.erase(name);
  }
  document.update(to_json(*config));
  return document;
}

Result<void> describe_study(Store& store, StudyRow& study, const RunReport& report) {
  const auto topology = store.upsert_topology(report.topology);
  HOCKET_TRY(topology);
  const auto workload = store.upsert_workload(report.workload);
  HOCKET_TRY(workload);
  HOCKET_TRY(store.update_study(
      study.id,
      {.topology_id = *topology, .workload_id = *workload, .expected_owner = study.owner}));
  study.topology_id = *topology;
  study.workload_id = *workload;
  return {};
}

StudyRecord::StudyRecord(Store& store, StudyRow study, Topology topology, bool has_report,
                         bool has_workers)
    : store_(store),
      study_(std::move(study)),
      topology_(std::move(topology)),
      has_report_(has_report),
      has_workers_(has_workers) {}

template <class Call>
auto StudyRecord::kept(const Call& call) const -> decltype(call()) {
  auto result = patiently(call);
  if (!result) return failure(as_bad_input(result.error()));
  return result;
}

Result<TrialRow> StudyRecord::start_once(const NewTrial& trial, std::int64_t shown_number) {
  bool may_be_started = false;
  return kept([&]() -> Result<TrialRow> {
    if (std::exchange(may_be_started, true)) {
      // The answer that was lost may have been that of a trial which was started.
      auto rows = store_.trials(study_.id, TrialDetail::summary);
      HOCKET_TRY(rows);
      const auto own = std::ranges::find_if(*rows, [&](const TrialRow& row) {
        return row.number == shown_number && row.state == TrialState::running &&
               row.phase == trial.phase && row.params == trial.params;
      });
      if (own != rows->end()) return std::move(*own);
    }
    return store_.start_trial(trial);
  });
}

Result<void> StudyRecord::promote_once(const NewPromotion& promotion) {
  bool may_be_promoted = false;
  return kept([&]() -> Result<void> {
    if (std::exchange(may_be_promoted, true)) {
      const auto rows = store_.promotions({});
      HOCKET_TRY(rows);
      if (std::ranges::any_of(*rows, [&](const PromotionRow& row) {
            return row.study_id == promotion.study_id && row.config == promotion.config;
          })) {
        return {};
      }
    }
    HOCKET_TRY(store_.promote(promotion));
    return {};
  });
}

Result<void> StudyRecord::trial_started(std::int64_t number, TrialPhase phase,
                                        const Params& params) {
  if (has_workers_) return {};
  const auto row = start_once({study_.id, phase, to_json(params)}, number + 1);
  HOCKET_TRY(row);
  if (row->number != number + 1) {
    return failure(ErrorCode::invalid_argument,
                   "another process adds trials to study " + study_.name +
                       "; let it go on, and start a study of your own");
  }
  running_trial_ = row->id;
  return {};
}

Result<void> StudyRecord::trial_finished(const Trial& trial) {
  if (has_workers_) {
    ++finished_trials_;
    return read_description();
  }
  HOCKET_CHECK(running_trial_, "a trial is started before it is finished");
  const auto& outcome = trial.outcome;
  const std::int64_t id = *std::exchange(running_trial_, std::nullopt);
  HOCKET_TRY(kept([&] { return store_.finish_trial(id, outcome); }));
  ++finished_trials_;
  if (outcome.report && !has_report_) {
    HOCKET_TRY(kept([&] { return describe_study(store_, study_, *outcome.report); }));
    topology_ = outcome.report->topology;
    has_report_ = true;
  }
  return {};
}

Result<void> StudyRecord::search_stopped(const std::string& reason) {
  // Read again: a donor may have been added to it.
  const auto study = kept([&] { return store_.study(std::to_string(study_.id)); });
  HOCKET_TRY(study);
  auto definition = study->definition;
  definition["stopped"] = reason;
  return update({.definition = std::move(definition)});
}

Result<void> StudyRecord::read_description() {
  if (has_report_) return {};
  const auto study = kept([&] { return store_.study(std::to_string(study_.id)); });
  HOCKET_TRY(study);
  if (study->topology_id == study_.topology_id && study->workload_id == study_.workload_id)
    return {};
  auto topology = kept([&] { return topology_of(store_, *study); });
  HOCKET_TRY(topology);
  study_.topology_id = study->topology_id;
  study_.workload_id = study->workload_id;
  topology_ = std::move(*topology);
  has_report_ = true;
  return {};
}

Result<void> StudyRecord::update(StudyUpdate update) {
  update.expected_owner = study_.owner;
  return kept([&] { return store_.update_study(study_.id, update); });
}

Result<void> StudyRecord::finish(const StudyResult& result) {
  // In this order: if the process dies between the two, the resumed study promotes again.
  if (result.promoted) {
    const auto config = promoted_config(result.best.params);
    HOCKET_TRY(config);
    const double value = result.best.value.value_or(0);
    // A default that never completed has no value, and the gain is 0.
    const MeasuredGain measured{value, result.default_params.value.value_or(value), result.gain};
    HOCKET_TRY(promote_once({.topology_id = study_.topology_id.value_or(0),
                             .workload_id = study_.workload_id.value_or(0),
                             .study_id = study_.id,
                             .config = *config,
                             .measured = measured,
                             .actor = actor_text(),
                             .note = result.reason}));
  }
  return update({.state = StudyState::finished, .result = to_json(result)});
}

Result<void> StudyRecord::stop(bool nothing_to_resume) {
  if (!has_workers_) {
    HOCKET_TRY(kept([&] { return store_.abandon_running_trials(study_.id); }));
  }
  return update({.state = nothing_to_resume ? StudyState::finished : StudyState::interrupted});
}

}  // namespace hocket
