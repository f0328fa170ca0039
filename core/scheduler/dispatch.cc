#include "core/scheduler/dispatch.h"

#include <array>
#include <string>
#include <utility>

#include "core/base/spin.h"

namespace hocket {
namespace {

/// Returns why a collective cannot take the way that the configuration wants, if it cannot.
std::optional<Error> check_way(bool is_served, const SpecialCollective* special,
                               const OptimizerStep* optimizer) {
  if (special && is_served) {
    return Error{ErrorCode::invalid_argument,
                 "communication=parameter_server: servers only sum gradients, and the step has " +
                     std::string(in_words(special->work.kind)) +
                     " collectives; set communication=all_reduce"};
  }
  if (!optimizer || is_served) return std::nullopt;
  return Error{ErrorCode::invalid_argument,
               "communication=all_reduce: the step leaves updates of parameters to servers; set "
               "communication=parameter_server, or let the ranks update"};
}

}  // namespace

Dispatch::Dispatch(Schedule schedule, bool has_static_order, Executor& executor, TraceSink* trace,
                   PlanObserver* observer, bool is_placed)
    : executor_(executor),
      trace_(trace),
      ahead_(executor.issues_ahead()),
      is_placed_(is_placed),
      ranks_(executor.world_size()),
      schedule_(std::move(schedule)),
      plan_(schedule_.plan),
      has_static_order_(has_static_order) {
  plan_.observe(observer);
  if (ahead_) plan_.await_inputs();
  start();
}

Dispatch::~Dispatch() {
  stop(!synchronize());
}

void Dispatch::start() {
  // No thread of the executor runs now.
  closed_ = false;
  executor_.start(*this, trace_,
                  {.streams = schedule_.config.streams,
                   .channels = schedule_.config.comm_channels,
                   .is_placed = is_placed_,
                   .is_served = schedule_.is_served()});
}

void Dispatch::stop(bool failed) {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  announcing_.notify_all();
  executor_.stop(failed);
  sleeping_streams_ = sleeping_channels_ = sleeping_pulls_ = 0;
  sleeping_lanes_ = {};
}

Result<void> Dispatch::configure(Schedule schedule, bool has_static_order) {
  const ScheduleConfig &now = schedule_.config, &next = schedule.config;
  const bool restarts = next.order != now.order || next.streams != now.streams ||
                        next.comm_channels != now.comm_channels ||
                        schedule.static_order != schedule_.static_order ||
                        schedule.is_served() != schedule_.is_served();
  if (restarts) {
    if (auto ok = synchronize(); !ok) return ok;
    stop(false);
  }
  {
    Lock lock(*this);
    // Ending the announcements may have failed, too.
    if (error_) return failure(*error_);
    schedule_ = std::move(schedule);
    has_static_order_ = has_static_order;
    ++configurations_;
    plan_.configure(schedule_.plan);
    start_parts();
  }
  if (restarts) start();
  return {};
}

DataId Dispatch::add_data() {
  std::lock_guard lock(mutex_);
  return plan_.add_data();
}

void Dispatch::submit(TaskSubmission&& submission, std::span<const Access> accesses) {
  if (launches_) leave_launches();
  std::lock_guard lock(submit_mutex_);
  submitting_.store(true, std::memory_order_relaxed);
  // A collective goes on at once: it may be what the other ranks wait for.
  const bool urgent = submission.is_collective || stream_sleeps_;
  submitted_.push_back(std::move(submission));
  submitted_accesses_.insert(submitted_accesses_.end(), accesses.begin(), accesses.end());
  if (urgent || submitted_.size() >= kSubmissionBatch) flush_into_plan();
}

void Dispatch::flush() {
  submitting_.store(false, std::memory_order_relaxed);
  std::lock_guard lock(submit_mutex_);
  flush_into_plan();
}

void Dispatch::flush_into_plan() {
  {
    Lock lock(*this, lock_spinning(mutex_));
    const Access* accesses = submitted_accesses_.data();
    for (TaskSubmission& s : submitted_) {
      if (error_) break;
      const std::span<const Access> own(accesses, s.accesses);
      accesses += s.accesses;
      if (s.is_collective) {
        submit_collective(s, own);
      } else {
        Payload& p = new_payload(plan_.submit_compute(s.options, own), s.options);
        p.body = std::move(s.body);
        p.bytes = s.bytes;
        if (ahead_) p.accesses.assign(own.begin(), own.end());
      }
    }
    settle();
    offer_ready();
    lock.claim_sleepers();
    stream_sleeps_ = sleeping_streams_ > 0;
  }
  submitted_.clear();
  submitted_accesses_.clear();
}

void Dispatch::submit_collective(TaskSubmission& s, std::span<const Access> accesses) {
  if (auto error = check_way(schedule_.is_served(), s.special.get(), s.optimizer))
    return fail_locked(std::move(*error));
  if (auto error = follow_static_order(s.bytes)) return fail_locked(std::move(*error));
  Payload& p = new_payload(plan_.submit_collective(s.options, accesses, s.bytes), s.options);
  p.values = s.values;
  p.special = std::move(s.special);
  p.optimizer = s.optimizer;
  if (ahead_) p.accesses.assign(accesses.begin(), accesses.end());
}

std::optional<Error> Dispatch::follow_static_order(std::int64_t bytes) {
  const StaticPartOrder& order = schedule_.static_order;
  if (order.empty()) return std::nullopt;
  if (!has_static_order_) {
    plan_.announce(std::array{plan_.submitted_collectives()});
    return std::nullopt;
  }
  if (step_collectives_ == 0) plan_.announce(order.numbers_from(plan_.submitted_collectives()));
  return order.check(step_collectives_++, bytes, schedule_.plan.partition_bytes);
}

Payload& Dispatch::new_payload(TaskId task, const TaskOptions& options) {
  while (task.slot / kBlock >= blocks_.size())
    blocks_.push_back(std::make_unique<Payload[]>(kBlock));
  Payload& p = payload(task.slot);
  p.name = options.name;
  p.step = present_step();
  ++unfinished_.back();
  return p;
}

Result<void> Dispatch::end_step(bool next_has_static_order) {
  flush();
  std::unique_lock lock(mutex_);
  return finish_step(lock, next_has_static_order);
}

Result<void> Dispatch::finish_step(std::unique_lock<std::mutex>& lock, bool next_has_static_order) {
  if (has_static_order_) {
    if (auto error = schedule_.static_order.check_count(step_collectives_))
      fail_locked(std::move(*error));
  }
  step_collectives_ = 0;
  has_static_order_ = next_has_static_order;
  unfinished_.push_back(0);
  drop_finished_steps();
  return wait(lock,
              [this] { return static_cast<std::int64_t>(unfinished_.size()) - 1 <= kStepsAhead; });
}

void Dispatch::suspend_static_order() {
  std::lock_guard lock(mutex_);
  has_static_order_ = false;
}

Result<void> Dispatch::synchronize() {
  flush();
  std::unique_lock lock(mutex_);
  return wait(lock, [this] { return is_idle(); });
}

Result<void> Dispatch::launch(const std::shared_ptr<StepCapture>& capture) {
  const std::shared_ptr<const CapturedStep>& step = capture->step();
  if (whole_step_) leave_launches();
  {
    Lock lock(*this);
    if (auto ok = wait(lock.held(), [&] { return plan_.may_launch(*step); }); !ok) return ok;
    for (std::uint32_t i = 0; i < step->size(); ++i) {
      const CapturedStep::Task& task = step->task(i);
      if (!task.is_collective) continue;
      const Payload& p = capture->payload_of(i);
      if (auto error = check_way(schedule_.is_served(), p.special.get(), p.optimizer)) {
        fail_locked(std::move(*error));
        return failure(*error_);
      }
      if (auto error = follow_static_order(task.bytes)) {
        fail_locked(std::move(*error));
        return failure(*error_);
      }
    }
    unfinished_.back() += step->size();
    const TaskId first = plan_.launch(step);
    captured_ = capture;
    launches_ = true;
    launched_from_step_ = present_step() - first.generation;
    start_parts();
  }
  std::unique_lock lock(mutex_);
  return finish_step(lock, true);
}

Result<void> Dispatch::launch_whole(const StepWork& work, DataId data) {
  {
    Lock lock(*this);
    if (error_) return failure(*error_);
    captured_ = nullptr;
    whole_step_ = &work;
    launches_ = true;
    step_collectives_ = work.step->collectives();
    const Access access = update(data);
    const TaskOptions options{.name = "step"};
    Payload& p = new_payload(plan_.submit_compute(options, {&access, 1}), options);
    p.accesses.assign(1, access);
  }
  std::unique_lock lock(mutex_);
  return finish_step(lock, true);
}

void Dispatch::leave_launches() {
  std::unique_lock lock(mutex_);
  if (auto ok = wait(lock, [this] { return is_idle(); }); !ok) return;
  captured_ = nullptr;
  whole_step_ = nullptr;
  launches_ = false;
}

}  // namespace hocket
