#pragma once

// Launches captured steps as a whole (step_issue=graph): the plan gets one task per launch, and the
// executor the sequence of the step's tasks and parts. What is submitted in another way, and what
// cannot be launched as a whole yet, has another form. Private to this folder; used by the
// submitter's thread only.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "core/scheduler/dispatch/dispatch.h"
#include "core/scheduler/step_capture.h"
#include "core/scheduler/step_form.h"
#include "core/scheduler/whole_step_order.h"

namespace hocket {

class WholeSteps final : public StepForm {
 public:
  /// `tasks` is the form of what is launched as a whole, and of all other tasks; it must outlive
  /// this.
  WholeSteps(Dispatch& dispatch, StepForm& tasks) : dispatch_(dispatch), tasks_(tasks) {}

  Result<void> configure(const ScheduleConfig& config) override { return tasks_.configure(config); }
  void add_data(DataId data, const DataPlace& place, std::string_view name) override {
    tasks_.add_data(data, place, name);
  }
  void submit(TaskSubmission&& submission, std::span<const Access> accesses) override {
    tasks_.submit(std::move(submission), accesses);
  }
  Result<void> end_step() override { return tasks_.end_step(); }
  /// Waits for everything before `step` unless that is launches of the same step under the same
  /// configuration.
  Result<void> launch(const std::shared_ptr<StepCapture>& step) override;
  bool follows_static_order() const override { return tasks_.follows_static_order(); }
  bool renames_data() const override { return tasks_.renames_data(); }

 private:
  Result<void> launch_whole(const std::shared_ptr<StepCapture>& step);
  bool is_prepared(const std::shared_ptr<StepCapture>& step) const;
  Result<void> prepare(const std::shared_ptr<StepCapture>& step);
  StepWork work_of(StepCapture& step);

  Dispatch& dispatch_;
  StepForm& tasks_;
  // The step launched last, and how: for which configuration, as the dispatch counts them.
  std::shared_ptr<StepCapture> step_;
  std::uint64_t configuration_ = 0;
  std::unique_ptr<StepWork> work_;
  /// Orders launches among each other.
  std::optional<DataId> data_;
};

}  // namespace hocket
