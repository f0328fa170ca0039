#pragma once

// A trial that has ended with a value, or without one.

#include <cstdint>
#include <optional>
#include <utility>

#include "tuner/trial/trial.h"

namespace hocket {

/// Returns a trial that people see as `shown`, complete with `value`, or failed without one.
inline Trial measured_trial(std::int64_t shown, Params params, std::optional<double> value) {
  return {.number = shown - 1,
          .params = std::move(params),
          .outcome = {.state = value ? TrialState::complete : TrialState::failed, .value = value}};
}

}  // namespace hocket
