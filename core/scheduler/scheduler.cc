#include "core/scheduler/scheduler.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/base/spin.h"
#include "core/collective/collective_parts.h"
#include "core/scheduler/scheduler_capture.h"

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
  // What partitions steps cuts their collectives, too.
  return {.partition_bytes = is_partitioned(config) ? kMaxStepTaskBytes : config.partition_bytes,
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
  if (schedule_.partitions) {
    // Nothing is known of the steps yet, so nothing can be wrong.
    (void)follower_.emplace(grid()).configure(config);
    learns_ = true;
  }
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
      .partitions = is_partitioned(config),
      .plan = plan_options(config, has_static_order, rank())};
}

void Scheduler::start_executor() {
  // No thread of the executor runs now.
  closed_ = false;
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
  sleeping_streams_ = sleeping_channels_ = 0;
}

Result<void> Scheduler::reconfigure(const ScheduleConfig& config,
                                    std::vector<std::uint32_t> static_order) {
  HOCKET_CHECK(!capturing_ && !submitting_, "the configuration changes between steps");
  if (auto ok = validate(config); !ok) return ok;
  Schedule next = schedule_of(config, std::move(static_order));
  const ScheduleConfig& now = schedule_.config;
  if (next.partitions && !follower_) follower_.emplace(grid());
  if (next.partitions) {
    if (auto ok = follower_->configure(config); !ok) return ok;
  }
  if (next.partitions || schedule_.partitions) {
    // Pieces of data stand for what was one before, so nothing orders them with it.
    if (auto ok = synchronize(); !ok) return ok;
  }
  const bool restarts = config.order != now.order || config.streams != now.streams ||
                        config.comm_channels != now.comm_channels ||
                        next.static_order != schedule_.static_order;
  if (restarts) {
    if (auto ok = synchronize(); !ok) return ok;
    stop_executor(false);
  }
  {
    DispatchLock lock(*this);
    // Ending the announcements may have failed, too.
    if (error_) return failure(*error_);
    schedule_ = std::move(next);
    learns_ = schedule_.partitions && follower_->state() == StepFollower::State::learning;
    ++schedules_;
    plan_.configure(schedule_.plan);
    start_parts();
  }
  if (restarts) start_executor();
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
          .bytes = 0,
          .special = nullptr,
          .body = std::move(body),
          .pieces = nullptr},
         accesses);
}

void Scheduler::compute_pieces(const TaskOptions& options, std::span<const Access> accesses,
                               PieceBody body) {
  HOCKET_CHECK(options.place && !options.place->dimensions.empty(),
               "a computation in pieces needs a dimension");
  auto pieces = std::make_shared<const PieceBody>(std::move(body));
  submit({.options = options,
          .is_collective = false,
          .accesses = static_cast<std::uint32_t>(accesses.size()),
          .values = {},
          .bytes = 0,
          .special = nullptr,
          .body =
              [pieces, all = options.place->dimensions.front().extent] {
                (*pieces)({.dimension = 0, .begin = 0, .end = all});
              },
          .pieces = pieces},
         accesses);
}

void Scheduler::all_reduce(const TaskOptions& options, DataId data, std::span<float> values) {
  submit_collective(options, data, values, CollectiveKind::all_reduce);
}

void Scheduler::reduce_scatter(const TaskOptions& options, DataId data, std::span<float> values) {
  submit_collective(options, data, values, CollectiveKind::reduce_scatter);
}

void Scheduler::all_gather(const TaskOptions& options, DataId data, std::span<float> values) {
  submit_collective(options, data, values, CollectiveKind::all_gather);
}

void Scheduler::submit_collective(const TaskOptions& options, DataId data, std::span<float> values,
                                  CollectiveKind kind) {
  std::unique_ptr<SpecialCollective> special;
  if (kind != CollectiveKind::all_reduce) {
    special = std::make_unique<SpecialCollective>();
    special->work.kind = kind;
    special->work.values = values;
    special->is_scattered = true;
  }
  const Access access = update(data);
  submit({.options = options,
          .is_collective = true,
          .accesses = 1,
          .values = values,
          .bytes = static_cast<std::int64_t>(values.size_bytes()),
          .special = std::move(special),
          .body = {},
          .pieces = nullptr},
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
  if (capturing_) return capturing_->add(std::move(submission), accesses);
  if (schedule_.partitions) return follow(std::move(submission), accesses);
  submit_to_plan(std::move(submission), accesses);
}

void Scheduler::submit_to_plan(Submission submission, std::span<const Access> accesses) {
  if (capturing_) return capturing_->add(std::move(submission), accesses);
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
  {
    DispatchLock lock(*this, lock_spinning(mutex_));
    const Access* accesses = submitted_accesses_.data();
    for (Submission& s : submitted_) {
      if (error_) break;
      const std::span<const Access> own(accesses, s.accesses);
      accesses += s.accesses;
      if (s.is_collective) {
        submit_collective_to_plan(s, own);
      } else {
        Payload& p = new_payload(plan_.submit_compute(s.options, own), s.options);
        p.body = std::move(s.body);
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

void Scheduler::submit_collective_to_plan(Submission& s, std::span<const Access> accesses) {
  if (auto error = follow_static_order(s.bytes)) return fail_locked(std::move(*error));
  Payload& p = new_payload(plan_.submit_collective(s.options, accesses, s.bytes), s.options);
  p.values = s.values;
  p.special = std::move(s.special);
  if (ahead_) p.accesses.assign(accesses.begin(), accesses.end());
}

std::optional<Error> Scheduler::follow_static_order(std::int64_t bytes) {
  if (schedule_.static_order.empty()) return std::nullopt;
  if (learns_) {
    plan_.announce(std::array{plan_.submitted_collectives()});
    return std::nullopt;
  }
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
  const std::int64_t parts = part_count(bytes, schedule_.plan.partition_bytes);
  const std::int64_t expected =
      index < schedule_.static_parts.size() ? schedule_.static_parts[index] : 0;
  if (parts == expected) return std::nullopt;
  return Error{ErrorCode::invalid_argument,
               "order=static: collective " + std::to_string(index) + " of the step has " +
                   std::to_string(parts) + " parts, " + std::to_string(expected) +
                   " in the order; the order was made for another step, make it again from a "
                   "description of this one"};
}

Result<void> Scheduler::end_step() {
  HOCKET_CHECK(!capturing_, "a step cannot end while it is captured");
  if (schedule_.partitions) end_followed_step();
  flush();
  std::unique_lock lock(mutex_);
  return finish_submitting_step(lock);
}

Result<void> Scheduler::finish_submitting_step(std::unique_lock<std::mutex>& lock) {
  if (!learns_ && step_collectives_ > 0 && step_collectives_ < schedule_.static_parts.size()) {
    fail_locked({ErrorCode::invalid_argument,
                 "order=static: the step has " + std::to_string(step_collectives_) +
                     " collectives, the order was made for " +
                     std::to_string(schedule_.static_parts.size()) +
                     "; make it again from a description of this step"});
  }
  step_collectives_ = 0;
  learns_ = schedule_.partitions && follower_->state() == StepFollower::State::learning;
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
