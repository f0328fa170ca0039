// The part of the scheduler that captures steps and launches them again, task by task or whole.

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/scheduler/scheduler.h"
#include "core/scheduler/scheduler_capture.h"

namespace hocket {

void Scheduler::begin_capture() {
  HOCKET_CHECK(!capturing_, "a step is being captured already");
  capturing_ = std::make_shared<Capture>();
}

void Scheduler::Capture::add(Submission submission, std::span<const Access> accesses) {
  tasks.push_back({std::string(submission.options.name),
                   submission.options.priority,
                   submission.is_collective,
                   submission.bytes,
                   {accesses.begin(), accesses.end()}});
  divisible.push_back({submission.options, std::move(submission.pieces)});
  Payload& p = payloads.emplace_back();
  p.body = std::move(submission.body);
  p.name = submission.options.name;
  p.values = submission.values;
  p.special = std::move(submission.special);
}

std::shared_ptr<Scheduler::Capture> Scheduler::end_capture() {
  HOCKET_CHECK(capturing_ && !capturing_->tasks.empty(), "nothing was captured");
  auto captured = std::exchange(capturing_, nullptr);
  captured->step = std::make_shared<const CapturedStep>(std::move(captured->tasks));
  std::vector<Payload> by_slot;
  by_slot.reserve(captured->payloads.size());
  for (std::uint32_t slot = 0; slot < captured->step->size(); ++slot)
    by_slot.push_back(std::move(captured->payloads[captured->step->index_in(slot)]));
  captured->payloads = std::move(by_slot);
  return captured;
}

Result<void> Scheduler::replay(const std::shared_ptr<Capture>& step) {
  HOCKET_CHECK(!capturing_, "a step cannot be replayed while one is captured");
  flush();
  if (schedule_.partitions) {
    const auto pieces = may_run_whole_steps() ? captured_pieces(step) : nullptr;
    return pieces ? replay_whole(pieces) : replay_followed(step);
  }
  if (may_run_whole_steps()) return replay_whole(step);
  if (whole_) leave_replay();
  {
    DispatchLock lock(*this);
    step_finished_.wait(lock.held(), [&] { return error_ || plan_.may_launch(*step->step); });
    if (error_) return failure(*error_);
    for (const CapturedStep::Task& task : step->step->tasks()) {
      if (!task.is_collective) continue;
      if (auto error = follow_static_order(task.bytes)) {
        fail_locked(std::move(*error));
        return failure(*error_);
      }
    }
    unfinished_.back() += step->step->size();
    const TaskId first = plan_.launch(step->step);
    const std::int64_t present_step =
        first_step_ + static_cast<std::int64_t>(unfinished_.size()) - 1;
    replayed_ = step;
    replaying_ = true;
    replayed_from_step_ = present_step - first.generation;
    start_parts();
  }
  std::unique_lock lock(mutex_);
  return finish_submitting_step(lock);
}

bool Scheduler::may_run_whole_steps() const {
  return schedule_.config.step_issue == StepIssue::graph && executor_.runs_whole_steps() &&
         !schedule_.announces && !is_observed_;
}

Result<void> Scheduler::replay_whole(const std::shared_ptr<Capture>& step) {
  if (!step_data_) step_data_ = add_data();
  {
    DispatchLock lock(*this);
    if (auto ok = prepare_whole(step, lock.held()); !ok) return ok;
    step_collectives_ = step->step->collectives();
    const Access access = update(*step_data_);
    const TaskOptions options{.name = "step"};
    Payload& p = new_payload(plan_.submit_compute(options, {&access, 1}), options);
    p.accesses.assign(1, access);
  }
  std::unique_lock lock(mutex_);
  return finish_submitting_step(lock);
}

Result<void> Scheduler::prepare_whole(const std::shared_ptr<Capture>& step,
                                      std::unique_lock<std::mutex>& lock) {
  if (error_) return failure(*error_);
  if (whole_ && whole_->capture == step && whole_->configured == schedules_) return {};
  step_finished_.wait(lock, [&] { return error_ || is_idle(); });
  if (error_) return failure(*error_);
  std::size_t collectives = 0;
  for (const CapturedStep::Task& task : step->step->tasks()) {
    if (!task.is_collective || schedule_.static_order.empty()) continue;
    if (auto error = check_static_order(collectives++, task.bytes)) {
      fail_locked(std::move(*error));
      return failure(*error_);
    }
  }
  if (collectives < schedule_.static_parts.size() && collectives > 0) {
    step_collectives_ = collectives;
    return finish_submitting_step(lock);
  }
  replayed_ = nullptr;
  replaying_ = true;
  whole_ = std::make_unique<WholeStep>(WholeStep{step, schedules_, work_of(*step)});
  return {};
}

StepWork Scheduler::work_of(Capture& step) {
  StepWork work{.version = ++whole_steps_,
                .step = step.step,
                .sequence = sequence_of(step.step, schedule_.plan, schedule_.static_order),
                .bodies = {},
                .parts = {}};
  const auto payload_of = [&](std::uint32_t task) -> Payload& {
    return step.payloads[step.step->slot_of(task)];
  };
  for (std::uint32_t task = 0; task < step.step->size(); ++task)
    work.bodies.push_back(step.step->task(task).is_collective ? nullptr : &payload_of(task).body);
  for (const StepEntry& entry : work.sequence) {
    if (!entry.is_part) continue;
    const CapturedStep::Task& task = step.step->task(entry.task);
    PartWork part;
    part.task = {entry.task, 0};
    part.bytes = entry.bytes;
    part.name = task.name;
    part.accesses = task.accesses;
    locate(payload_of(entry.task), {part.task, 0, entry.offset_bytes, entry.bytes}, part);
    part.collective.index = entry.part;
    work.parts.push_back(part);
  }
  return work;
}

void Scheduler::leave_replay() {
  std::unique_lock lock(mutex_);
  step_finished_.wait(lock, [&] { return error_ || is_idle(); });
  if (error_) return;
  replayed_ = nullptr;
  whole_ = nullptr;
  replaying_ = false;
}

}  // namespace hocket
