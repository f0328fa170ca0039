// The part of the scheduler that an executor's streams and channels call: what may run now, and
// what follows from what has run.

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <utility>

#include "core/base/spin.h"
#include "core/scheduler/scheduler.h"

namespace hocket {

void Scheduler::start_parts() {
  bool announced = false;
  while (const auto part = plan_.next_part()) {
    started_parts_.push_back({*part, part_index_++});
    if (schedule_.announces && executor_.rank() == 0) {
      to_announce_.push_back(part->collective);
      announced = true;
    }
  }
  if (announced) announcing_.notify_one();
  while (const auto collective = plan_.next_awaiting_inputs())
    awaiting_inputs_.push_back(*collective);
}

Scheduler::Wakes Scheduler::claim_sleepers() {
  if (error_) return {};
  const Wakes wakes{std::min(sleeping_streams_, plan_.ready_computes() + exchange_.ready()),
                    std::min(sleeping_channels_, started_parts_.size() + awaiting_inputs_.size())};
  sleeping_streams_ -= wakes.streams;
  sleeping_channels_ -= wakes.channels;
  return wakes;
}

void Scheduler::tasks_finished(std::span<const TaskId> tasks) {
  if (ahead_) {
    // They are unfinished until they are completed, but a launch may wait for their being issued.
    on_device_ += static_cast<std::int64_t>(tasks.size());
    return step_finished_.notify_all();
  }
  for (const TaskId task : tasks)
    --unfinished_[static_cast<std::size_t>(step_of(task) - first_step_)];
  if (drop_finished_steps() || plan_.unfinished() == 0) step_finished_.notify_all();
}

void Scheduler::part_ended(const PartWork& part) {
  if (!ahead_) {
    if (plan_.finish_part(part.task, part.bytes)) tasks_finished({&part.task, 1});
    return;
  }
  std::int64_t& unfinished = unfinished_[static_cast<std::size_t>(part.step - first_step_)];
  ++unfinished;
  ++on_device_;
  if (!plan_.issue_part(part.task)) return;
  --unfinished;  // the collective's own: from here on its parts stand for it
  step_finished_.notify_all();
}

void Scheduler::completed(std::span<const CompletedWork> work) {
  DispatchLock lock(*this);
  settle();
  for (const CompletedWork& done : work) {
    --unfinished_[static_cast<std::size_t>(done.step - first_step_)];
    --on_device_;
    if (done.is_part) plan_.return_credit(done.part_bytes);
  }
  if (drop_finished_steps() || is_idle()) step_finished_.notify_all();
  if (!error_) start_parts();
}

void Scheduler::inputs_arrived(TaskId collective) {
  DispatchLock lock(*this);
  if (error_) return;
  plan_.inputs_arrived(collective);
  start_parts();
}

bool Scheduler::drop_finished_steps() {
  const std::int64_t before = first_step_;
  while (unfinished_.size() > 1 && unfinished_.front() == 0) {
    unfinished_.pop_front();
    ++first_step_;
  }
  return first_step_ != before;
}

std::size_t Scheduler::take_ready(std::span<ComputeWork> work) {
  std::size_t taken = 0;
  for (; taken < work.size(); ++taken) {
    const auto task = plan_.next_compute();
    if (!task) break;
    Payload& p = payload(task->slot);
    __builtin_prefetch(&p.body);
    work[taken] = {*task,
                   &p.body,
                   &p.name,
                   step_of(*task),
                   !replayed_,
                   accesses_of(task->slot),
                   whole_ ? &whole_->work : nullptr};
  }
  return taken;
}

void Scheduler::settle() {
  exchange_.collect(finished_);
  plan_.finish_computes(finished_);
  tasks_finished(finished_);
  finished_.clear();
  if (!error_) start_parts();
}

void Scheduler::offer_ready() {
  // A task that is not tiny is chosen when a stream is free for it: by then a more urgent one may
  // be ready.
  if (batch_ == 1 || error_ || exchange_.ready() > 0) return;
  std::array<ComputeWork, kSubmissionBatch> work;
  exchange_.offer({work.data(), take_ready({work.data(), std::min(batch_, work.size())})});
}

std::size_t Scheduler::take_compute(std::span<const TaskId> finished, std::span<ComputeWork> work) {
  if (const std::size_t taken = exchange_.exchange(finished, work); taken > 0) return taken;
  const auto take = [&]() -> std::size_t {
    if (error_) return 0;
    if (const std::size_t taken = exchange_.exchange({}, work); taken > 0) return taken;
    // A long queue is shared out in batches, each stream leaving something for the others.
    const std::size_t share =
        plan_.ready_computes() / static_cast<std::size_t>(2 * schedule_.config.streams);
    return take_ready(work.first(std::min(work.size(), std::max(share, std::size_t{1}))));
  };
  // Where tasks are tiny, more of them are about to be offered by whoever submits them.
  const auto take_offered = [&](int looks) -> std::size_t {
    return work.size() > 1 && exchange_.wait_briefly(looks) ? exchange_.exchange({}, work) : 0;
  };
  constexpr int kMomentLooks = 256, kBeforeSleepLooks = 2048;
  if (submitting_.load(std::memory_order_relaxed)) {
    if (const std::size_t offered = take_offered(kMomentLooks); offered > 0) return offered;
  }
  std::size_t taken = 0;
  {
    DispatchLock lock(*this, lock_spinning(mutex_));
    batch_ = work.size();
    settle();
    taken = take();
    if (taken > 0) offer_ready();
  }
  if (taken > 0) return taken;

  if (const std::size_t offered = take_offered(kBeforeSleepLooks); offered > 0) return offered;
  std::lock_guard submit_lock(submit_mutex_);
  if (!submitted_.empty()) flush_into_plan();
  // Makes no work possible, so nobody is woken.
  std::lock_guard lock(mutex_);
  taken = take();
  if (taken == 0) {
    ++sleeping_streams_;
    stream_sleeps_ = true;
  }
  return taken;
}

bool Scheduler::take_part(const PartWork* finished, PartWork& work) {
  bool taken = false;
  {
    DispatchLock lock(*this);
    if (finished) part_ended(*finished);
    if (!error_) {
      start_parts();
      taken = !started_parts_.empty() || !awaiting_inputs_.empty();
    }
    if (taken && !awaiting_inputs_.empty()) {
      const TaskId collective = awaiting_inputs_.front();
      awaiting_inputs_.pop_front();
      work = {};
      work.task = collective;
      work.accesses = accesses_of(collective.slot);
      work.asks_for_inputs = true;
    } else if (taken) {
      const StartedPart next = started_parts_.front();
      started_parts_.pop_front();
      work = {};
      work.task = next.part.task;
      work.bytes = next.part.bytes;
      work.step = step_of(next.part.task);
      work.accesses = accesses_of(next.part.task.slot);
      const Payload& p = payload(next.part.task.slot);
      work.name = p.name;
      locate(p, next.part, work);
      work.collective.index = next.index;
    } else {
      ++sleeping_channels_;
    }
  }
  return taken;
}

void Scheduler::locate(const Payload& p, const PartDecision& part, PartWork& work) const {
  constexpr std::int64_t size = sizeof(float);
  if (p.special == nullptr) {
    work.collective.values = p.values.subspan(static_cast<std::size_t>(part.offset_bytes / size),
                                              static_cast<std::size_t>(part.bytes / size));
    return;
  }
  work.collective = p.special->work;
  work.bucket = p.special->bucket;
  if (!p.special->is_scattered || p.special->work.end > 0) return;
  // Parts of the whole become parts of every block, of which some may be empty.
  const auto all = static_cast<std::int64_t>(p.special->work.values.size_bytes());
  const std::int64_t block = block_bytes(all, world_size());
  const auto place_of = [&](std::int64_t offset) {
    if (offset == all) return block;
    return block / kBlockAlignmentBytes * offset / all * kBlockAlignmentBytes;
  };
  std::int64_t begin = place_of(part.offset_bytes);
  const std::int64_t end = place_of(part.offset_bytes + part.bytes);
  if (begin == end) begin = block;
  work.collective.begin = static_cast<std::size_t>(begin / size);
  work.collective.end = static_cast<std::size_t>(std::max(begin, end) / size);
}

bool Scheduler::order_is_announced() const {
  return schedule_.announces;
}

bool Scheduler::wait_for_started(std::int64_t timeout_ns, std::vector<std::uint64_t>& collectives) {
  std::unique_lock lock(mutex_);
  announcing_.wait_for(lock, std::chrono::nanoseconds(timeout_ns),
                       [&] { return closed_ || error_ || !to_announce_.empty(); });
  if (error_) return false;
  collectives = std::exchange(to_announce_, {});
  if (closed_ && collectives.empty()) collectives.push_back(kEndOfOrder);
  return true;
}

void Scheduler::announce(std::span<const std::uint64_t> collectives) {
  DispatchLock lock(*this);
  if (error_) return;
  plan_.announce(collectives);
  start_parts();
}

void Scheduler::fail(Error error) {
  std::lock_guard lock(mutex_);
  fail_locked(std::move(error));
}

void Scheduler::fail_locked(Error error) {
  if (error_) return;
  error_ = std::move(error);
  exchange_.withdraw();
  started_parts_.clear();
  awaiting_inputs_.clear();
  step_finished_.notify_all();
  announcing_.notify_all();
}

}  // namespace hocket
