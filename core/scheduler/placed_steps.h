#pragma once

// Submits steps as they are placed on a device with limited memory and its host
// (core/placement/described_placement.h): the job's tasks, each for the lane on whose side its data
// are, and the copies between. Private to this folder; used by the submitter's thread only.
//
// A step is held until it ends, since it is placed as a whole. Steps that are alike are placed
// once. A step that differs from the one before is placed anew when all before it has run.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/placement/described_placement.h"
#include "core/placement/offload_memory.h"
#include "core/scheduler/dispatch/dispatch.h"
#include "core/scheduler/step_capture.h"
#include "core/scheduler/step_form.h"
#include "core/scheduler/task_submission.h"
#include "core/trace/trace_sink.h"

namespace hocket {

class PlacedSteps final : public StepForm {
 public:
  /// `dispatch`, `memory` and `trace`, which may be null, must outlive this.
  PlacedSteps(Dispatch& dispatch, OffloadMemory& memory, TraceSink* trace)
      : dispatch_(dispatch), memory_(memory), trace_(trace) {}

  Result<void> configure(const ScheduleConfig& config) override;
  void add_data(DataId data, const DataPlace& place, std::string_view name) override;
  void submit(TaskSubmission&& submission, std::span<const Access> accesses) override;
  /// Submits the placed step and ends it. Returns invalid_argument, and fails the dispatch, where
  /// it does not fit.
  Result<void> end_step() override;
  Result<void> launch(const std::shared_ptr<StepCapture>& step) override;
  bool renames_data() const override { return true; }

 private:
  /// Returns whether a task is the next one of the placed step, after others that were.
  bool follows(const TaskSubmission& submission, std::span<const Access> accesses) const;
  /// Appends a task to held_step_.
  void record(const TaskSubmission& submission, std::span<const Access> accesses);
  /// Records the held tasks, which are those of the placed step so far.
  void record_followed();
  /// Returns whether the held step is the one that is placed.
  bool is_placed() const;
  Result<void> place();
  Result<void> move_data();
  TaskSubmission submission_of(std::size_t placed_task);
  /// Lets a collective, task `source` of the step, use the values that the device has.
  void redirect(TaskSubmission& collective, std::uint32_t source) const;
  DataId id_of(DataId placed_data);

  Dispatch& dispatch_;
  OffloadMemory& memory_;
  TraceSink* const trace_;
  ScheduleConfig config_;
  /// Data of the job in the order of add_data(), and their numbers in it by DataId.
  std::vector<DataId> data_;
  std::vector<std::uint32_t> number_of_;
  std::vector<TaskSubmission> held_;
  /// Number of held tasks that are those of the placed step; if not all are, held_step_ has the
  /// tasks, whose accesses name data by number.
  std::size_t followed_ = 0;
  StepDescription held_step_;
  /// The placed step and what it is placed from.
  std::optional<StepDescription> step_;
  PlacedDescription placed_;
  /// Data that only placed steps have, reused from one to the next.
  std::vector<DataId> own_data_;
  /// One entry for each placed task.
  std::vector<std::vector<Access>> accesses_;
  /// Names of copies, which stay valid for traces.
  std::deque<std::string> names_;
  std::unordered_map<std::string, std::string_view> known_names_;
};

}  // namespace hocket
