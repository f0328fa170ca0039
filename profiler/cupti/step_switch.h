#pragma once

// Decides at which steps CUPTI starts and stops recording. Pure; not thread-safe.

#include <cstdint>

#include "core/trace/rank_trace.h"

namespace hocket {

enum class StepAction : std::uint8_t { none, begin, end };

/// Controls a span of `steps` steps from `first_step` on. Recording starts one step before the
/// span, whose work may still run on the device when the span begins. The first work of the step
/// after the span ends the last window. So recording stops when the host begins the second step
/// after that one, when all of that step has run: a scheduler has at most two steps in flight. A
/// span that is requested late begins late. A span ends if step numbers go back.
class StepSwitch {
 public:
  StepSwitch(std::int64_t first_step, std::int64_t steps)
      : first_step_(first_step), end_step_(first_step + steps) {}

  /// Tells the switch that the host begins `step`.
  StepAction on_step(std::int64_t step) {
    const bool goes_back = step <= latest_;
    latest_ = step;
    if (state_ == State::recording && (goes_back || step >= end_step_ + kAfter)) return stop();
    if (state_ == State::waiting && step > end_step_) return stop();
    if (state_ == State::waiting && step >= first_step_ - 1) {
      state_ = State::recording;
      return StepAction::begin;
    }
    return StepAction::none;
  }

  /// Ends the span now; returns `end` if it was not over.
  StepAction stop() {
    if (state_ == State::over) return StepAction::none;
    state_ = State::over;
    return StepAction::end;
  }

  bool is_recording() const { return state_ == State::recording; }
  bool is_over() const { return state_ == State::over; }

 private:
  enum class State : std::uint8_t { waiting, recording, over };

  static constexpr std::int64_t kAfter = 2;

  const std::int64_t first_step_, end_step_;
  std::int64_t latest_ = kNoStep;
  State state_ = State::waiting;
};

}  // namespace hocket
