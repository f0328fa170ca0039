#include "core/scheduler/dispatch/dispatch.h"

#include <algorithm>
#include <array>
#include <chrono>
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
        TaskPayload& p = new_payload(plan_.submit_compute(s.options, own), s.options);
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
  const TaskId task =
      plan_.submit_collective(s.options, accesses, s.bytes, communication_of(s.special.get()));
  TaskPayload& p = new_payload(task, s.options);
  p.values = s.values;
  p.special = std::move(s.special);
  p.optimizer = s.optimizer;
  if (ahead_) p.accesses.assign(accesses.begin(), accesses.end());
}

std::optional<Error> Dispatch::follow_static_order(std::int64_t bytes) {
  const StaticPartOrder& order = schedule_.static_order;
  if (!order.exists()) return std::nullopt;
  if (!has_static_order_) {
    plan_.announce(std::array{plan_.submitted_collectives()});
    return std::nullopt;
  }
  if (step_collectives_ == 0) plan_.announce(order.numbers_from(plan_.submitted_collectives()));
  return order.check(step_collectives_++, bytes, schedule_.plan.partition_bytes);
}

TaskPayload& Dispatch::new_payload(TaskId task, const TaskOptions& options) {
  while (task.slot / kBlock >= blocks_.size())
    blocks_.push_back(std::make_unique<TaskPayload[]>(kBlock));
  TaskPayload& p = payload(task.slot);
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
      const TaskPayload& p = capture->payload_of(i);
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
    TaskPayload& p = new_payload(plan_.submit_compute(options, {&access, 1}), options);
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

bool Dispatch::is_stuck() {
  // In the order of submission the next collective waits for none behind it, and in an order of
  // rank 0's something comes from outside.
  if (schedule_.plan.order != PartOrder::announced || schedule_.announces) return false;
  if (plan_.unfinished() == 0) return false;
  const auto sleeps = [this](TaskLane lane) {
    return sleeping_lanes_[static_cast<std::size_t>(lane)];
  };
  if (is_placed_ && !std::ranges::all_of(kOtherLanes, sleeps)) return false;
  // The one thread of an executor that issues ahead also sleeps while the device runs.
  if (on_device_ > 0 || (counts_question_ && !counts_question_->is_answered)) return false;
  const int streams = ahead_ ? 1 : schedule_.config.streams;
  const int channels = ahead_ ? 1 : schedule_.config.comm_channels;
  return sleeping_streams_ == static_cast<std::size_t>(streams) &&
         sleeping_channels_ == static_cast<std::size_t>(channels) && exchange_.ready() == 0 &&
         plan_.ready_computes() == 0 && takeable_parts() == 0;
}

Error Dispatch::why_stuck() {
  const auto quoted = [this](TaskId task) {
    return "\"" + std::string(payload(task.slot).name) + "\"";
  };
  const auto due = plan_.due_unready(), ready = plan_.ready_in_line();
  std::string message =
      "order=" + std::string(to_string(schedule_.config.order)) + ": nothing can begin any more: ";
  message += due ? quoted(*due) + " is next and waits for tasks that cannot begin before it"
                 : "the next collective of the order has not been submitted";
  if (ready) message += ", and " + quoted(*ready) + " waits for its turn";
  message += due ? "; make the order from the step as it is submitted, with static_order()"
                 : "; end the step before you wait for it";
  return {ErrorCode::invalid_argument, std::move(message)};
}

void Dispatch::lane_sleeps() {
  if (submitter_waits_ && is_stuck()) step_finished_.notify_all();
}

void Dispatch::start_parts() {
  bool announced = false;
  while (const auto part = plan_.next_part()) {
    started_parts_.push_back(counted(*part));
    if (schedule_.is_served()) unsummed_[{part->collective, part->offset_bytes}] = *part;
    if (schedule_.announces && executor_.rank() == 0) {
      to_announce_.push_back(part->collective);
      announced = true;
    }
  }
  if (announced) announcing_.notify_one();
  while (const auto pull = plan_.next_pull()) started_pulls_.push_back(counted(*pull));
  while (const auto collective = plan_.next_awaiting_inputs())
    awaiting_inputs_.push_back(*collective);
  if (!lacks_counts()) return;
  const TaskId collective = started_parts_.front().part.task;
  if (counts_question_ && counts_question_->collective == collective) return;
  counts_question_ = {collective};
  awaiting_inputs_.push_back(collective);
}

Dispatch::StartedPart Dispatch::counted(const PartDecision& part) {
  const SpecialCollective* const special = payload(part.task.slot).special.get();
  // In order=negotiated, parts of a step may follow those of the next one.
  if (const std::int64_t step = step_of(part.task); step > started_step_) {
    started_step_ = step;
    started_in_step_.restart();
  }
  return {part, started_.next(special), started_in_step_.next(special),
          sequences_.next(special, executor_.mesh(), executor_.rank())};
}

bool Dispatch::lacks_counts() {
  if (!ahead_ || started_parts_.empty()) return false;
  const TaskId collective = started_parts_.front().part.task;
  const SpecialCollective* const special = payload(collective.slot).special.get();
  if (special == nullptr || special->work.kind != CollectiveKind::all_to_all) return false;
  return !counts_question_ || counts_question_->collective != collective ||
         !counts_question_->is_answered;
}

std::size_t Dispatch::takeable_parts() {
  return awaiting_inputs_.size() + (lacks_counts() ? 0 : started_parts_.size());
}

bool Dispatch::drop_finished_steps() {
  const std::int64_t before = first_step_;
  while (unfinished_.size() > 1 && unfinished_.front() == 0) {
    unfinished_.pop_front();
    ++first_step_;
  }
  return first_step_ != before;
}

void Dispatch::fail(Error error) {
  Lock lock(*this);
  fail_locked(std::move(error));
}

void Dispatch::fail_locked(Error error) {
  if (error_) return;
  error_ = std::move(error);
  exchange_.withdraw();
  started_parts_.clear();
  started_pulls_.clear();
  unsummed_.clear();
  awaiting_inputs_.clear();
  step_finished_.notify_all();
  announcing_.notify_all();
}

}  // namespace hocket
