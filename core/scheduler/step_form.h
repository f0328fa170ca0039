#pragma once

// The form in which the steps of a job run: as they are submitted (plain_steps.h), partitioned
// (partitioned_steps.h), placed on a device and its host (placed_steps.h), or launched as a whole
// (whole_steps.h). The scheduler chooses one by the configuration and passes everything on to it.
// Private to this folder; used by the submitter's thread only.

#include <memory>
#include <string_view>

#include "core/base/result.h"
#include "core/scheduler/step_capture.h"
#include "core/scheduler/task_submission.h"
#include "core/step/schedule_config.h"
#include "core/step/task.h"

namespace hocket {

class StepForm : public TaskSink {
 public:
  /// Forms steps as `config` says from now on. Called between steps, before the first one too;
  /// where the form renames data, everything submitted has run. invalid_argument, which changes
  /// nothing, where the steps that the form knows do not fit.
  virtual Result<void> configure(const ScheduleConfig& config) = 0;

  /// Tells of a new piece of data of the job.
  virtual void add_data(DataId, const DataPlace&, std::string_view) {}

  /// Ends the step. Returns the error if any task has failed.
  virtual Result<void> end_step() = 0;

  /// Submits all tasks of a captured step and ends the step.
  virtual Result<void> launch(const std::shared_ptr<StepCapture>& step) = 0;

  /// Returns a captured step in this form, to be launched as a whole; null where the form can only
  /// submit the tasks of `step` one by one. May wait for everything submitted.
  virtual std::shared_ptr<StepCapture> formed(const std::shared_ptr<StepCapture>&) {
    return nullptr;
  }

  /// Returns whether the collectives of the next step are those that a static order is made for.
  virtual bool follows_static_order() const { return true; }

  /// Returns whether tasks access the job's values under other identities than the job's. Only
  /// waiting orders them with the tasks of another form.
  virtual bool renames_data() const { return false; }
};

}  // namespace hocket
