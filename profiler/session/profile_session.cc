#include "profiler/session/profile_session.h"

#include <utility>

#include "profiler/session/recorder.h"

namespace hocket {

ProfileSession::ProfileSession(ProfileSessionOptions options)
    : recorder_(std::make_unique<Recorder>(std::move(options), on_)) {}

ProfileSession::~ProfileSession() = default;

Result<void> ProfileSession::start(const ProfileSpan& span) {
  return recorder_->start(span);
}

bool ProfileSession::is_done() const {
  return recorder_->is_done();
}

std::optional<ProfileResult> ProfileSession::take() {
  return recorder_->take();
}

void ProfileSession::stop() {
  recorder_->stop();
}

void ProfileSession::submitted(const SubmittedTask& task) {
  if (on_.load(std::memory_order_relaxed)) recorder_->submitted(task);
}

void ProfileSession::launched(const CapturedStep& step, TaskId first) {
  if (on_.load(std::memory_order_relaxed)) recorder_->launched(step, first);
}

void ProfileSession::ready(TaskId task) {
  if (on_.load(std::memory_order_relaxed)) recorder_->ready(task);
}

void ProfileSession::record(const TraceEvent& event) {
  if (on_.load(std::memory_order_relaxed)) recorder_->record(event);
}

void ProfileSession::placed(const StepDescription& step) {
  recorder_->placed(step);
}

TraceDetail ProfileSession::detail(std::int64_t step) const {
  return on_.load(std::memory_order_acquire) ? recorder_->detail(step) : TraceDetail::steps;
}

}  // namespace hocket
