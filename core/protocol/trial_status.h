#pragma once

// State and phase of a trial, shared by the study's runner and its store. Pure functions.

#include <string_view>

#include "core/base/result.h"

namespace hocket {

enum class TrialState { running, complete, failed, timeout };

enum class TrialPhase {
  /// Searches for a better configuration.
  search,
  /// Measures the winner against the default again.
  confirm,
};

/// Returns the name of the enumerator.
std::string_view to_string(TrialState state);
std::string_view to_string(TrialPhase phase);

/// Parses the name of an enumerator. invalid_argument lists the allowed names.
Result<TrialState> parse_trial_state(std::string_view text);
Result<TrialPhase> parse_trial_phase(std::string_view text);

}  // namespace hocket
