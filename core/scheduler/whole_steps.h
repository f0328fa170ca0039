#pragma once

// Launches captured steps as a whole (step_issue=graph): the plan gets one task per launch, and the
// executor the sequence of the step's tasks and parts. Private to this folder; used by the
// submitter's thread only.

#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/result.h"
#include "core/scheduler/dispatch.h"
#include "core/scheduler/step_capture.h"
#include "core/scheduler/whole_step_order.h"

namespace hocket {

class WholeSteps {
 public:
  explicit WholeSteps(Dispatch& dispatch) : dispatch_(dispatch) {}

  /// Launches `step` and ends the step of the job. Waits for everything before it unless that is
  /// launches of the same step under the same configuration.
  Result<void> launch(const std::shared_ptr<StepCapture>& step);

 private:
  bool is_prepared(const std::shared_ptr<StepCapture>& step) const;
  Result<void> prepare(const std::shared_ptr<StepCapture>& step);
  StepWork work_of(StepCapture& step) const;

  Dispatch& dispatch_;
  // The step launched last, and how: for which configuration, as the dispatch counts them.
  std::shared_ptr<StepCapture> step_;
  std::uint64_t configuration_ = 0;
  std::unique_ptr<StepWork> work_;
  std::uint64_t version_ = 0;
  /// Orders launches among each other.
  std::optional<DataId> data_;
};

}  // namespace hocket
