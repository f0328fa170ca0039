#include "core/scheduler/step_capture.h"

#include <string>
#include <utility>

#include "core/collective/collective_blocks.h"

namespace hocket {
namespace {

/// Returns ProgramCommunication::peer.
std::uint32_t peer_in_program(const CollectiveWork& work, const Mesh& mesh, int rank) {
  if (work.kind == CollectiveKind::broadcast || work.kind == CollectiveKind::shift)
    return static_cast<std::uint32_t>(work.peer);
  if (!is_message(work.kind)) return 0;
  const GroupMembers members = group_members(mesh, work.group, rank);
  const std::size_t size = members.ranks.size();
  return static_cast<std::uint32_t>((work.peer + size - members.own) % size);
}

}  // namespace

void StepCapture::submit(TaskSubmission&& submission, std::span<const Access> accesses) {
  tasks_.push_back({std::string(submission.options.name),
                    submission.options.priority,
                    submission.is_collective,
                    submission.bytes,
                    {accesses.begin(), accesses.end()},
                    submission.options.lane,
                    communication_of(submission.special.get())});
  divisible_.push_back({submission.options, std::move(submission.pieces)});
  TaskPayload& p = payloads_.emplace_back();
  p.body = std::move(submission.body);
  p.name = submission.options.name;
  p.bytes = submission.is_collective ? 0 : submission.bytes;
  p.values = submission.values;
  is_of_some_ |= submission.special && submission.special->is_of_some();
  reads_counts_ |= submission.kind() == CollectiveKind::all_to_all;
  p.special = std::move(submission.special);
  p.optimizer = submission.optimizer;
}

void StepCapture::finish() {
  step_ = std::make_shared<const CapturedStep>(std::move(tasks_));
  std::vector<TaskPayload> by_slot;
  by_slot.reserve(payloads_.size());
  for (std::uint32_t slot = 0; slot < step_->size(); ++slot)
    by_slot.push_back(std::move(payloads_[step_->index_in(slot)]));
  payloads_ = std::move(by_slot);
}

std::vector<ProgramCommunication> StepCapture::communications(const Mesh& mesh, int rank) {
  std::vector<ProgramCommunication> found;
  for (std::uint32_t index = 0; index < step_->size(); ++index) {
    const CapturedStep::Task& task = step_->task(index);
    if (!task.is_collective) continue;
    const TaskPayload& payload = payload_of(index);
    ProgramCommunication& communication = found.emplace_back();
    communication.name = task.name;
    communication.bytes = task.bytes;
    communication.type = payload.values.type();
    if (!payload.special) continue;
    const CollectiveWork& work = payload.special->work;
    communication.kind = work.kind;
    communication.type = work.values.type();
    communication.group = work.group;
    communication.peer = peer_in_program(work, mesh, rank);
  }
  return found;
}

void StepCapture::submit_to(TaskSink& sink) {
  for (std::uint32_t task = 0; task < step_->size(); ++task)
    sink.submit(submission_of(task), step_->task(task).accesses);
}

TaskSubmission StepCapture::submission_of(std::uint32_t index) {
  const CapturedStep::Task& task = step_->task(index);
  TaskPayload& p = payload_of(index);
  TaskSubmission submission{.options = divisible_[index].options,
                            .is_collective = task.is_collective,
                            .accesses = static_cast<std::uint32_t>(task.accesses.size()),
                            .values = p.values,
                            .bytes = task.bytes};
  if (p.special) submission.special = std::make_unique<SpecialCollective>(*p.special);
  submission.optimizer = p.optimizer;
  if (!task.is_collective) submission.body = TaskBody([body = &p.body] { (*body)(); });
  submission.pieces = divisible_[index].pieces;
  return submission;
}

}  // namespace hocket
