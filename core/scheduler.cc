#include "core/scheduler.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>

#include "core/check.h"
#include "core/partition.h"
#include "core/scheduler_capture.h"
#include "core/spin.h"

namespace hocket {
namespace {

PartOrder part_order(CollectiveOrder order, bool has_static_order, int rank) {
  if (order == CollectiveOrder::fifo) return PartOrder::fifo;
  const bool is_told = rank > 0 || (order == CollectiveOrder::static_order && has_static_order);
  return is_told ? PartOrder::announced : PartOrder::priority;
}

/// How often each collective is in `order`.
std::vector<std::int64_t> count_parts(const std::vector<std::uint32_t>& order) {
  std::vector<std::int64_t> parts;
  for (const std::uint32_t collective : order) {
    if (collective >= parts.size()) parts.resize(collective + 1);
    ++parts[collective];
  }
  return parts;
}

}  // namespace

PlanOptions plan_options(const ScheduleConfig& config, bool has_static_order, int rank) {
  return {.partition_bytes = config.partition_bytes,
          .credit_bytes = config.credit_bytes,
          .order = part_order(config.order, has_static_order, rank)};
}

Scheduler::Scheduler(const ScheduleConfig& config, Executor& executor, SchedulerOptions options)
    : executor_(executor),
      trace_(options.trace),
      is_observed_(options.observer != nullptr),
      ahead_(executor.issues_ahead()),
      schedule_(schedule_of(config, std::move(options.static_order))),
      plan_(schedule_.plan) {
  plan_.observe(options.observer);
  if (ahead_) plan_.await_inputs();
  start_executor();
}

Scheduler::~Scheduler() {
  stop_executor(!synchronize());
}

Scheduler::Schedule Scheduler::schedule_of(const ScheduleConfig& config,
                                           std::vector<std::uint32_t> static_order) const {
  if (config.order != CollectiveOrder::static_order) static_order.clear();
  const bool has_static_order = !static_order.empty();
  auto static_parts = count_parts(static_order);
  return {
      .config = config,
      .static_order = std::move(static_order),
      .static_parts = std::move(static_parts),
      .announces = config.order != CollectiveOrder::fifo && !has_static_order && world_size() > 1,
      .plan = plan_options(config, has_static_order, rank())};
}

void Scheduler::start_executor() {
  // No thread of the executor runs now.
  closed_ = false;
  sleeping_streams_ = sleeping_channels_ = 0;
  executor_.start(
      *this, trace_,
      {.streams = schedule_.config.streams, .channels = schedule_.config.comm_channels});
}

void Scheduler::stop_executor(bool failed) {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  announcing_.notify_all();
  executor_.stop(failed);
}

Result<void> Scheduler::reconfigure(const ScheduleConfig& config,
                                    std::vector<std::uint32_t> static_order) {
  HOCKET_CHECK(!capturing_ && !submitting_, "the configuration changes between steps");
  if (auto ok = validate(config); !ok) return ok;
  Schedule next = schedule_of(config, std::move(static_order));
  const ScheduleConfig& now = schedule_.config;
  const bool restarts = config.order != now.order || config.streams != now.streams ||
                        config.comm_channels != now.comm_channels ||
                        next.static_order != schedule_.static_order;
  if (restarts) {
    if (auto ok = synchronize(); !ok) return ok;
    stop_executor(false);
  }
  Wakes wakes;
  {
    std::lock_guard lock(mutex_);
    // Ending the announcements may have failed, too.
    if (error_) return failure(*error_);
    schedule_ = std::move(next);
    ++schedules_;
    plan_.configure(schedule_.plan);
    start_parts();
    wakes = claim_sleepers();
  }
  restarts ? start_executor() : wake(wakes);
  return {};
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

Scheduler::Payload& Scheduler::replayed_payload(std::uint32_t slot) {
  const std::size_t size = replayed_->payloads.size();
  return replayed_->payloads[slot < size ? slot : slot - size];
}

std::span<const Access> Scheduler::accesses_of(std::uint32_t slot) {
  if (!ahead_) return {};
  if (!replayed_) return payload(slot).accesses;
  const CapturedStep& step = *replayed_->step;
  return step.task(step.index_in(slot < step.size() ? slot : slot - step.size())).accesses;
}

void Scheduler::submit(Submission submission, std::span<const Access> accesses) {
  if (capturing_) {
    const auto bytes = static_cast<std::int64_t>(submission.values.size_bytes());
    capturing_->tasks.push_back({std::string(submission.options.name),
                                 submission.options.priority,
                                 submission.is_collective,
                                 bytes,
                                 {accesses.begin(), accesses.end()}});
    capturing_->payloads.push_back(
        {std::move(submission.body), submission.options.name, 0, submission.values});
    return;
  }
  if (replaying_) leave_replay();
  std::lock_guard lock(submit_mutex_);
  submitting_.store(true, std::memory_order_relaxed);
  // A collective goes on at once: it may be what the other ranks wait for.
  const bool urgent = submission.is_collective || stream_sleeps_;
  submitted_.push_back(std::move(submission));
  submitted_accesses_.insert(submitted_accesses_.end(), accesses.begin(), accesses.end());
  if (urgent || submitted_.size() >= kSubmissionBatch) flush_into_plan();
}

void Scheduler::flush() {
  submitting_.store(false, std::memory_order_relaxed);
  std::lock_guard lock(submit_mutex_);
  flush_into_plan();
}

void Scheduler::flush_into_plan() {
  Wakes wakes;
  {
    const auto lock = lock_spinning(mutex_);
    const Access* accesses = submitted_accesses_.data();
    for (Submission& s : submitted_) {
      if (error_) break;
      const std::span<const Access> own(accesses, s.accesses);
      accesses += s.accesses;
      if (s.is_collective) {
        submit_collective(s, own);
      } else {
        Payload& p = new_payload(plan_.submit_compute(s.options, own), s.options);
        p.body = std::move(s.body);
        if (ahead_) p.accesses.assign(own.begin(), own.end());
      }
    }
    settle();
    offer_ready();
    wakes = claim_sleepers();
    stream_sleeps_ = sleeping_streams_ > 0;
  }
  submitted_.clear();
  submitted_accesses_.clear();
  wake(wakes);
}

void Scheduler::submit_collective(const Submission& s, std::span<const Access> accesses) {
  const auto bytes = static_cast<std::int64_t>(s.values.size_bytes());
  if (auto error = follow_static_order(bytes)) return fail_locked(std::move(*error));
  Payload& p = new_payload(plan_.submit_collective(s.options, accesses, bytes), s.options);
  p.values = s.values;
  if (ahead_) p.accesses.assign(accesses.begin(), accesses.end());
}

std::optional<Error> Scheduler::follow_static_order(std::int64_t bytes) {
  if (schedule_.static_order.empty()) return std::nullopt;
  if (step_collectives_ == 0) {
    std::vector<std::uint64_t> order;
    order.reserve(schedule_.static_order.size());
    for (const std::uint32_t collective : schedule_.static_order)
      order.push_back(plan_.submitted_collectives() + collective);
    plan_.announce(order);
  }
  return check_static_order(step_collectives_++, bytes);
}

std::optional<Error> Scheduler::check_static_order(std::size_t index, std::int64_t bytes) const {
  const std::int64_t parts = part_count(bytes, schedule_.config.partition_bytes);
  const std::int64_t expected =
      index < schedule_.static_parts.size() ? schedule_.static_parts[index] : 0;
  if (parts == expected) return std::nullopt;
  return Error{ErrorCode::invalid_argument,
               "order=static: collective " + std::to_string(index) + " of the step has " +
                   std::to_string(parts) + " parts, " + std::to_string(expected) +
                   " in the order; the order was made for another step, make it again from a "
                   "description of this one"};
}

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

void Scheduler::wake(const Wakes& wakes) {
  if (wakes.streams + wakes.channels > 0) executor_.wake(wakes.streams, wakes.channels);
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
    if (plan_.finish_part(part.task, static_cast<std::int64_t>(part.values.size_bytes())))
      tasks_finished({&part.task, 1});
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
  Wakes wakes;
  {
    std::lock_guard lock(mutex_);
    settle();
    for (const CompletedWork& done : work) {
      --unfinished_[static_cast<std::size_t>(done.step - first_step_)];
      --on_device_;
      if (done.is_part) plan_.return_credit(done.part_bytes);
    }
    if (drop_finished_steps() || is_idle()) step_finished_.notify_all();
    if (!error_) start_parts();
    wakes = claim_sleepers();
  }
  wake(wakes);
}

void Scheduler::inputs_arrived(TaskId collective) {
  Wakes wakes;
  {
    std::lock_guard lock(mutex_);
    if (error_) return;
    plan_.inputs_arrived(collective);
    start_parts();
    wakes = claim_sleepers();
  }
  wake(wakes);
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
  Wakes wakes;
  std::size_t taken = 0;
  {
    const auto lock = lock_spinning(mutex_);
    batch_ = work.size();
    settle();
    taken = take();
    if (taken > 0) offer_ready();
    wakes = claim_sleepers();
  }
  wake(wakes);
  if (taken > 0) return taken;

  if (const std::size_t offered = take_offered(kBeforeSleepLooks); offered > 0) return offered;
  std::lock_guard submit_lock(submit_mutex_);
  if (!submitted_.empty()) flush_into_plan();
  std::lock_guard lock(mutex_);
  taken = take();
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
      const Payload& p = payload(next.part.task.slot);
      work = {next.part.task,
              p.values.subspan(static_cast<std::size_t>(next.part.offset_bytes) / sizeof(float),
                               static_cast<std::size_t>(next.part.bytes) / sizeof(float)),
              next.index,
              p.name,
              step_of(next.part.task),
              accesses_of(next.part.task.slot)};
    } else {
      ++sleeping_channels_;
    }
    wakes = claim_sleepers();
  }
  wake(wakes);
  return taken;
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

Result<void> Scheduler::end_step() {
  HOCKET_CHECK(!capturing_, "a step cannot end while it is captured");
  flush();
  std::unique_lock lock(mutex_);
  return finish_submitting_step(lock);
}

Result<void> Scheduler::finish_submitting_step(std::unique_lock<std::mutex>& lock) {
  if (step_collectives_ > 0 && step_collectives_ < schedule_.static_parts.size()) {
    fail_locked({ErrorCode::invalid_argument,
                 "order=static: the step has " + std::to_string(step_collectives_) +
                     " collectives, the order was made for " +
                     std::to_string(schedule_.static_parts.size()) +
                     "; make it again from a description of this step"});
  }
  step_collectives_ = 0;
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
  step_finished_.wait(lock, [&] { return error_ || is_idle(); });
  if (error_) return failure(*error_);
  return {};
}

}  // namespace hocket
