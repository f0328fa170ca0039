#pragma once

// Submits the tasks of steps as the job submits them. Private to this folder; used by the
// submitter's thread only.

#include <memory>
#include <span>
#include <utility>

#include "core/scheduler/dispatch/dispatch.h"
#include "core/scheduler/step_form.h"

namespace hocket {

class PlainSteps final : public StepForm {
 public:
  explicit PlainSteps(Dispatch& dispatch) : dispatch_(dispatch) {}

  Result<void> configure(const ScheduleConfig&) override { return {}; }
  void submit(TaskSubmission&& submission, std::span<const Access> accesses) override {
    dispatch_.submit(std::move(submission), accesses);
  }
  Result<void> end_step() override { return dispatch_.end_step(); }
  Result<void> launch(const std::shared_ptr<StepCapture>& step) override {
    return dispatch_.launch(step);
  }
  std::shared_ptr<StepCapture> formed(const std::shared_ptr<StepCapture>& step) override {
    // An executor may repeat a whole step without reading anything of the host again.
    return step->reads_counts() ? nullptr : step;
  }

 private:
  Dispatch& dispatch_;
};

}  // namespace hocket
