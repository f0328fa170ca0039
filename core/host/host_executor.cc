#include "core/host/host_executor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <string>

#include "core/base/check.h"
#include "core/scheduler/order_messages.h"

namespace hocket {
namespace {

constexpr std::size_t kMaxBatch = 64;
/// Target duration of a batch of short tasks, so that the lock is taken once per batch; a longer
/// task is taken alone.
constexpr std::int64_t kBatchNs = 10'000;

}  // namespace

void HostExecutor::Semaphore::acquire() {
  while (sem_wait(&semaphore_) != 0) HOCKET_CHECK(errno == EINTR, "sem_wait");
}

void HostExecutor::Semaphore::release(std::size_t count) {
  for (; count > 0; --count) sem_post(&semaphore_);
}

void HostExecutor::Semaphore::clear() {
  while (sem_trywait(&semaphore_) == 0) {
  }
}

HostExecutor::~HostExecutor() {
  HOCKET_CHECK(threads_.empty(), "the scheduler must be gone first");
}

void HostExecutor::start(WorkSource& source, TraceSink* trace, const LaneCounts& lanes) {
  HOCKET_CHECK(!source_ || source_ == &source, "an executor serves one scheduler");
  HOCKET_CHECK(threads_.empty(), "stop before you start again");
  HOCKET_CHECK(lanes.streams > 0 && lanes.channels > 0, "at least one stream and one channel");
  source_ = &source;
  trace_ = trace;
  lanes_ = lanes;
  board_ = LaneBoard::open(collective_.mesh(), rank(), board_lanes(lanes));
  stopping_ = false;
  for (int lane = 0; lane < lanes.streams; ++lane)
    threads_.emplace_back([this, lane] { run_stream(lane); });
  for (int lane = 0; lane < lanes.channels; ++lane)
    threads_.emplace_back([this, lane] { run_channel(lane); });
  HOCKET_CHECK(!lanes.is_served || servers_, "this executor has no parameter servers");
  for (int lane = 0; lanes.is_served && lane < lanes.channels; ++lane)
    threads_.emplace_back([this, lane] { run_pulls(lanes_.channels + lane); });
  if (lanes.is_served) servers_->begin_waiting();
  for (int server = 0; lanes.is_served && server < servers(); ++server)
    threads_.emplace_back([this, server] { await_sums(server); });
  for (const TaskLane lane : kOtherLanes)
    if (lanes.is_placed) threads_.emplace_back([this, lane] { run_lane(lane); });
  if (!source.order_is_announced()) return;
  threads_.emplace_back(
      [this] { (rank() == 0 ? send_order : follow_order)(*source_, collective_); });
}

void HostExecutor::wake(const LaneWakes& wakes) {
  stream_leave_.release(wakes.streams);
  channel_leave_.release(wakes.channels);
  pull_leave_.release(wakes.pulls);
  for (std::size_t lane = 0; lane < kTaskLanes; ++lane)
    if (wakes.lanes[lane]) lane_leave_[lane].release(1);
}

void HostExecutor::stop(bool failed) {
  stopping_ = true;
  if (failed) collective_.abort();
  if (failed && servers_) servers_->abort();
  if (lanes_.is_served) servers_->end_waiting();
  stream_leave_.release(static_cast<std::size_t>(lanes_.streams));
  channel_leave_.release(static_cast<std::size_t>(lanes_.channels));
  pull_leave_.release(static_cast<std::size_t>(lanes_.channels));
  for (Semaphore& leave : lane_leave_) leave.release(1);
  threads_.clear();
  stream_leave_.clear();
  channel_leave_.clear();
  pull_leave_.clear();
  for (Semaphore& leave : lane_leave_) leave.clear();
  board_.reset();
}

void HostExecutor::show(const TraceEvent& work, std::int32_t peer_rank) {
  if (board_) board_->begin(work, peer_rank);
}

void HostExecutor::show_waiting(TraceKind kind, int lane) {
  if (board_) board_->end(kind, lane);
}

void HostExecutor::run_body(const ComputeWork& task) {
  try {
    (*task.body)();
  } catch (const std::exception& e) {
    source_->fail(
        {ErrorCode::unavailable, "task \"" + std::string(*task.name) + "\" threw: " + e.what()});
  }
  if (task.once) task.body->reset();
}

void HostExecutor::run_lane(TaskLane lane) {
  const TraceKind kind = lane == TaskLane::host ? TraceKind::compute : TraceKind::copy;
  const std::int32_t traced = traced_lane(lane, lanes_.streams);
  ComputeWork work;
  bool taken = false;
  for (;;) {
    taken = source_->take_lane(lane, taken ? &work : nullptr, work);
    if (!taken) {
      show_waiting(kind, traced);
      lane_leave_[static_cast<std::size_t>(lane)].acquire();
      if (stopping_) return;
      continue;
    }
    TraceEvent event{.kind = kind,
                     .lane = traced,
                     .name = *work.name,
                     .step = work.step,
                     .begin_ns = trace_ ? clock_.now_ns() : 0,
                     .bytes = work.bytes,
                     .task = work.task};
    show(event);
    run_body(work);
    if (!trace_) continue;
    event.end_ns = clock_.now_ns();
    trace_->record(event);
  }
}

void HostExecutor::run_batch(std::span<ComputeWork> work, int lane) {
  const std::int64_t since_ns = board_ ? coarse_monotonic_ns() : 0;
  for (const ComputeWork& task : work) {
    if (board_) board_->begin_task(lane, *task.name, task.step, since_ns);
    const std::int64_t begin_ns = trace_ ? clock_.now_ns() : 0;
    run_body(task);
    if (trace_) {
      trace_->record({TraceKind::compute, lane, *task.name, task.step, begin_ns, clock_.now_ns(), 0,
                      task.task});
    }
  }
}

void HostExecutor::run_stream(int lane) {
  std::array<ComputeWork, kMaxBatch> work;
  std::array<TaskId, kMaxBatch> finished;
  std::size_t taken = 0, batch = 1;
  for (;;) {
    std::transform(work.begin(), work.begin() + taken, finished.begin(),
                   [](const ComputeWork& w) { return w.task; });
    taken = source_->take_compute({finished.data(), taken}, {work.data(), batch});
    if (taken == 0) {
      show_waiting(TraceKind::compute, lane);
      stream_leave_.acquire();
      if (stopping_) return;
      continue;
    }
    const std::int64_t begin_ns = clock_.now_ns();
    run_batch({work.data(), taken}, lane);
    const std::int64_t task_ns = (clock_.now_ns() - begin_ns) / static_cast<std::int64_t>(taken);
    batch = static_cast<std::size_t>(std::clamp(kBatchNs / std::max(task_ns, std::int64_t{1}),
                                                std::int64_t{1}, std::int64_t{kMaxBatch}));
  }
}

Result<void> HostExecutor::run_part(const PartWork& part, std::vector<std::byte>& scratch) {
  if (lanes_.is_served && part.collective.values.type() != ElementType::float32) {
    return invalid("parameter servers sum values of float32 alone, found " +
                   std::string(to_string(part.collective.values.type())) +
                   "; set communication=all_reduce");
  }
  if (lanes_.is_served && part.optimizer) {
    const PartUpdate update = {part.tensor, *part.optimizer};
    return servers_->push(part.served, part.collective.values.as<float>(), &update);
  }
  if (lanes_.is_served) return servers_->push(part.served, part.collective.values.as<float>());
  if (part.bucket.empty()) return collective_.run(part.collective);
  std::size_t size = 0;
  for (const ValueSpan& values : part.bucket) size += values.size();
  const ElementType type = part.bucket.front().type();
  scratch.resize(size * element_bytes(type));
  CollectiveWork work = part.collective;
  work.values = {scratch.data(), size, type};
  const auto for_each_tensor = [&](const auto& visit) {
    std::size_t begin = 0;
    for (const ValueSpan& values : part.bucket) {
      visit(values, work.values.subspan(begin, values.size()));
      begin += values.size();
    }
  };
  for_each_tensor([](ValueSpan tensor, ValueSpan in_bucket) { copy(tensor, in_bucket); });
  auto done = collective_.run(work);
  for_each_tensor([](ValueSpan tensor, ValueSpan in_bucket) { copy(in_bucket, tensor); });
  return done;
}

void HostExecutor::fail(const PartWork& part, CollectiveKind kind, const Error& error) {
  source_->fail(error.in(std::string(in_words(kind)) + " of \"" + std::string(part.name) +
                         "\" in step " + std::to_string(part.step)));
}

TraceEvent HostExecutor::part_event(const PartWork& part, CollectiveKind kind, int lane) const {
  return {.kind = TraceKind::communication,
          .lane = lane,
          .name = part.name,
          .step = part.step,
          .begin_ns = trace_ ? clock_.now_ns() : 0,
          .bytes = part.bytes,
          .task = part.task,
          // Ranks push and pull in orders of their own, so no number of a part is the same on all.
          .sequence = lanes_.is_served ? kNoSequence : part.sequence,
          .collective = kind,
          .group = part.collective.group};
}

template <class Run>
void HostExecutor::carry_out(const PartWork& part, CollectiveKind kind, int lane, const Run& run) {
  TraceEvent event = part_event(part, kind, lane);
  show(event, peer_rank_of(part.collective, collective_.mesh(), rank()));
  if (const Result<void> done = run(); !done) fail(part, kind, done.error());
  if (!trace_) return;
  event.end_ns = clock_.now_ns();
  trace_->record(event);
}

void HostExecutor::run_channel(int lane) {
  PartWork part;
  std::vector<std::byte> scratch;
  bool taken = false;
  for (;;) {
    taken = source_->take_part(taken ? &part : nullptr, part);
    if (!taken) {
      show_waiting(TraceKind::communication, lane);
      channel_leave_.acquire();
      if (stopping_) return;
      continue;
    }
    const CollectiveKind kind = lanes_.is_served ? CollectiveKind::push : part.collective.kind;
    carry_out(part, kind, lane, [&] { return run_part(part, scratch); });
  }
}

void HostExecutor::await_sums(int server) {
  for (;;) {
    const auto part = servers_->next_sum(server);
    if (!part) return source_->fail(part.error().in("sums of gradients"));
    if (!*part) return;
    source_->summed(**part);
  }
}

void HostExecutor::run_pulls(int lane) {
  PartWork part;
  bool taken = false;
  for (;;) {
    taken = source_->take_pull(taken ? &part : nullptr, part);
    if (!taken) {
      show_waiting(TraceKind::communication, lane);
      pull_leave_.acquire();
      if (stopping_) return;
      continue;
    }
    carry_out(part, CollectiveKind::pull, lane,
              [&] { return servers_->pull(part.served, part.collective.values.as<float>()); });
  }
}

}  // namespace hocket
