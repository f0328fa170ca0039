#pragma once

// A captured step: its structure, which plans share, and the bodies and values of its tasks.
// Private to this folder. Not thread-safe while tasks are added, immutable afterwards except for
// the bodies' own state.

#include <memory>
#include <span>
#include <vector>

#include "core/plan/captured_step.h"
#include "core/programs/communication_program.h"
#include "core/scheduler/task_submission.h"
#include "core/step/mesh.h"

namespace hocket {

class StepCapture final : public TaskSink {
 public:
  /// Adds a task.
  void submit(TaskSubmission&& submission, std::span<const Access> accesses) override;
  /// Derives the dependencies; nothing is added afterwards.
  void finish();

  bool has_tasks() const { return !payloads_.empty(); }
  /// Returns whether some of the communication is of some ranks alone.
  bool is_of_some() const { return is_of_some_; }
  /// Returns whether there is an all-to-all, whose counts are read each time it runs.
  bool reads_counts() const { return reads_counts_; }

  // After finish():
  const std::shared_ptr<const CapturedStep>& step() const { return step_; }
  /// Returns the data of the task in `slot` of any launch.
  TaskPayload& payload(std::uint32_t slot) {
    const std::size_t size = payloads_.size();
    return payloads_[slot < size ? slot : slot - size];
  }
  /// Returns the data of a task by its index in the order of submission.
  TaskPayload& payload_of(std::uint32_t task) { return payloads_[step_->slot_of(task)]; }
  /// Returns the accesses of the task in `slot` of any launch.
  std::span<const Access> accesses(std::uint32_t slot) const {
    const std::uint32_t size = step_->size();
    return step_->task(step_->index_in(slot < size ? slot : slot - size)).accesses;
  }
  /// Returns the communications in the order of submission, as `rank` of `mesh` takes part in them.
  std::vector<ProgramCommunication> communications(const Mesh& mesh, int rank);
  /// Submits copies of all tasks as they were submitted. Their bodies call the captured ones.
  void submit_to(TaskSink& sink);

 private:
  TaskSubmission submission_of(std::uint32_t task);

  /// The data that partitioning a task needs in addition.
  struct Divisible {
    TaskOptions options;
    std::shared_ptr<const PieceBody> pieces;
  };

  // Until finish().
  std::vector<CapturedStep::Task> tasks_;
  std::shared_ptr<const CapturedStep> step_;
  // In the order of submission until finish(), then by slot.
  std::vector<TaskPayload> payloads_;
  // In the order of submission.
  std::vector<Divisible> divisible_;
  bool is_of_some_ = false, reads_counts_ = false;
};

}  // namespace hocket
