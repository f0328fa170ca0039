#include "core/scheduler.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace hocket {
namespace {

PartOrder part_order(const ScheduleConfig& config, const Executor& executor) {
  if (config.order == CollectiveOrder::fifo) return PartOrder::fifo;
  return executor.rank() == 0 ? PartOrder::priority : PartOrder::announced;
}

}  // namespace

Scheduler::Scheduler(const ScheduleConfig& config, Executor& executor, TraceSink* trace)
    : executor_(executor),
      announces_(config.order == CollectiveOrder::priority && executor.world_size() > 1),
      streams_(config.streams),
      plan_({.partition_bytes = config.partition_bytes,
             .credit_bytes = config.credit_bytes,
             .order = part_order(config, executor)}) {
  executor_.start(*this, trace);
}

Scheduler::~Scheduler() {
  const bool failed = !synchronize();
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  announcing_.notify_all();
  executor_.stop(failed);
}

DataId Scheduler::add_data() {
  std::lock_guard lock(mutex_);
  return plan_.add_data();
}

Scheduler::Payload& Scheduler::new_payload(TaskId task, const TaskOptions& options) {
  while (task.slot / kBlock >= blocks_.size())
    blocks_.push_back(std::make_unique<Payload[]>(kBlock));
  Payload& p = payload(task.slot);
  p.name = options.name;
  p.step = first_step_ + static_cast<std::int64_t>(unfinished_.size()) - 1;
  ++unfinished_.back();
  return p;
}

void Scheduler::compute(const TaskOptions& options, std::span<const Access> accesses,
                        TaskBody body) {
  submit({.options = options,
          .is_collective = false,
          .accesses = static_cast<std::uint32_t>(accesses.size()),
          .values = {},
          .body = std::move(body)},
         accesses);
}

void Scheduler::all_reduce(const TaskOptions& options, DataId data, std::span<float> values) {
  const Access access = update(data);
  submit({.options = options, .is_collective = true, .accesses = 1, .values = values, .body = {}},
         {&access, 1});
}

void Scheduler::submit(Submission submission, std::span<const Access> accesses) {
  std::lock_guard lock(submit_mutex_);
  // A collective goes on at once: it may be what the other ranks wait for.
  const bool urgent = submission.is_collective || stream_sleeps_;
  submitted_.push_back(std::move(submission));
  submitted_accesses_.insert(submitted_accesses_.end(), accesses.begin(), accesses.end());
  if (urgent || submitted_.size() >= kSubmissionBatch) flush_into_plan();
}

void Scheduler::flush() {
  std::lock_guard lock(submit_mutex_);
  flush_into_plan();
}

void Scheduler::flush_into_plan() {
  Wakes wakes;
  {
    std::lock_guard lock(mutex_);
    const Access* accesses = submitted_accesses_.data();
    for (Submission& s : submitted_) {
      if (error_) break;
      const std::span<const Access> own(accesses, s.accesses);
      accesses += s.accesses;
      if (s.is_collective) {
        const auto bytes = static_cast<std::int64_t>(s.values.size_bytes());
        new_payload(plan_.submit_collective(s.options.priority, own, bytes), s.options).values =
            s.values;
      } else {
        new_payload(plan_.submit_compute(s.options.priority, own), s.options).body =
            std::move(s.body);
      }
    }
    if (!error_) start_parts();
    wakes = claim_sleepers();
    stream_sleeps_ = sleeping_streams_ > 0;
  }
  submitted_.clear();
  submitted_accesses_.clear();
  wake(wakes);
}

void Scheduler::start_parts() {
  bool announced = false;
  while (const auto part = plan_.next_part()) {
    started_parts_.push_back({*part, part_index_++});
    if (announces_ && executor_.rank() == 0) {
      to_announce_.push_back(part->collective);
      announced = true;
    }
  }
  if (announced) announcing_.notify_one();
}

Scheduler::Wakes Scheduler::claim_sleepers() {
  if (error_) return {};
  const Wakes wakes{std::min(sleeping_streams_, plan_.ready_computes()),
                    std::min(sleeping_channels_, started_parts_.size())};
  sleeping_streams_ -= wakes.streams;
  sleeping_channels_ -= wakes.channels;
  return wakes;
}

void Scheduler::wake(const Wakes& wakes) {
  if (wakes.streams + wakes.channels > 0) executor_.wake(wakes.streams, wakes.channels);
}

void Scheduler::task_finished(std::uint32_t slot) {
  Payload& p = payload(slot);
  p.body.reset();
  --unfinished_[static_cast<std::size_t>(p.step - first_step_)];
  if (drop_finished_steps() || plan_.unfinished() == 0) step_finished_.notify_all();
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
  if (error_) return 0;
  // A long queue is shared out in batches, each stream leaving something for the others.
  const std::size_t share = plan_.ready_computes() / static_cast<std::size_t>(2 * streams_);
  const std::size_t limit = std::min(work.size(), std::max(share, std::size_t{1}));
  std::size_t taken = 0;
  for (; taken < limit; ++taken) {
    const auto task = plan_.next_compute();
    if (!task) break;
    Payload& p = payload(task->slot);
    work[taken] = {*task, &p.body, p.name, p.step};
  }
  return taken;
}

std::size_t Scheduler::take_compute(std::span<const TaskId> finished, std::span<ComputeWork> work) {
  Wakes wakes;
  std::size_t taken = 0;
  {
    std::lock_guard lock(mutex_);
    for (const TaskId task : finished) {
      plan_.finish_compute(task);
      task_finished(task.slot);
    }
    if (!error_) start_parts();
    taken = take_ready(work);
    wakes = claim_sleepers();
  }
  wake(wakes);
  if (taken > 0) return taken;

  std::lock_guard submit_lock(submit_mutex_);
  if (!submitted_.empty()) flush_into_plan();
  std::lock_guard lock(mutex_);
  taken = take_ready(work);
  if (taken == 0) {
    ++sleeping_streams_;
    stream_sleeps_ = true;
  }
  return taken;
}

bool Scheduler::take_part(const PartWork* finished, PartWork& work) {
  Wakes wakes;
  bool taken = false;
  {
    std::lock_guard lock(mutex_);
    if (finished && plan_.finish_part(finished->task,
                                      static_cast<std::int64_t>(finished->values.size_bytes()))) {
      task_finished(finished->task.slot);
    }
    if (!error_) {
      start_parts();
      taken = !started_parts_.empty();
    }
    if (taken) {
      const StartedPart next = started_parts_.front();
      started_parts_.pop_front();
      const Payload& p = payload(next.part.task.slot);
      work = {next.part.task,
              p.values.subspan(static_cast<std::size_t>(next.part.offset_bytes) / sizeof(float),
                               static_cast<std::size_t>(next.part.bytes) / sizeof(float)),
              next.index, p.name, p.step};
    } else {
      ++sleeping_channels_;
    }
    wakes = claim_sleepers();
  }
  wake(wakes);
  return taken;
}

bool Scheduler::order_is_announced() const {
  return announces_;
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
  Wakes wakes;
  {
    std::lock_guard lock(mutex_);
    if (error_) return;
    plan_.announce(collectives);
    start_parts();
    wakes = claim_sleepers();
  }
  wake(wakes);
}

void Scheduler::fail(Error error) {
  {
    std::lock_guard lock(mutex_);
    if (error_) return;
    error_ = std::move(error);
    started_parts_.clear();
  }
  step_finished_.notify_all();
  announcing_.notify_all();
}

Result<void> Scheduler::end_step() {
  flush();
  std::unique_lock lock(mutex_);
  unfinished_.push_back(0);
  drop_finished_steps();
  const auto unfinished_steps = [this] {
    return static_cast<std::int64_t>(unfinished_.size()) - 1;
  };
  step_finished_.wait(lock, [&] { return error_ || unfinished_steps() <= kStepsAhead; });
  if (error_) return failure(*error_);
  return {};
}

Result<void> Scheduler::synchronize() {
  flush();
  std::unique_lock lock(mutex_);
  step_finished_.wait(lock, [&] { return error_ || plan_.unfinished() == 0; });
  if (error_) return failure(*error_);
  return {};
}

}  // namespace hocket
