#pragma once

// A described step of six layers, and levels of the scheduler's knobs as its search space.

#include <cstdint>
#include <string>
#include <vector>

#include "core/description/step_description.h"
#include "tuner/space/parameter.h"

namespace hocket {

/// Returns the powers of two from 2^low to 2^high.
inline Levels powers(int low, int high) {
  Levels levels{std::vector<ParameterValue>(static_cast<std::size_t>(high - low + 1))};
  for (ParameterValue& value : levels.values) value = std::int64_t{1} << low++;
  return levels;
}

inline StepDescription chain() {
  StepDescription step;
  for (int i = 0; i < 6; ++i)
    step.layers.push_back(
        {"layer " + std::to_string(i), (1 + i) * 3'000'000, 2'000'000 + i * 300'000, 4'000'000});
  step.collective = {60'000, 0.6, 200'000};
  step.compute_slowdown = 0.02;
  return step;
}

}  // namespace hocket
