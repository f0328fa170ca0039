#include "core/scheduler/communication_schedule.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/check.h"
#include "core/collective/part_sizes.h"

namespace hocket {
namespace {

std::chrono::steady_clock::time_point deadline_after(std::int64_t timeout_ns) {
  // A day is as good as for ever, and cannot overflow.
  constexpr std::int64_t kMostNs = 86'400'000'000'000;
  return std::chrono::steady_clock::now() +
         std::chrono::nanoseconds(std::clamp(timeout_ns, std::int64_t{0}, kMostNs));
}

/// Waits until `done()`, at most `timeout_ns`. Does not enter the kernel to look once.
template <class Done>
void wait_for(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
              std::int64_t timeout_ns, const Done& done) {
  if (timeout_ns > 0) changed.wait_until(lock, deadline_after(timeout_ns), done);
}

}  // namespace

CommunicationSchedule::CommunicationSchedule(CommunicationScheduleOptions options)
    : options_(std::move(options)),
      schedule_(schedule_of(options_.config, options_.static_order, options_.rank, options_.ranks)),
      plan_(schedule_.plan),
      channel_is_taken_(static_cast<std::size_t>(schedule_.config.comm_channels)),
      boundary_ns_(options_.clock.now_ns()) {
  follows_static_order_ = schedule_.static_order.exists();
}

Result<std::uint32_t> CommunicationSchedule::add(ScheduledTensor tensor) {
  if (tensor.bytes < 0 || tensor.bytes > kMaxTensorBytes) {
    return invalid("tensor \"" + tensor.name + "\": bytes is " + std::to_string(tensor.bytes) +
                   ", allowed are 0 to " + std::to_string(kMaxTensorBytes));
  }
  if (tensor.priority >= kPriorityLevels) {
    return invalid("tensor \"" + tensor.name + "\": priority is " +
                   std::to_string(tensor.priority) + ", allowed are 0 to " +
                   std::to_string(kPriorityLevels - 1));
  }
  std::lock_guard lock(mutex_);
  if (error_) return failure(*error_);
  const auto has_name = [&](const Tensor& other) { return other.about.name == tensor.name; };
  if (std::ranges::any_of(tensors_, has_name))
    return invalid("tensor \"" + tensor.name + "\" was added before; names are unique");
  Tensor& added = tensors_.emplace_back();
  added.backward = "backward " + tensor.name;
  added.forward = "forward " + tensor.name;
  added.about = std::move(tensor);
  added.data = plan_.add_data();
  return static_cast<std::uint32_t>(tensors_.size() - 1);
}

Result<void> CommunicationSchedule::check(std::uint32_t tensor) const {
  if (error_) return failure(*error_);
  if (is_closed_) return failure(ErrorCode::unavailable, "the schedule is closed");
  if (tensor < tensors_.size()) return {};
  return invalid("tensor " + std::to_string(tensor) + ": there are " +
                 std::to_string(tensors_.size()));
}

Result<void> CommunicationSchedule::enqueue(std::uint32_t tensor) {
  std::lock_guard lock(mutex_);
  HOCKET_TRY(check(tensor));
  Tensor& t = tensors_[tensor];
  if (t.is_enqueued) {
    return invalid("tensor \"" + t.about.name + "\" is enqueued while its communication is " +
                   "unfinished; wait for it first");
  }
  const std::int64_t now_ns = options_.clock.now_ns();
  if (open_use_) boundary_ns_ = now_ns;
  end_use(now_ns);
  t.is_enqueued = true;
  t.is_ready = t.may_begin = false;
  t.step = step_;
  ++unfinished_now_;
  t.place = static_cast<std::int64_t>(enqueued_.size());
  enqueued_.push_back(tensor);
  const Access writes = write(t.data), updates = update(t.data);
  const auto keep = [&](TaskId task) {
    if (task.slot >= tensor_of_slot_.size()) tensor_of_slot_.resize(task.slot + 1);
    tensor_of_slot_[task.slot] = tensor;
    return task;
  };
  t.producer = keep(plan_.submit_compute(
      {.name = t.backward, .priority = t.about.priority, .place = nullptr}, {&writes, 1}));
  t.number = plan_.submitted_collectives();
  keep(plan_.submit_collective(
      {.name = t.about.name, .priority = t.about.priority, .place = nullptr}, {&updates, 1},
      t.about.bytes));
  follow_static_order(tensor);
  advance();
  return {};
}

void CommunicationSchedule::follow_static_order(std::uint32_t tensor) {
  const StaticPartOrder& order = schedule_.static_order;
  if (!order.exists()) return;
  const std::size_t index = enqueued_.size() - 1;
  const std::int64_t bytes = tensors_[tensor].about.bytes;
  if (follows_static_order_ && !is_announced_ &&
      order.check(index, bytes, schedule_.plan.partition_bytes)) {
    suspend_static_order();
  } else if (!follows_static_order_ || is_announced_) {
    announce_parts_of(tensor);
  } else if (order.check_count(enqueued_.size()) == std::nullopt) {
    // Not before the whole step is known to be the one that the order was made for: a part that is
    // announced and never comes would hold up all others.
    plan_.announce(order.numbers_from(plan_.submitted_collectives() - enqueued_.size()));
    is_announced_ = true;
  }
}

void CommunicationSchedule::announce_parts_of(std::uint32_t tensor) {
  const std::int64_t parts =
      part_count(tensors_[tensor].about.bytes, schedule_.plan.partition_bytes);
  const std::uint64_t number = tensors_[tensor].number;
  const std::vector<std::uint64_t> all(static_cast<std::size_t>(parts), number);
  plan_.announce(all);
}

void CommunicationSchedule::suspend_static_order() {
  follows_static_order_ = false;
  for (const std::uint32_t tensor : enqueued_) announce_parts_of(tensor);
}

Result<void> CommunicationSchedule::notify_ready(std::uint32_t tensor) {
  std::lock_guard lock(mutex_);
  HOCKET_TRY(check(tensor));
  Tensor& t = tensors_[tensor];
  if (!t.is_enqueued || t.is_ready) {
    return invalid("tensor \"" + t.about.name + "\" is ready, but " +
                   (t.is_ready ? "was so already" : "is not enqueued"));
  }
  t.is_ready = true;
  const std::int64_t now_ns = options_.clock.now_ns();
  end_use(boundary_ns_);
  record_compute(ScheduledRole::backward, tensor, t.backward, boundary_ns_, now_ns, t.place);
  boundary_ns_ = now_ns;
  if (t.may_begin) plan_.finish_compute(t.producer);
  advance();
  return {};
}

void CommunicationSchedule::record_compute(ScheduledRole role, std::uint32_t tensor,
                                           std::string_view name, std::int64_t begin_ns,
                                           std::int64_t end_ns, std::int64_t place) {
  if (options_.trace)
    options_.trace->record({TraceKind::compute, 0, name, step_, begin_ns, end_ns, 0,
                            TaskId{tensor, static_cast<std::uint32_t>(role)}, place});
}

void CommunicationSchedule::end_use(std::int64_t end_ns) {
  if (!open_use_) return;
  const OpenUse use = *std::exchange(open_use_, std::nullopt);
  record_compute(ScheduledRole::forward, use.tensor, tensors_[use.tensor].forward, use.begin_ns,
                 std::max(end_ns, use.begin_ns));
}

void CommunicationSchedule::advance() {
  // An earlier communication of the tensor may have held it up.
  while (const auto task = plan_.next_compute()) {
    Tensor& tensor = tensors_[tensor_of_slot_[task->slot]];
    tensor.may_begin = true;
    if (tensor.is_ready) plan_.finish_compute(*task);
  }
  bool starts = false;
  while (const auto part = plan_.next_part()) {
    const std::uint32_t tensor = tensor_of_slot_[part->task.slot];
    decided_.push_back({.tensor = tensor,
                        .offset_bytes = part->offset_bytes,
                        .bytes = part->bytes,
                        .index = parts_decided_++,
                        .channel = 0,
                        .step = tensors_[tensor].step,
                        .begin_ns = 0,
                        .task = part->task});
    if (schedule_.announces && options_.rank == 0) {
      to_announce_.push_back(part->collective);
      starts = true;
    }
  }
  if (starts) announcing_.notify_one();
  changed_.notify_all();
}

Result<std::optional<ScheduledPart>> CommunicationSchedule::next(std::int64_t timeout_ns) {
  std::unique_lock lock(mutex_);
  const auto free_channel = [this] { return std::ranges::find(channel_is_taken_, false); };
  wait_for(changed_, lock, timeout_ns, [&] {
    return error_ || is_closed_ || (!decided_.empty() && free_channel() != channel_is_taken_.end());
  });
  if (error_) return failure(*error_);
  const auto channel = free_channel();
  if (is_closed_ || decided_.empty() || channel == channel_is_taken_.end())
    return std::optional<ScheduledPart>();
  *channel = true;
  ScheduledPart part = decided_.front();
  decided_.pop_front();
  part.channel = static_cast<std::int32_t>(channel - channel_is_taken_.begin());
  part.begin_ns = options_.clock.now_ns();
  started_.push_back(part);
  return std::optional(part);
}

Result<void> CommunicationSchedule::notify_finish(const ScheduledPart& part) {
  std::lock_guard lock(mutex_);
  if (error_) return failure(*error_);
  const auto started = std::ranges::find(started_, part.index, &ScheduledPart::index);
  if (started == started_.end()) {
    return invalid("part " + std::to_string(part.index) +
                   " is finished, but is not under way: finish each part that next() gave once");
  }
  const ScheduledPart own = *started;
  started_.erase(started);
  Tensor& tensor = tensors_[own.tensor];
  if (options_.trace) {
    options_.trace->record(
        {TraceKind::communication, own.channel, tensor.about.name, own.step, own.begin_ns,
         options_.clock.now_ns(), own.bytes,
         TaskId{own.tensor, static_cast<std::uint32_t>(ScheduledRole::communication)},
         static_cast<std::int64_t>(own.index)});
  }
  // More than there are now, if reconfigure() has taken some away since.
  if (static_cast<std::size_t>(own.channel) < channel_is_taken_.size())
    channel_is_taken_[static_cast<std::size_t>(own.channel)] = false;
  if (plan_.finish_part(own.task, own.bytes)) {
    tensor.is_enqueued = false;
    --(own.step == step_ ? unfinished_now_ : unfinished_before_);
  }
  advance();
  return {};
}

Result<void> CommunicationSchedule::wait(std::uint32_t tensor, std::int64_t timeout_ns) {
  std::unique_lock lock(mutex_);
  HOCKET_TRY(check(tensor));
  const std::int64_t called_ns = options_.clock.now_ns();
  end_use(called_ns);
  const Tensor& t = tensors_[tensor];
  if (t.is_enqueued && t.step == step_ && follows_static_order_ && !is_announced_) {
    // The rest of the step that the order was made for may come after this wait, or never.
    suspend_static_order();
    advance();
  }
  wait_for(changed_, lock, timeout_ns, [&] { return error_ || is_closed_ || !t.is_enqueued; });
  HOCKET_TRY(check(tensor));
  if (t.is_enqueued) {
    return failure(ErrorCode::timed_out,
                   "tensor \"" + t.about.name + "\": its communication is not done after " +
                       std::to_string(timeout_ns / 1'000'000) + " ms: " + why_unfinished(tensor));
  }
  end_use(called_ns);  // ends the use by another thread
  boundary_ns_ = options_.clock.now_ns();
  open_use_ = OpenUse{tensor, boundary_ns_};
  return {};
}

std::string CommunicationSchedule::why_unfinished(std::uint32_t tensor) const {
  if (!tensors_[tensor].is_ready) return "it was not said to be ready";
  const auto taken = std::ranges::count(started_, tensor, &ScheduledPart::tensor);
  if (taken > 0) {
    return std::to_string(taken) + (taken == 1 ? " part of it was" : " parts of it were") +
           " taken and not said to be finished";
  }
  return std::to_string(decided_.size()) + " parts may be taken, and " +
         std::to_string(started_.size()) + " are under way";
}

Result<void> CommunicationSchedule::end_step() {
  std::lock_guard lock(mutex_);
  if (error_) return failure(*error_);
  if (unfinished_before_ > 0) {
    return invalid("step " + std::to_string(step_) + " ends while " +
                   std::to_string(unfinished_before_) +
                   " tensors of the step before are unfinished; wait for them first");
  }
  const std::int64_t now_ns = options_.clock.now_ns();
  end_use(now_ns);
  record_compute(ScheduledRole::rest, 0, "rest", boundary_ns_, now_ns);
  boundary_ns_ = now_ns;
  if (follows_static_order_ && !is_announced_ && !enqueued_.empty()) suspend_static_order();
  enqueued_.clear();
  is_announced_ = false;
  follows_static_order_ = schedule_.static_order.exists();
  unfinished_before_ = std::exchange(unfinished_now_, 0);
  ++step_;
  advance();
  return {};
}

std::int64_t CommunicationSchedule::step() const {
  std::lock_guard lock(mutex_);
  return step_;
}

bool CommunicationSchedule::is_idle() const {
  std::lock_guard lock(mutex_);
  return unfinished_before_ == 0 && unfinished_now_ == 0;
}

Result<void> CommunicationSchedule::reconfigure(
    const ScheduleConfig& config, std::optional<std::vector<std::uint32_t>> static_order) {
  HOCKET_TRY(validate(config));
  std::lock_guard lock(mutex_);
  if (error_) return failure(*error_);
  Schedule schedule = schedule_of(config, std::move(static_order), options_.rank, options_.ranks);
  const bool keeps_order = schedule.plan.order == schedule_.plan.order &&
                           schedule.announces == schedule_.announces &&
                           schedule.static_order == schedule_.static_order;
  if (!keeps_order && (unfinished_before_ > 0 || unfinished_now_ > 0)) {
    return failure(ErrorCode::unavailable,
                   "the order of collectives changes while tensors are unfinished; wait for them "
                   "first");
  }
  schedule_ = std::move(schedule);
  plan_.configure(schedule_.plan);
  follows_static_order_ = schedule_.static_order.exists();
  order_has_ended_ = false;
  channel_is_taken_.assign(static_cast<std::size_t>(schedule_.config.comm_channels), false);
  for (const ScheduledPart& part : started_)
    if (static_cast<std::size_t>(part.channel) < channel_is_taken_.size())
      channel_is_taken_[static_cast<std::size_t>(part.channel)] = true;
  advance();
  return {};
}

bool CommunicationSchedule::order_is_announced() const {
  std::lock_guard lock(mutex_);
  return schedule_.announces;
}

void CommunicationSchedule::end_order() {
  std::lock_guard lock(mutex_);
  order_has_ended_ = true;
  announcing_.notify_all();
}

bool CommunicationSchedule::wait_for_started(std::int64_t timeout_ns,
                                             std::vector<std::uint64_t>& collectives) {
  std::unique_lock lock(mutex_);
  announcing_.wait_until(lock, deadline_after(timeout_ns),
                         [&] { return order_has_ended_ || error_ || !to_announce_.empty(); });
  if (error_) return false;
  collectives = std::exchange(to_announce_, {});
  if (order_has_ended_ && collectives.empty()) collectives.push_back(kEndOfOrder);
  return true;
}

void CommunicationSchedule::announce(std::span<const std::uint64_t> collectives) {
  std::lock_guard lock(mutex_);
  if (error_) return;
  plan_.announce(collectives);
  advance();
}

void CommunicationSchedule::fail(Error error) {
  std::lock_guard lock(mutex_);
  if (error_) return;
  error_ = std::move(error);
  changed_.notify_all();
  announcing_.notify_all();
}

bool CommunicationSchedule::is_closed() const {
  std::lock_guard lock(mutex_);
  return is_closed_;
}

void CommunicationSchedule::close() {
  std::lock_guard lock(mutex_);
  is_closed_ = order_has_ended_ = true;
  changed_.notify_all();
  announcing_.notify_all();
}

}  // namespace hocket
