#pragma once

// Submits the tasks of partitioned steps in place of those that the job submits. Private to this
// folder; used by the submitter's thread only.
//
// StepSubstitution says which tasks come in place of which; here they get bodies and values. A
// captured step is submitted task by task like any other. Once it is recognised, the step that it
// is partitioned into can be captured in turn.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/scheduler/dispatch/dispatch.h"
#include "core/scheduler/step_capture.h"
#include "core/scheduler/step_form.h"
#include "core/scheduler/step_substitution.h"
#include "core/scheduler/task_submission.h"
#include "core/step/rank_grid.h"

namespace hocket {

class PartitionedSteps final : public StepForm {
 public:
  PartitionedSteps(Dispatch& dispatch, const RankGrid& grid)
      : dispatch_(dispatch), substitution_(grid) {}

  /// Does the same as StepSubstitution::configure().
  Result<void> configure(const ScheduleConfig& config) override {
    return substitution_.configure(config);
  }
  void submit(TaskSubmission&& submission, std::span<const Access> accesses) override;
  Result<void> end_step() override;
  Result<void> launch(const std::shared_ptr<StepCapture>& step) override;
  /// Returns the capture of the step that `step` is partitioned into; null unless `step` is the one
  /// that is recognised.
  std::shared_ptr<StepCapture> formed(const std::shared_ptr<StepCapture>& step) override;
  /// The static order is made for the partitioned step.
  bool follows_static_order() const override { return is_recognised(); }
  bool renames_data() const override { return true; }

 private:
  /// True if the next task runs in place of others that were submitted.
  bool is_recognised() const {
    return substitution_.state() == StepSubstitution::State::recognised;
  }
  void submit_piece(std::uint32_t piece);
  /// Submits what is left of a step that differs from the recognised one.
  void submit_rest();
  /// Fails if part of the step cannot be submitted.
  void end_substitution();
  /// Gives the data of the partitioned step its identities, when the partition has changed.
  void map_data();
  TaskBody body_of(const PieceOrigin& origin);
  SpecialCollective collective_of(const StepTask& task, const PieceOrigin& origin) const;

  Dispatch& dispatch_;
  StepSubstitution substitution_;
  /// Tasks of the present step.
  std::vector<TaskSubmission> held_;
  /// Version of the substitution that data_ and accesses_ are for.
  std::uint64_t mapped_version_ = 0;
  /// Data that only the partitioned step has.
  std::vector<DataId> data_;
  /// Accesses by task of the partitioned step.
  std::vector<std::vector<Access>> accesses_;
  /// The captured step that is recognised, and its number among the recognised steps.
  std::shared_ptr<StepCapture> recognised_;
  std::uint64_t recognised_number_ = 0;
  /// The partitioned form of recognised_, for a version of the substitution.
  std::shared_ptr<StepCapture> pieces_;
  std::uint64_t pieces_version_ = 0;
  /// Gets the tasks: the dispatch, or pieces_ while that is captured.
  TaskSink* sink_ = &dispatch_;
};

}  // namespace hocket
