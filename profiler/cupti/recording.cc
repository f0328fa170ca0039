#include "profiler/cupti/recording.h"

#include <limits>
#include <utility>

#include "profiler/cupti/decoder.h"
#include "profiler/cupti/probe.h"
#include "profiler/cupti/task_correlation.h"
#include "profiler/session/profile_session.h"

namespace hocket {
namespace {

/// Flush periods of a pause after which CUPTI is detached.
constexpr int kIdlePeriods = 10;

}  // namespace

CuptiSession::Recording::Recording(std::shared_ptr<CuptiApi> api, CuptiSessionOptions options)
    : api_(std::move(api)),
      options_(std::move(options)),
      pool_(std::make_shared<BufferPool>(options_.buffers)) {}

CuptiSession::Recording::~Recording() {
  if (!is_open_) return;
  pause();
  {
    std::lock_guard control(control_);
    // Takes back all buffers that CUPTI can give back now, so that they are not leaked.
    if (is_attached_) api_->flush(true);
  }
  pool_->close();
  reader_.join();
  std::lock_guard control(control_);
  detach();
  if (is_attached_) api_->unsubscribe();
}

Result<void> CuptiSession::Recording::open() {
  if (auto ok = check_versions(*api_); !ok) return ok;
  std::lock_guard control(control_);
  if (auto ok = attach(); !ok) return ok;
  is_open_ = true;
  reader_ = std::thread([this] { read_buffers(); });
  return {};
}

Result<void> CuptiSession::Recording::attach() {
  if (is_attached_) return {};
  if (auto ok = subscribe_cupti(*api_); !ok) return ok;
  // If CUPTI does not know these, it clears the buffers once more and takes more of them.
  api_->promise_zeroed_buffers();
  api_->share_buffers();
  if (const int status = api_->register_buffers(pool_); status != 0) {
    api_->unsubscribe();
    return failure(ErrorCode::unavailable,
                   "CUPTI: its buffers: " + describe_status(*api_, status) + "; " + kHostLevel);
  }
  // Enables the kinds once before anything runs, so that CUPTI knows the modules loaded from now on
  // and refuses unsupported kinds now.
  if (auto ok = enable_kinds(*api_, options_.level); !ok) {
    api_->unsubscribe();
    return ok;
  }
  disable_kinds(*api_, options_.level);
  is_attached_ = true;
  return {};
}

void CuptiSession::Recording::detach() {
  if (!is_attached_ || !options_.detaches) return;
  api_->detach();
  is_attached_ = false;
}

std::unique_ptr<CuptiSession::Recording::Span> CuptiSession::Recording::new_span() const {
  auto span = std::make_unique<Span>(options_.capacity);
  span->about.rank = options_.rank;
  span->about.ranks = options_.ranks;
  span->about.host = options_.host;
  span->refused_before = pool_->counts().refused;
  return span;
}

void CuptiSession::Recording::resume() {
  std::lock_guard control(control_);
  if (!span_) {
    auto next = new_span();
    std::lock_guard data(data_);
    span_ = std::move(next);
  }
  begin_recording();
}

void CuptiSession::Recording::pause() {
  std::lock_guard control(control_);
  if (span_ && is_enabled_) end_recording();
}

void CuptiSession::Recording::begin_recording() {
  if (const auto ok = attach(); !ok) return add_warning(ok.error().message);
  if (!span_->has_begun) {
    span_->has_begun = true;
    // Records lost by an earlier user of CUPTI in this process do not count for this span.
    std::size_t lost_before = 0;
    api_->take_dropped(lost_before);
    std::uint64_t now_ns = 0;
    warn("its clock", api_->timestamp(now_ns));
    span_->about.begin_cupti_ns = static_cast<std::int64_t>(now_ns);
    std::lock_guard data(data_);
    is_recording_ = true;
  }
  read_clock();
  if (const auto ok = enable_kinds(*api_, options_.level); !ok) {
    add_warning(ok.error().message);
    return;
  }
  is_enabled_ = may_be_more_ = true;
  idle_periods_ = 0;
  is_marking_ = options_.level >= CuptiLevel::l1;
}

void CuptiSession::Recording::end_recording() {
  is_marking_ = false;
  is_enabled_ = false;
  disable_kinds(*api_, options_.level);
  read_clock();
}

void CuptiSession::Recording::read_clock() {
  const auto reading = read_clocks(*api_, options_.clock);
  if (!reading) return;
  std::lock_guard data(data_);
  if (span_) span_->clock.add(*reading);
}

void CuptiSession::Recording::add_warning(const std::string& text) {
  span_->warning += (span_->warning.empty() ? "" : "; ") + text;
}

void CuptiSession::Recording::warn(const std::string& what, int status) {
  if (status != 0) add_warning(what + ": " + describe_status(*api_, status));
}

void CuptiSession::Recording::add_to(ProfileResult& result) {
  std::lock_guard control(control_);
  if (!span_) return;
  if (is_enabled_) end_recording();
  TimelineSpan& about = span_->about;
  about.host_starts = result.trace.step_starts;
  about.tasks = TaskNumbers(result.tasks);
  if (!about.host_starts.empty()) {
    about.first_step = about.host_starts.front().step;
    about.steps = about.host_starts.back().step - about.first_step;
  }
  add_device_records(collect(), result);
}

void CuptiSession::Recording::note_end() {
  std::uint64_t now_ns = std::numeric_limits<std::int64_t>::max();
  warn("its clock", api_->timestamp(now_ns));
  span_->about.end_cupti_ns = static_cast<std::int64_t>(now_ns);
  std::size_t dropped = 0;
  warn("the count of dropped records", api_->take_dropped(dropped));
  span_->lost += dropped;
}

CuptiProfile CuptiSession::Recording::collect() {
  if (is_attached_) warn("the last buffers", api_->flush(true));
  pool_->wait_until_read();
  if (is_attached_) {
    read_clock();
    note_end();
  }
  detach();

  std::unique_ptr<Span> span;
  CuptiProfile profile;
  {
    std::lock_guard data(data_);
    span = std::move(span_);
    is_recording_ = false;
    profile.late_buffers = std::exchange(late_buffers_, 0);
  }
  CuptiTrace made = span->timeline.finish(span->clock, span->about);
  profile.trace = std::move(made.trace);
  profile.trace.dropped += static_cast<std::int64_t>(span->lost);
  profile.quarantined = made.quarantined;
  profile.device_records = made.device_records;
  profile.marked = made.marked;
  profile.refused_buffers = pool_->counts().refused - span->refused_before;
  profile.missing_buffers = static_cast<std::int64_t>(pool_->held());
  profile.clock_jumps = span->clock.jumps();
  profile.warning = std::move(span->warning);
  return profile;
}

bool CuptiSession::Recording::begin_task(std::int64_t step, TaskId task) {
  return is_marking_.load(std::memory_order_relaxed) && api_->push_task(pack_task(step, task)) == 0;
}

void CuptiSession::Recording::read_buffers() {
  const std::int64_t period_ns = options_.flush_period_ns > 0 ? options_.flush_period_ns : -1;
  while (true) {
    if (const auto buffer = pool_->take(period_ns)) {
      read(*buffer);
      pool_->give_back(*buffer);
      continue;
    }
    if (pool_->is_closed()) return;
    if (std::unique_lock control(control_, std::try_to_lock); control) look_after();
  }
}

void CuptiSession::Recording::look_after() {
  if (!is_attached_) return;
  if (is_enabled_) read_clock();
  // Flushes once more after a pause.
  if (is_enabled_ || may_be_more_) api_->flush(false);
  may_be_more_ = is_enabled_;
  if (is_enabled_ || !options_.detaches || !span_ || !span_->has_begun) return;
  if (++idle_periods_ < kIdlePeriods) return;
  // A record that was not complete before is now.
  api_->flush(false);
  if (pool_->held() > 0) return;
  note_end();
  detach();
}

void CuptiSession::Recording::read(const FilledBuffer& buffer) {
  const DecodedBuffer decoded = decode_buffer(*api_, buffer.records);
  std::lock_guard data(data_);
  if (!is_recording_) {
    ++late_buffers_;
    return;
  }
  span_->timeline.add(decoded, *api_);
}

}  // namespace hocket
