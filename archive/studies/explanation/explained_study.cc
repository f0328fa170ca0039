#include "archive/studies/explanation/explained_study.h"

#include <utility>

#include "archive/studies/told_trial.h"
#include "tuner/explain/retrace.h"
#include "tuner/explain/step_calibration.h"
#include "tuner/study/study_definition.h"

namespace hocket {
namespace {

/// The trials of a study's search, as the search went through them and as they are explained.
struct SearchHistory {
  std::vector<Trial> past, ended;
};

Result<SearchHistory> search_history(Store& store, const StudyRow& study) {
  const auto rows = store.trials(study.id, TrialDetail::with_measurements);
  HOCKET_TRY(rows);
  SearchHistory history;
  for (const auto& row : *rows) {
    if (row.phase != TrialPhase::search) continue;
    auto trial = trial_of(row);
    HOCKET_TRY(trial);
    if (!is_running(*trial)) {
      Trial& ended = history.ended.emplace_back(*trial);
      if (ended.outcome.message.empty() && !is_complete(ended))
        ended.outcome.message = to_string(row.state);
    }
    history.past.push_back(std::move(*trial));
  }
  return history;
}

}  // namespace

Result<StudyExplanation> explain_study(Store& store, const std::string& name,
                                       const ExplainStudyOptions& wanted) {
  const auto study = store.study(name);
  HOCKET_TRY(study);
  const std::string title = "study " + study->name;
  auto definition = study_definition_from_json(study->definition);
  if (!definition) return failure(definition.error().in(title));
  auto history = search_history(store, *study);
  if (!history) return failure(history.error().in(title));
  auto& trials = history->ended;

  const SessionOptions options = session_options(*definition);
  RetracedSearch retraced;
  const bool is_retraced =
      trials.size() * definition->space.parameters().size() <= wanted.retrace_limit;
  if (is_retraced) {
    auto again = retrace_search(options, history->past);
    if (!again) return failure(again.error().in(title));
    retraced = std::move(*again);
  }
  auto explanation = explain_search(definition->space, trials,
                                    {.seed = options.search.seed,
                                     .direction = definition->objective.direction,
                                     .recommendation = std::move(retraced.recommendation)});
  if (!explanation) return failure(explanation.error().in(title));
  std::optional<StepCalibration> simulator;
  if (is_retraced && options.search.method == SearchMethod::model && options.search.simulate)
    simulator = calibrate_step(definition->space, std::move(definition->step), trials);
  return StudyExplanation{title,
                          to_text(definition->objective),
                          label_of(definition->objective),
                          definition->objective.direction,
                          unit_of(definition->objective),
                          std::move(definition->other_objectives),
                          std::move(definition->space),
                          std::move(trials),
                          std::move(retraced.reasons),
                          std::move(*explanation),
                          std::move(simulator)};
}

}  // namespace hocket
