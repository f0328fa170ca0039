#include "core/protocol/trial_status.h"

#include <string>

namespace hocket {

std::string_view to_string(TrialState state) {
  switch (state) {
    case TrialState::running:
      return "running";
    case TrialState::complete:
      return "complete";
    case TrialState::failed:
      return "failed";
    case TrialState::timeout:
      return "timeout";
  }
  return {};
}

Result<TrialState> parse_trial_state(std::string_view text) {
  for (const auto state :
       {TrialState::running, TrialState::complete, TrialState::failed, TrialState::timeout}) {
    if (text == to_string(state)) return state;
  }
  return failure(ErrorCode::invalid_argument,
                 "trial state: expected one of running, complete, failed, timeout, found \"" +
                     std::string(text) + "\"");
}

std::string_view to_string(TrialPhase phase) {
  return phase == TrialPhase::search ? "search" : "confirm";
}

Result<TrialPhase> parse_trial_phase(std::string_view text) {
  for (const auto phase : {TrialPhase::search, TrialPhase::confirm}) {
    if (text == to_string(phase)) return phase;
  }
  return failure(
      ErrorCode::invalid_argument,
      "trial phase: expected one of search, confirm, found \"" + std::string(text) + "\"");
}

}  // namespace hocket
