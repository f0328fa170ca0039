#pragma once

// Steps whose measurement does not carry over to other configurations. Pure; thread-safe.

#include <string>

#include "core/step/step_description.h"

namespace hocket {

/// Uncertainty (StepQuality) of a step from which nothing but the measured configuration is
/// predicted: its bytes are not known, or the prediction of what was measured is wrong.
inline constexpr double kWithheldUncertainty = 100;

/// Returns why predictions of `step` for other configurations are withheld, and what to record;
/// empty if they are not.
inline std::string why_withheld(const StepDescription& step) {
  if (step.quality.uncertainty < kWithheldUncertainty) return {};
  return step.quality.reason.empty() ? "its uncertainty is the largest" : step.quality.reason;
}

}  // namespace hocket
