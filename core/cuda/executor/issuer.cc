#include "core/cuda/executor/issuer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/check.h"

namespace hocket {
namespace {

std::string words_of(const ComputeWork& work) {
  return "task \"" + std::string(*work.name) + "\" in step " + std::to_string(work.step);
}

std::string words_of(const PartWork& part) {
  return std::string(in_words(part.collective.kind)) + " of \"" + std::string(part.name) +
         "\" in step " + std::to_string(part.step);
}

/// Reports a launch error that was pending before `work`, which must not be taken for its own.
template <class Work>
Result<void> check_none_pending(DeviceDriver& driver, const Work& work) {
  const auto ok = driver.take_launch_error();
  if (ok) return ok;
  return failure(ok.error().in("an error that was pending before " + words_of(work) +
                               ", from a call outside the bodies of tasks"));
}

}  // namespace

Issuer::Issuer(const IssuerParts& parts, std::unique_ptr<DeviceQueues> queues)
    : parts_(parts),
      queues_(std::move(queues)),
      issue_(parts.driver, *queues_, parts.memory, parts.groups),
      host_tasks_(parts.driver),
      last_progress_ns_(parts.clock.now_ns()) {
  if (parts.groups.mesh().grid().ranks > 1)
    exchanges_ = std::make_unique<ExchangeThread>(parts.driver, parts.groups, parts.marker);
}

Result<bool> Issuer::issue_compute() {
  std::array<ComputeWork, kBatch> work;
  const std::size_t taken = parts_.source.take_compute({issued_.data(), issued_count_}, work);
  issued_count_ = 0;
  if (taken == 0) return false;
  // Nothing else runs on this thread between the bodies of a batch.
  HOCKET_TRY(check_none_pending(parts_.driver, work[0]));
  // All tasks of a batch are ready, so none waits for another.
  for (const ComputeWork& task : std::span(work).first(taken)) {
    if (auto ok = run_compute(task); !ok) return failure(ok.error().in(words_of(task)));
    issued_[issued_count_++] = task.task;
  }
  for (const ComputeWork& task : std::span(work).first(taken))
    if (task.once) task.body->reset();
  return true;
}

Result<bool> Issuer::issue_lane(TaskLane lane) {
  auto& issued = issued_in_lane_[static_cast<std::size_t>(lane)];
  ComputeWork work;
  const bool taken = parts_.source.take_lane(lane, issued ? &*issued : nullptr, work);
  issued.reset();
  if (!taken) return false;
  HOCKET_TRY(check_none_pending(parts_.driver, work));
  const bool was_idle = !has_work_in_flight();
  const bool computes = lane == TaskLane::host;
  const int streams = static_cast<int>(queues_->mapping().compute_streams());
  DeviceWork done{{computes ? TraceKind::compute : TraceKind::copy, traced_lane(lane, streams),
                   *work.name, work.step, 0, 0, work.bytes, work.task}};
  {
    const TaskMark mark(parts_.marker, work.step, work.task);
    if (auto ok = issue_.in_lane(lane, work, host_tasks_, done); !ok)
      return failure(ok.error().in(words_of(work)));
  }
  if (work.once) work.body->reset();
  issued = work;
  if (was_idle) last_progress_ns_ = parts_.clock.now_ns();
  return true;
}

Result<void> Issuer::run_compute(const ComputeWork& work) {
  const bool was_idle = !has_work_in_flight();
  const TaskId traced = work.whole_step ? kWholeStep : work.task;
  DeviceWork done{{TraceKind::compute, 0, *work.name, work.step, 0, 0, 0, traced}};
  if (work.whole_step) {
    if (auto ok = run_step(work, done); !ok) return ok;
  } else {
    const TaskMark mark(parts_.marker, work.step, work.task);
    HOCKET_TRY(issue_.compute(work.accesses, *work.body, &done));
  }
  if (was_idle) last_progress_ns_ = parts_.clock.now_ns();
  return {};
}

Result<void> Issuer::run_step(const ComputeWork& work, DeviceWork done) {
  // The step's own exchanges are put into streams by this thread.
  if (exchanges_) exchanges_->wait();
  if (!step_graph_) {
    const StreamMapping& mapping = queues_->mapping();
    auto opened = StepGraph::open({.driver = parts_.driver,
                                   .groups = parts_.groups,
                                   .memory = parts_.memory,
                                   .lanes = {.streams = static_cast<int>(mapping.compute_streams()),
                                             .channels = static_cast<int>(mapping.channels())}});
    HOCKET_TRY(opened);
    step_graph_ = std::move(*opened);
  }
  Result<void> launched;
  TaskBody launch(
      [&] { launched = step_graph_->launch(*work.whole_step, this_device_task().stream); });
  const TaskMark mark(parts_.marker, work.step, kWholeStep);
  const auto position = issue_.compute(work.accesses, launch, &done);
  if (!launched) return launched;
  return position ? Result<void>() : failure(position.error());
}

Result<Issuer::PartTurn> Issuer::issue_part() {
  const auto is_free = end_part_in_hand();
  HOCKET_TRY(is_free);
  if (!*is_free) return PartTurn::busy;
  PartWork part;
  const bool taken = parts_.source.take_part(issued_part_ ? &*issued_part_ : nullptr, part);
  issued_part_.reset();
  if (!taken) return PartTurn::none;
  if (part.asks_for_inputs) {
    const auto inputs = queues_->mapping().predecessors(part.accesses);
    watches_.push_back({part.task, {inputs.begin(), inputs.end()}});
    report_inputs();
    return PartTurn::issued;
  }
  HOCKET_TRY(check_none_pending(parts_.driver, part));
  if (auto ok = run_part(part); !ok) return failure(ok.error().in(words_of(part)));
  return PartTurn::issued;
}

Result<void> Issuer::run_part(const PartWork& part) {
  const bool was_idle = !has_work_in_flight();
  DeviceWork done{{TraceKind::communication, 0, part.name, part.step, 0, 0, part.bytes, part.task,
                   part.sequence, part.collective.kind, part.collective.group},
                  peer_rank_of(part.collective, parts_.groups.mesh(), parts_.groups.rank())};
  if (exchanges_) {
    const auto begun = issue_.begin_part(part, &done);
    HOCKET_TRY(begun);
    part_in_hand_ = {part, done, *begun};
    exchanges_->begin(part, begun->channel, begun->stream);
    return {};
  }
  const TaskMark mark(parts_.marker, part.step, part.task);
  HOCKET_TRY(issue_.part(part, &done));
  issued_part_ = part;
  if (was_idle) last_progress_ns_ = parts_.clock.now_ns();
  return {};
}

Result<bool> Issuer::end_part_in_hand() {
  if (!part_in_hand_) return true;
  auto ok = exchanges_->take_result();
  if (!ok) return false;
  const bool was_idle = !has_work_in_flight();
  if (*ok) *ok = issue_.end_part(part_in_hand_->begun, &part_in_hand_->work);
  if (!*ok) return failure(ok->error().in(words_of(part_in_hand_->part)));
  issued_part_ = part_in_hand_->part;
  part_in_hand_.reset();
  if (was_idle) last_progress_ns_ = parts_.clock.now_ns();
  return true;
}

void Issuer::report_inputs() {
  const auto has_arrived = [&](const Watch& watch) {
    return std::ranges::all_of(watch.inputs, [&](const StreamPosition& input) {
      return queues_->mapping().has_completed(input);
    });
  };
  std::erase_if(watches_, [&](const Watch& watch) {
    const bool arrived = has_arrived(watch);
    if (arrived) parts_.source.inputs_arrived(watch.collective);
    return arrived;
  });
}

Result<bool> Issuer::report_completed() {
  HOCKET_CHECK(!issued_part_, "a part is reported issued before it is reported done");
  const std::size_t before = queues_->in_flight();
  if (before == 0) return false;
  completed_.clear();
  if (auto ok = queues_->poll(completed_); !ok) return failure(ok.error().in("the device"));
  HOCKET_TRY(parts_.groups.health());
  if (auto error = host_tasks_.error()) return failure(std::move(*error));
  host_tasks_.drop_run();
  const bool progress = queues_->in_flight() < before;
  if (!progress) {
    if (parts_.clock.now_ns() - last_progress_ns_ < parts_.limit_ns) return false;
    return failure(ErrorCode::timed_out, "the device has run nothing for " +
                                             std::to_string(parts_.limit_ns / 1'000'000) +
                                             " ms: another rank is gone, or a kernel hangs");
  }
  last_progress_ns_ = parts_.clock.now_ns();
  if (!completed_.empty()) parts_.source.completed(completed_);
  report_inputs();
  return true;
}

}  // namespace hocket
