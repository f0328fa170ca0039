// The functions that an executor's threads call: they take work that may run and report what has
// run.

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "core/base/spin.h"
#include "core/scheduler/dispatch/dispatch.h"

namespace hocket {
namespace {

/// Returns the decision of the plan that became `part`, of a collective over servers.
PartDecision decision_of(const PartWork& part) {
  return {part.task, part.served.collective, part.served.offset_bytes, part.bytes,
          part.served.server};
}

}  // namespace

std::size_t Dispatch::take_compute(std::span<const TaskId> finished, std::span<ComputeWork> work) {
  constexpr int kMomentLooks = 256, kBeforeSleepLooks = 2048;
  if (const std::size_t taken = exchange_.exchange(finished, work); taken > 0) return taken;
  if (submitting_.load(std::memory_order_relaxed)) {
    if (const std::size_t offered = take_offered(work, kMomentLooks); offered > 0) return offered;
  }
  std::size_t taken = 0;
  {
    Lock lock(*this, lock_spinning(mutex_));
    batch_ = work.size();
    settle();
    taken = take_share(work);
    if (taken > 0) offer_ready();
  }
  if (taken > 0) return taken;

  if (const std::size_t offered = take_offered(work, kBeforeSleepLooks); offered > 0)
    return offered;
  std::lock_guard submit_lock(submit_mutex_);
  if (!submitted_.empty()) flush_into_plan();
  // Makes no work possible, so nobody is woken.
  std::lock_guard lock(mutex_);
  taken = take_share(work);
  if (taken == 0) {
    ++sleeping_streams_;
    stream_sleeps_ = true;
    lane_sleeps();
  }
  return taken;
}

bool Dispatch::take_lane(TaskLane lane, const ComputeWork* finished, ComputeWork& work) {
  Lock lock(*this);
  if (finished) {
    plan_.finish_compute(finished->task);
    tasks_finished({&finished->task, 1});
  }
  settle();
  const auto task = error_ ? std::nullopt : plan_.next_compute(lane);
  if (!task) {
    sleeping_lanes_[static_cast<std::size_t>(lane)] = true;
    lane_sleeps();
    return false;
  }
  work = work_of(*task);
  return true;
}

bool Dispatch::take_part(const PartWork* finished, PartWork& work) {
  Lock lock(*this);
  if (finished) part_ended(*finished);
  if (!error_) start_parts();
  if (error_ || takeable_parts() == 0) {
    ++sleeping_channels_;
    lane_sleeps();
    return false;
  }
  take_started(work);
  return true;
}

bool Dispatch::take_pull(const PartWork* finished, PartWork& work) {
  Lock lock(*this);
  if (finished && plan_.finish_pull(decision_of(*finished))) tasks_finished({&finished->task, 1});
  if (!error_) start_parts();
  if (error_ || started_pulls_.empty()) {
    ++sleeping_pulls_;
    return false;
  }
  take_first(started_pulls_, work);
  return true;
}

void Dispatch::summed(const ServedPart& part) {
  Lock lock(*this);
  const auto found = unsummed_.find({part.collective, part.offset_bytes});
  if (error_ || found == unsummed_.end()) return;
  plan_.summed(found->second);
  unsummed_.erase(found);
  start_parts();
}

void Dispatch::completed(std::span<const CompletedWork> work) {
  Lock lock(*this);
  settle();
  for (const CompletedWork& done : work) {
    --unfinished_in(done.step);
    --on_device_;
    if (done.is_part) plan_.return_credit(done.part_bytes);
  }
  if (drop_finished_steps() || is_idle()) step_finished_.notify_all();
  if (!error_) start_parts();
}

void Dispatch::inputs_arrived(TaskId collective) {
  Lock lock(*this);
  if (error_) return;
  if (counts_question_ && counts_question_->collective == collective) {
    counts_question_->is_answered = true;
    return;
  }
  plan_.inputs_arrived(collective);
  start_parts();
}

bool Dispatch::order_is_announced() const {
  return schedule_.announces;
}

bool Dispatch::wait_for_started(std::int64_t timeout_ns, std::vector<std::uint64_t>& collectives) {
  std::unique_lock lock(mutex_);
  announcing_.wait_for(lock, std::chrono::nanoseconds(timeout_ns),
                       [&] { return closed_ || error_ || !to_announce_.empty(); });
  if (error_) return false;
  collectives = std::exchange(to_announce_, {});
  if (closed_ && collectives.empty()) collectives.push_back(kEndOfOrder);
  return true;
}

void Dispatch::announce(std::span<const std::uint64_t> collectives) {
  Lock lock(*this);
  if (error_) return;
  plan_.announce(collectives);
  start_parts();
}

std::size_t Dispatch::take_offered(std::span<ComputeWork> work, int looks) {
  // While tasks are tiny, the thread that submits them is about to offer more.
  return work.size() > 1 && exchange_.wait_briefly(looks) ? exchange_.exchange({}, work) : 0;
}

std::size_t Dispatch::take_share(std::span<ComputeWork> work) {
  if (error_) return 0;
  if (const std::size_t taken = exchange_.exchange({}, work); taken > 0) return taken;
  // Each stream takes part of a long queue and leaves the rest to the others.
  const std::size_t share =
      plan_.ready_computes() / static_cast<std::size_t>(2 * schedule_.config.streams);
  return take_ready(work.first(std::min(work.size(), std::max(share, std::size_t{1}))));
}

std::size_t Dispatch::take_ready(std::span<ComputeWork> work) {
  std::size_t taken = 0;
  for (; taken < work.size(); ++taken) {
    const auto task = plan_.next_compute();
    if (!task) break;
    work[taken] = work_of(*task);
  }
  return taken;
}

ComputeWork Dispatch::work_of(TaskId task) {
  TaskPayload& p = payload(task.slot);
  __builtin_prefetch(&p.body);
  return {task,        &p.body, &p.name, step_of(task), !captured_, accesses_of(task.slot),
          whole_step_, p.bytes};
}

std::span<const Access> Dispatch::accesses_of(std::uint32_t slot) {
  if (!ahead_) return {};
  return captured_ ? captured_->accesses(slot) : payload(slot).accesses;
}

void Dispatch::offer_ready() {
  // A task that is not tiny is chosen when a stream is free for it: by then a more urgent one may
  // be ready.
  if (batch_ == 1 || error_ || exchange_.ready() > 0) return;
  std::array<ComputeWork, kSubmissionBatch> work;
  exchange_.offer({work.data(), take_ready({work.data(), std::min(batch_, work.size())})});
}

void Dispatch::settle() {
  exchange_.collect(finished_);
  plan_.finish_computes(finished_);
  tasks_finished(finished_);
  finished_.clear();
  if (!error_) start_parts();
}

void Dispatch::tasks_finished(std::span<const TaskId> tasks) {
  if (ahead_) {
    // They are unfinished until they are completed, but a launch may wait until they are issued.
    on_device_ += static_cast<std::int64_t>(tasks.size());
    return step_finished_.notify_all();
  }
  for (const TaskId task : tasks) --unfinished_in(step_of(task));
  if (drop_finished_steps() || plan_.unfinished() == 0) step_finished_.notify_all();
}

void Dispatch::part_ended(const PartWork& part) {
  if (schedule_.is_served()) {
    if (plan_.finish_push(decision_of(part))) tasks_finished({&part.task, 1});
    return;
  }
  if (!ahead_) {
    if (plan_.finish_part(part.task, part.bytes)) tasks_finished({&part.task, 1});
    return;
  }
  ++unfinished_in(part.step);
  ++on_device_;
  if (!plan_.issue_part(part.task)) return;
  // From here on the collective's parts count in its place.
  --unfinished_in(part.step);
  step_finished_.notify_all();
}

void Dispatch::take_started(PartWork& work) {
  if (!awaiting_inputs_.empty()) {
    work = {};
    work.task = awaiting_inputs_.front();
    work.accesses = accesses_of(work.task.slot);
    work.asks_for_inputs = true;
    awaiting_inputs_.pop_front();
    return;
  }
  take_first(started_parts_, work);
}

void Dispatch::take_first(std::deque<StartedPart>& parts, PartWork& work) {
  const auto [part, index, number, sequence] = parts.front();
  parts.pop_front();
  work = part_of(payload(part.task.slot), part, ranks_);
  work.collective.index = index;
  work.number = number;
  work.sequence = sequence;
  work.step = step_of(part.task);
  work.accesses = accesses_of(part.task.slot);
}

LaneWakes Dispatch::claim_sleepers() {
  if (error_) return {};
  LaneWakes wakes{
      .streams = std::min(sleeping_streams_, plan_.ready_computes() + exchange_.ready()),
      .channels = std::min(sleeping_channels_, takeable_parts()),
      .pulls = std::min(sleeping_pulls_, started_pulls_.size())};
  for (std::size_t lane = 0; is_placed_ && lane < kTaskLanes; ++lane) {
    wakes.lanes[lane] =
        sleeping_lanes_[lane] && plan_.ready_computes(static_cast<TaskLane>(lane)) > 0;
    if (wakes.lanes[lane]) sleeping_lanes_[lane] = false;
  }
  sleeping_streams_ -= wakes.streams;
  sleeping_channels_ -= wakes.channels;
  sleeping_pulls_ -= wakes.pulls;
  return wakes;
}

}  // namespace hocket
