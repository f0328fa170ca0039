#include "core/scheduler/dispatch.h"

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

/// Returns the decision of the plan that became `part`, of a collective over servers.
PartDecision decision_of(const PartWork& part) {
  return {part.task, part.served.collective, part.served.offset_bytes, part.bytes,
          part.served.server};
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

bool Dispatch::drop_finished_steps() {
  const std::int64_t before = first_step_;
  while (unfinished_.size() > 1 && unfinished_.front() == 0) {
    unfinished_.pop_front();
    ++first_step_;
  }
  return first_step_ != before;
}

std::span<const Access> Dispatch::accesses_of(std::uint32_t slot) {
  if (!ahead_) return {};
  return captured_ ? captured_->accesses(slot) : payload(slot).accesses;
}

ComputeWork Dispatch::work_of(TaskId task) {
  TaskPayload& p = payload(task.slot);
  __builtin_prefetch(&p.body);
  return {task,        &p.body, &p.name, step_of(task), !captured_, accesses_of(task.slot),
          whole_step_, p.bytes};
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

void Dispatch::settle() {
  exchange_.collect(finished_);
  plan_.finish_computes(finished_);
  tasks_finished(finished_);
  finished_.clear();
  if (!error_) start_parts();
}

void Dispatch::offer_ready() {
  // A task that is not tiny is chosen when a stream is free for it: by then a more urgent one may
  // be ready.
  if (batch_ == 1 || error_ || exchange_.ready() > 0) return;
  std::array<ComputeWork, kSubmissionBatch> work;
  exchange_.offer({work.data(), take_ready({work.data(), std::min(batch_, work.size())})});
}

std::size_t Dispatch::take_share(std::span<ComputeWork> work) {
  if (error_) return 0;
  if (const std::size_t taken = exchange_.exchange({}, work); taken > 0) return taken;
  // Each stream takes part of a long queue and leaves the rest to the others.
  const std::size_t share =
      plan_.ready_computes() / static_cast<std::size_t>(2 * schedule_.config.streams);
  return take_ready(work.first(std::min(work.size(), std::max(share, std::size_t{1}))));
}

std::size_t Dispatch::take_offered(std::span<ComputeWork> work, int looks) {
  // While tasks are tiny, the thread that submits them is about to offer more.
  return work.size() > 1 && exchange_.wait_briefly(looks) ? exchange_.exchange({}, work) : 0;
}

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
