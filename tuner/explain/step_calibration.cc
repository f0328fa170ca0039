#include "tuner/explain/step_calibration.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tuner/study/study_session.h"
#include "tuner/surrogate/step_mixture.h"

namespace hocket {

std::optional<StepCalibration> calibrate_step(const Space& space,
                                              std::optional<StepDescription> step,
                                              std::span<const Trial> trials) {
  auto models = StepModel::make_possible(space, std::move(step));
  if (models.empty()) return std::nullopt;
  std::vector<Observation> told;
  for (const Trial& trial : trials) {
    const Evaluation evaluation = evaluation_of(trial.params, trial.outcome);
    if (!evaluation.value) continue;
    const double value = *evaluation.value;
    if (!(value > 0)) return std::nullopt;
    told.push_back({space.encode(evaluation.params), std::log(value),
                    std::min(1.0, evaluation.standard_error / value)});
  }
  if (told.empty()) return std::nullopt;
  StepMixture surrogate(space, std::move(models));
  surrogate.fit(told, {});
  return surrogate.calibration();
}

}  // namespace hocket
