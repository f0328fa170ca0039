#pragma once

// The words of a study that its runner and its store share: where a trial stands and what it is
// for.

#include <string_view>

#include "core/base/result.h"

namespace hocket {

enum class TrialState { running, complete, failed, timeout };

enum class TrialPhase {
  search,   ///< looks for a better configuration
  confirm,  ///< measures the winner against the default again
};

/// The name of the enumerator.
std::string_view to_string(TrialState state);
std::string_view to_string(TrialPhase phase);

/// invalid_argument lists what is allowed.
Result<TrialState> parse_trial_state(std::string_view text);
Result<TrialPhase> parse_trial_phase(std::string_view text);

}  // namespace hocket
