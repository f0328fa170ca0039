#include "cli/output/interim_text.h"

#include "cli/output/value_text.h"
#include "core/base/plain_text.h"

namespace hocket {

namespace {

std::string whole_text(const InterimStudy& study, const std::string& store_argument) {
  const StudyResult& result = study.result;
  if (!result.front.empty()) {
    return "study " + study.study + " has not confirmed its front; to confirm it: " +
           going_on_command(study, store_argument);
  }
  const std::string command = going_on_command(study, store_argument);
  if (!has_recommendation(study)) {
    return "study " + study.study + " recommends nothing so far: " + result.reason +
           "; go on with it: " + command;
  }
  const ObjectiveUnit unit = unit_of(study.definition.objective);
  const auto measured = [&](const MeasuredParams& setting) {
    return setting.value ? measured_text(setting.value, setting.spread, unit)
                         : std::string("it failed");
  };
  return "recommended by study " + study.study +
         " so far, not confirmed: " + params_text(result.best.params) + " (" +
         measured(result.best) + "; the default " + params_text(result.default_params.params) +
         ": " + measured(result.default_params) + "); to confirm and promote it: " + command;
}

}  // namespace

std::string interim_text(const InterimStudy& study, const std::string& store_argument) {
  return plain_line(whole_text(study, store_argument));
}

}  // namespace hocket
