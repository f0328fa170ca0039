#include "profiler/session/recorder.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/plan/captured_step.h"
#include "core/trace/task_marker.h"

namespace hocket {
namespace {

std::int64_t machine_realtime_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void lower(std::atomic<std::int64_t>& least, std::int64_t value) {
  std::int64_t seen = least.load(std::memory_order_relaxed);
  while (value < seen && !least.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

/// Returns whether a task of `step` is news after `latest`. Two steps run at once; a step from
/// before those belongs to another scheduler.
bool shows(std::int64_t latest, std::int64_t step) {
  return step > latest || step + SpanSteps::kBefore < latest;
}

/// Returns whether the event only tells when its step begins (TraceDetail::steps).
bool begins_step_only(const TraceEvent& event) {
  return event.task == kWholeStep && event.begin_ns == event.end_ns;
}

Result<void> check_range(const char* field, std::int64_t value, std::int64_t low,
                         std::int64_t high) {
  if (low <= value && value <= high) return {};
  return failure(ErrorCode::invalid_argument,
                 std::string("profile span: ") + field + " is " + std::to_string(value) +
                     ", allowed are " + std::to_string(low) + " to " + std::to_string(high));
}

}  // namespace

ProfileSession::Recorder::Recorder(ProfileSessionOptions options, std::atomic<bool>& on)
    : options_(std::move(options)), on_(on) {}

Result<void> ProfileSession::Recorder::start(const ProfileSpan& span) {
  constexpr std::int64_t kMaxStep = std::int64_t{1} << 60;
  if (auto ok = check_range("first_step", span.first_step, 0, kMaxStep); !ok) return ok;
  if (auto ok = check_range("steps", span.steps, 1, kMaxProfiledSteps); !ok) return ok;
  if (auto ok = check_range("interleave", span.interleave, 0, kMaxProfiledSteps); !ok) return ok;
  std::lock_guard control(control_);
  if (log_) {
    return failure(ErrorCode::invalid_argument,
                   "profile span: one is under way, or not taken yet; take() it first");
  }
  log_ = std::make_unique<SpanLog>(span, options_.capacity);
  // The running step is not known yet, and it may be the one before the span.
  log_->blocks.push_back({});
  first_kept_step_ = span.first_step - 1;
  keeping_ = true;
  sample_clocks(*log_);
  log_->host_at_start = host_use();
  if (options_.device) options_.device->resume();
  hand_out(log_.get());
  span_.first_step = span.first_step;
  span_.steps = span.steps;
  span_.interleave = span.interleave;
  on_ = true;
  return {};
}

void ProfileSession::Recorder::hand_out(SpanLog* log) {
  for (Lane& lane : lanes_) {
    std::lock_guard lock(lane.mutex);
    lane.log = log;
    lane.cursor = {};
  }
  std::lock_guard lock(decisions_.mutex);
  decisions_.log = log;
}

void ProfileSession::Recorder::stop() {
  std::lock_guard control(control_);
  if (!log_ || is_done()) return;
  hand_out(nullptr);
  sample_clocks(*log_);
  end_span(*log_);
}

std::optional<HostUse> ProfileSession::Recorder::host_use() const {
  return options_.host_use ? options_.host_use() : read_host_use();
}

void ProfileSession::Recorder::end_span(SpanLog& log) {
  stop_keeping();
  log.host_at_end = host_use();
  on_ = false;
  done_.store(true, std::memory_order_release);
}

std::optional<ProfileResult> ProfileSession::Recorder::take() {
  std::unique_lock control(control_);
  if (!is_done()) return std::nullopt;
  hand_out(nullptr);
  const std::unique_ptr<SpanLog> log = std::move(log_);
  done_ = false;
  log->placed_from = placed_from_;
  // The next span must not begin before the device's recorder has delivered this one's.
  if (!options_.device) control.unlock();
  ProfileResult result = assemble_profile(*log, options_);
  if (options_.device) options_.device->add_to(result);
  return result;
}

void ProfileSession::Recorder::sample_clocks(SpanLog& log) {
  const std::int64_t before_ns = options_.clock.now_ns();
  const std::int64_t realtime_ns =
      options_.realtime_ns ? options_.realtime_ns() : machine_realtime_ns();
  const std::int64_t after_ns = options_.clock.now_ns();
  log.clock_samples.push_back({before_ns + (after_ns - before_ns) / 2, realtime_ns});
}

ProfileSession::Recorder::Lane& ProfileSession::Recorder::lane_of(const TraceEvent& event) {
  const auto lane = static_cast<std::size_t>(static_cast<std::uint32_t>(event.lane));
  switch (event.kind) {
    case TraceKind::compute:
      return lanes_[lane % kComputeLanes];
    case TraceKind::communication:
      return lanes_[kComputeLanes + lane % kChannels];
    default:
      return lanes_[kComputeLanes + kChannels + lane % kOtherLanes];
  }
}

void ProfileSession::Recorder::record(const TraceEvent& event) {
  Lane& lane = lane_of(event);
  std::lock_guard lock(lane.mutex);
  SpanLog* const log = lane.log;
  if (!log) return;
  const std::int64_t index = event.step - log->first_step;
  if (index >= 0 && index < std::ssize(log->starts_ns))
    lower(log->starts_ns[static_cast<std::size_t>(index)], event.begin_ns);
  if (shows(log->latest_step.load(std::memory_order_relaxed), event.step))
    step_shows(*log, event.step);
  if (!keeping_.load(std::memory_order_relaxed) || begins_step_only(event)) return;
  if (event.step < first_kept_step_.load(std::memory_order_relaxed)) return;
  keep(*log, lane.cursor, event);
}

void ProfileSession::Recorder::placed(const StepDescription& step) {
  std::lock_guard control(control_);
  placed_from_ = step;
}

TraceDetail ProfileSession::Recorder::detail(std::int64_t step) const {
  const SpanSteps steps({.first_step = span_.first_step.load(std::memory_order_relaxed),
                         .steps = span_.steps.load(std::memory_order_relaxed),
                         .interleave = span_.interleave.load(std::memory_order_relaxed)});
  if (!steps.times_tasks_of(step)) return TraceDetail::steps;
  // The device's recorder has the times.
  return options_.device ? TraceDetail::order : TraceDetail::tasks;
}

void ProfileSession::Recorder::keep(SpanLog& log, EventPool::Cursor& cursor,
                                    const TraceEvent& event) {
  if (log.events.append(cursor, event)) return;
  log.dropped.fetch_add(1, std::memory_order_relaxed);
  lower(log.first_dropped_ns, event.begin_ns);
}

void ProfileSession::Recorder::step_shows(SpanLog& log, std::int64_t step) {
  std::lock_guard lock(decisions_.mutex);
  if (decisions_.log != &log || !on_.load(std::memory_order_relaxed)) return;
  const std::int64_t latest = log.latest_step;
  if (!shows(latest, step)) return;
  // A step number that goes back belongs to another scheduler; it ends the span.
  const bool is_over = step < latest ? latest >= log.first_step : step >= log.steps.done_at();
  if (!is_over || step > latest) log.latest_step = step;
  if (is_over) {
    if (step > latest) keep_block(log, std::nullopt);
    sample_clocks(log);
    return end_span(log);
  }
  keep_block(log, log.steps.kept_block(step));
}

void ProfileSession::Recorder::keep_block(SpanLog& log, std::optional<std::int64_t> block) {
  const bool kept = keeping_.load(std::memory_order_relaxed);
  if (kept && (!block || *block != log.blocks.back().block)) {
    BlockLog& ending = log.blocks.back();
    const bool has_run = log.latest_step >= log.steps.block(ending.block).end + SpanSteps::kAfter;
    if (has_run) {
      ending.is_closed = true;
      sample_clocks(log);
    } else {
      // The span was started long before its first step.
      log.submissions.truncate(ending.first_submission);
      log.readiness.truncate(ending.first_readiness);
      log.accesses.truncate(ending.first_access);
      log.submissions_full_ns = kNeverNs;
      log.blocks.pop_back();
    }
    stop_keeping();
  }
  if (!block || keeping_.load(std::memory_order_relaxed)) return;
  log.blocks.push_back(
      {*block, log.submissions.size(), log.readiness.size(), log.accesses.size(), false});
  sample_clocks(log);
  first_kept_step_ = log.steps.block(*block).begin - 1;
  if (options_.device) options_.device->resume();
  keeping_ = true;
}

void ProfileSession::Recorder::stop_keeping() {
  if (keeping_.exchange(false) && options_.device) options_.device->pause();
}

void ProfileSession::Recorder::submit(SpanLog& log, const SubmittedTask& task,
                                      std::int64_t now_ns) {
  // A task whose accesses do not fit is not recorded: its accesses would be incomplete.
  if (log.accesses.left() < task.accesses.size() ||
      !log.submissions.push_back({task.id, now_ns, task.name, task.bytes, log.accesses.size(),
                                  static_cast<std::uint32_t>(task.accesses.size()), task.priority,
                                  task.is_collective, task.lane, task.communication})) {
    log.submissions_full_ns = std::min(log.submissions_full_ns, now_ns);
    return;
  }
  for (const Access& access : task.accesses) log.accesses.push_back(access);
}

void ProfileSession::Recorder::submitted(const SubmittedTask& task) {
  if (!keeping_.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(decisions_.mutex);
  if (!decisions_.log || !keeping_.load(std::memory_order_relaxed)) return;
  submit(*decisions_.log, task, options_.clock.now_ns());
}

void ProfileSession::Recorder::launched(const CapturedStep& step, TaskId first) {
  if (!keeping_.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(decisions_.mutex);
  if (!decisions_.log || !keeping_.load(std::memory_order_relaxed)) return;
  const std::int64_t now_ns = options_.clock.now_ns();
  for (std::uint32_t i = 0; i < step.size(); ++i) {
    const CapturedStep::Task& task = step.task(i);
    submit(*decisions_.log,
           {step.id_of(i, first), task.name, task.priority, task.accesses, task.is_collective,
            task.bytes, task.lane, task.communication},
           now_ns);
  }
}

void ProfileSession::Recorder::ready(TaskId task) {
  if (!keeping_.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(decisions_.mutex);
  SpanLog* const log = decisions_.log;
  if (!log || !keeping_.load(std::memory_order_relaxed)) return;
  const std::int64_t now_ns = options_.clock.now_ns();
  if (!log->readiness.push_back({task, now_ns, log->submissions.size()}))
    log->submissions_full_ns = std::min(log->submissions_full_ns, now_ns);
}

}  // namespace hocket
