#include "archive/studies/interim_study.h"

#include <algorithm>
#include <utility>

#include "archive/studies/open_study.h"

namespace hocket {

Result<InterimStudy> interim_study(Store& store, const StudyRow& study) {
  auto definition = study_definition_from_json(study.definition);
  if (!definition) return failure(definition.error().in("study " + study.name));
  auto history = read_history(store, study.id);
  HOCKET_TRY(history);
  definition->objective = resolved_objective(definition->objective, *history);
  const auto searched = std::ranges::count(*history, TrialPhase::search, &Trial::phase);
  auto result = interim_result(study_options(*definition), std::move(*history));
  if (!result) return failure(result.error().in("study " + study.name));
  return InterimStudy{study.name, std::move(*definition), std::move(*result), searched};
}

bool has_recommendation(const InterimStudy& study) {
  const StudyResult& result = study.result;
  return result.best.value && result.best.params != result.default_params.params;
}

std::string going_on_command(const InterimStudy& study, const std::string& store_argument) {
  std::string command = "hocket tune --resume --study " + study.study;
  if (has_recommendation(study)) command += " --trials " + std::to_string(study.searched);
  return command + store_argument;
}

}  // namespace hocket
