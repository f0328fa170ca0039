#include "core/plan/plan.h"

#include "core/description/step_description.h"
#include "core/step/schedule_config.h"

namespace hocket {
namespace {

PartOrder part_order(CollectiveOrder order, bool has_static_order, int rank) {
  if (order == CollectiveOrder::fifo) return PartOrder::fifo;
  const bool is_told = rank > 0 || (order == CollectiveOrder::static_order && has_static_order);
  return is_told ? PartOrder::announced : PartOrder::priority;
}

}  // namespace

PlanOptions plan_options(const ScheduleConfig& config, bool has_static_order, int rank,
                         int servers) {
  if (servers > 0 && config.communication == Communication::parameter_server) {
    return {.partition_bytes = config.partition_bytes,
            .credit_bytes = config.credit_bytes,
            .order = config.order == CollectiveOrder::fifo ? PartOrder::fifo : PartOrder::priority,
            .servers = servers,
            .pull_credit_bytes =
                config.pull_credit_bytes > 0 ? config.pull_credit_bytes : config.credit_bytes};
  }
  // Partitioning a step divides its collectives, too, so the plan leaves them whole.
  return {.partition_bytes = is_partitioned(config) ? kMaxStepTaskBytes : config.partition_bytes,
          .credit_bytes = config.credit_bytes,
          .order = part_order(config.order, has_static_order, rank)};
}

void Plan::configure(const PlanOptions& options) {
  HOCKET_CHECK(options.partition_bytes > 0 && options.credit_bytes > 0,
               "validate the configuration first");
  if (options == options_) return;
  HOCKET_CHECK(options.servers == 0 ||
                   (options.pull_credit_bytes > 0 && options.order != PartOrder::announced),
               "pulls need a window, and an order of this rank's own");
  if (options.order != options_.order || options.servers != options_.servers) {
    HOCKET_CHECK(unfinished() == 0 && announced_.empty(), "the order changes while tasks run");
    // PartOrder::priority does not update it.
    first_waiting_ = submitted_collectives_;
  }
  options_ = options;
  credit_.resize(options.credit_bytes);
  pull_credit_.resize(options.pull_credit_bytes);
  server_assignment_.resize(options.servers);
  if (observer_) observer_->configured(options);
}

TaskId Plan::submit_compute(const TaskOptions& options, std::span<const Access> accesses) {
  return submit(options, accesses, std::nullopt, {});
}

TaskId Plan::submit_collective(const TaskOptions& options, std::span<const Access> accesses,
                               std::int64_t bytes, const TaskCommunication& communication) {
  HOCKET_CHECK(bytes >= 0, "a collective of negative size");
  return submit(options, accesses, bytes, communication);
}

TaskId Plan::submit(const TaskOptions& options, std::span<const Access> accesses,
                    std::optional<std::int64_t> collective_bytes,
                    const TaskCommunication& communication) {
  if (captured_) {
    HOCKET_CHECK(captured_->live() == 0, "a launch of a captured step is still under way");
    captured_.reset();
    collectives_.clear();
  }
  const auto added = graph_.add(accesses);
  const std::uint32_t slot = added.task.slot;
  Task& task = graph_.fields(slot);
  task = {.priority = options.priority, .lane = options.lane};
  if (collective_bytes) {
    if (free_collectives_.empty()) {
      free_collectives_.push_back(static_cast<std::uint32_t>(collectives_.size()));
      collectives_.emplace_back();
    }
    task.collective = free_collectives_.back();
    free_collectives_.pop_back();
    reset_collective(task.collective, *collective_bytes, accesses);
    if (options_.order != PartOrder::priority) waiting_.push_back({slot});
  }
  if (observer_) {
    observer_->submitted({added.task, options.name, options.priority, accesses,
                          collective_bytes.has_value(), collective_bytes.value_or(0), options.lane,
                          communication});
  }
  if (added.ready) became_ready(slot);
  return added.task;
}

void Plan::reset_collective(std::uint32_t index, std::int64_t bytes,
                            std::span<const Access> accesses) {
  const bool is_served = options_.servers > 0;
  const std::int64_t partition_bytes = options_.partition_bytes;
  const PartCursor parts =
      is_served ? PartCursor(bytes, server_assignment_.slice_bytes(bytes), partition_bytes)
                : PartCursor(bytes, partition_bytes);
  collectives_[index] = {
      .number = submitted_collectives_++,
      .ready = false,
      .place = is_served ? server_assignment_.place(accesses, bytes) : ServerAssignment::Place(),
      .parts = parts,
      .parts_unfinished = is_served ? 2 * parts.left() : parts.left()};
}

bool Plan::may_launch(const CapturedStep& step) const {
  if (captured_ && &captured_->step() == &step) return captured_->may_launch();
  return unfinished() == 0;
}

void Plan::begin_launches(const std::shared_ptr<const CapturedStep>& step) {
  HOCKET_CHECK(unfinished() == 0, "what was submitted before a captured step is still under way");
  captured_.emplace(step);
  free_collectives_.clear();
  collectives_.assign(2 * step->collectives(), {});
  std::uint32_t collective = 0;
  for (const std::uint32_t half : {0u, step->size()}) {
    for (std::uint32_t slot = 0; slot < step->size(); ++slot) {
      const CapturedStep::Task& task = step->task(step->index_in(slot));
      captured_->fields(half + slot) = {.priority = task.priority,
                                        .lane = task.lane,
                                        .collective = task.is_collective ? collective++ : kCompute};
    }
  }
}

TaskId Plan::launch(const std::shared_ptr<const CapturedStep>& step) {
  if (!captured_ || &captured_->step() != step.get()) begin_launches(step);
  const TaskId first = captured_->next_first();
  if (observer_) observer_->launched(*step, first);
  for (std::uint32_t i = 0; i < step->size(); ++i) {
    if (!step->task(i).is_collective) continue;
    const std::uint32_t slot = step->id_of(i, first).slot;
    reset_collective(task(slot).collective, step->task(i).bytes, step->task(i).accesses);
    if (options_.order != PartOrder::priority) waiting_.push_back({slot});
  }
  captured_->launch([this](std::uint32_t slot) { became_ready(slot); });
  return first;
}

void Plan::became_ready(std::uint32_t slot) {
  if (observer_) observer_->ready(id_of(slot));
  const Task& ready = task(slot);
  if (ready.collective == kCompute) {
    ready_computes_[static_cast<std::size_t>(ready.lane)].push(ready.priority, slot, next_ready());
    return;
  }
  collectives_[ready.collective].ready = true;
  if (options_.order != PartOrder::priority) return;
  if (awaits_inputs_) return awaiting_inputs_.push_back(id_of(slot));
  ready_collectives_.push(ready.priority, slot, next_ready());
}

std::optional<TaskId> Plan::next_awaiting_inputs() {
  if (awaiting_inputs_.empty()) return std::nullopt;
  const TaskId collective = awaiting_inputs_.front();
  awaiting_inputs_.pop_front();
  return collective;
}

void Plan::inputs_arrived(TaskId id) {
  HOCKET_CHECK(awaits_inputs_ && is_live(id), "inputs arrived that no collective waits for");
  ready_collectives_.push(task(id.slot).priority, id.slot, next_ready());
}

std::optional<TaskId> Plan::next_compute(TaskLane lane) {
  BucketQueue& ready = ready_computes_[static_cast<std::size_t>(lane)];
  if (ready.empty()) return std::nullopt;
  const TaskId task = id_of(ready.pop(next_ready()));
  if (observer_) observer_->started(task);
  return task;
}

std::optional<std::uint32_t> Plan::due_collective() const {
  switch (options_.order) {
    case PartOrder::priority:
      if (ready_collectives_.empty()) return std::nullopt;
      return ready_collectives_.front();
    case PartOrder::fifo:
      if (waiting_.empty()) return std::nullopt;
      return waiting_.front().slot;
    case PartOrder::announced: {
      if (announced_.empty()) return std::nullopt;
      HOCKET_CHECK(announced_.front() >= first_waiting_, "a collective was announced too often");
      // Not submitted yet: this rank is behind the announcing rank.
      if (announced_.front() >= first_waiting_ + waiting_.size()) return std::nullopt;
      const Waiting& next = waiting_[announced_.front() - first_waiting_];
      HOCKET_CHECK(!next.exhausted, "a collective was announced too often");
      return next.slot;
    }
  }
  return std::nullopt;
}

std::optional<TaskId> Plan::due_unready() const {
  const auto slot = due_collective();
  return slot && !collective(*slot).ready ? std::optional(id_of(*slot)) : std::nullopt;
}

std::optional<TaskId> Plan::ready_in_line() const {
  for (const Waiting& waiting : waiting_)
    if (!waiting.exhausted && collective(waiting.slot).ready) return id_of(waiting.slot);
  return std::nullopt;
}

std::optional<PartDecision> Plan::next_part() {
  const auto slot = due_collective();
  if (!slot) return std::nullopt;
  Collective& due = collective(*slot);
  if (!due.ready) return std::nullopt;
  const auto [offset_bytes, bytes, slice] = due.parts.next();
  if (!credit_.admits(bytes)) return std::nullopt;

  PartDecision part{id_of(*slot), due.number, offset_bytes, bytes};
  if (options_.servers > 0) {
    part.server = static_cast<int>((due.place.first_server + slice) % options_.servers);
    part.tensor = due.place.tensor;
  }
  credit_.take(bytes);
  due.parts.advance();
  part_was_taken(*slot);
  if (observer_) observer_->started_part(part.task, part.offset_bytes, part.bytes);
  return part;
}

std::optional<PartDecision> Plan::next_pull() {
  if (ready_pulls_.empty()) return std::nullopt;
  const PartDecision& next = summed_[ready_pulls_.front()].part;
  if (!pull_credit_.admits(next.bytes)) return std::nullopt;
  const std::uint32_t index = ready_pulls_.pop(
      [this](std::uint32_t summed) -> std::uint32_t& { return summed_[summed].next; });
  free_summed_.push_back(index);
  const PartDecision part = summed_[index].part;
  pull_credit_.take(part.bytes);
  if (observer_) observer_->started_pull(part.task, part.offset_bytes, part.bytes);
  return part;
}

void Plan::part_was_taken(std::uint32_t slot) {
  const Collective& taken = collective(slot);
  const bool exhausted = taken.parts.left() == 0;
  if (options_.order == PartOrder::priority) {
    if (exhausted) ready_collectives_.pop(next_ready());
    return;
  }
  if (options_.order == PartOrder::announced) announced_.pop_front();
  if (exhausted) waiting_[taken.number - first_waiting_].exhausted = true;
  while (!waiting_.empty() && waiting_.front().exhausted) {
    waiting_.pop_front();
    ++first_waiting_;
  }
}

void Plan::finish(TaskId task) {
  const auto on_ready = [this](std::uint32_t slot) { became_ready(slot); };
  captured_ ? captured_->finish({&task, 1}, on_ready) : graph_.finish(task, on_ready);
}

void Plan::finish_compute(TaskId task) {
  if (observer_) observer_->finished(task);
  finish(task);
}

void Plan::finish_computes(std::span<const TaskId> tasks) {
  if (captured_ && !observer_)
    return captured_->finish(tasks, [this](std::uint32_t slot) { became_ready(slot); });
  if (!captured_) graph_.prefetch(tasks);
  for (const TaskId task : tasks) finish_compute(task);
}

bool Plan::finish_part(TaskId id, std::int64_t bytes) {
  HOCKET_CHECK(is_live(id) && options_.servers == 0, "a part of no live collective was finished");
  if (observer_) observer_->finished_part(id, bytes);
  return_credit(bytes);
  return end_part(id);
}

bool Plan::finish_push(const PartDecision& part) {
  HOCKET_CHECK(is_live(part.task) && options_.servers > 0, "a part was pushed that nobody pulls");
  if (observer_) observer_->finished_push(part.task, part.offset_bytes, part.bytes);
  credit_.give_back(part.bytes);
  return end_part(part.task);
}

void Plan::summed(const PartDecision& part) {
  HOCKET_CHECK(is_live(part.task) && options_.servers > 0, "a sum was made that nobody pulls");
  if (observer_) observer_->summed(part.task, part.offset_bytes, part.bytes);
  if (free_summed_.empty()) {
    free_summed_.push_back(static_cast<std::uint32_t>(summed_.size()));
    summed_.emplace_back();
  }
  const std::uint32_t index = free_summed_.back();
  free_summed_.pop_back();
  summed_[index].part = part;
  const std::uint32_t priority =
      options_.order == PartOrder::priority ? task(part.task.slot).priority : 0;
  ready_pulls_.push(priority, index, [this](std::uint32_t summed) -> std::uint32_t& {
    return summed_[summed].next;
  });
}

bool Plan::finish_pull(const PartDecision& part) {
  HOCKET_CHECK(is_live(part.task) && options_.servers > 0, "a part was pulled that was not pushed");
  if (observer_) observer_->finished_pull(part.task, part.bytes);
  pull_credit_.give_back(part.bytes);
  return end_part(part.task);
}

bool Plan::issue_part(TaskId id) {
  HOCKET_CHECK(is_live(id) && options_.servers == 0, "a part of no live collective was issued");
  if (observer_) observer_->issued_part(id);
  return end_part(id);
}

void Plan::return_credit(std::int64_t bytes) {
  credit_.give_back(bytes);
}

bool Plan::end_part(TaskId id) {
  if (--collective(id.slot).parts_unfinished > 0) return false;
  if (!captured_) free_collectives_.push_back(task(id.slot).collective);
  finish(id);
  return true;
}

void Plan::announce(std::span<const std::uint64_t> collectives) {
  HOCKET_CHECK(options_.order == PartOrder::announced, "this plan decides its own order");
  if (observer_) observer_->announced(collectives);
  announced_.insert(announced_.end(), collectives.begin(), collectives.end());
}

bool Plan::may_start(std::uint64_t number) const {
  HOCKET_CHECK(options_.order == PartOrder::announced, "this plan decides its own order");
  HOCKET_CHECK(number - first_waiting_ < waiting_.size(), "a collective that waits");
  const Collective& next = collectives_[task(waiting_[number - first_waiting_].slot).collective];
  return announced_.empty() && next.ready && credit_.admits(next.parts.next().bytes);
}

}  // namespace hocket
