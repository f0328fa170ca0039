#include "profiler/cupti/cupti_session.h"

#include <utility>

#include "profiler/cupti/cupti_library.h"
#include "profiler/cupti/recording.h"

namespace hocket {

CuptiSession::CuptiSession(std::unique_ptr<Recording> recording)
    : recording_(std::move(recording)) {}

CuptiSession::~CuptiSession() = default;

Result<std::unique_ptr<CuptiSession>> CuptiSession::open(std::shared_ptr<CuptiApi> api,
                                                         CuptiSessionOptions options) {
  auto recording = std::make_unique<Recording>(std::move(api), std::move(options));
  HOCKET_TRY(recording->open());
  return std::unique_ptr<CuptiSession>(new CuptiSession(std::move(recording)));
}

Result<std::unique_ptr<CuptiSession>> CuptiSession::open(CuptiSessionOptions options) {
  auto cupti = load_cupti(default_cupti_libraries());
  HOCKET_TRY(cupti);
  return open(std::move(*cupti), std::move(options));
}

bool CuptiSession::begin_task(std::int64_t step, TaskId task) {
  return recording_->begin_task(step, task);
}

void CuptiSession::end_task() {
  recording_->end_task();
}

void CuptiSession::resume() {
  recording_->resume();
}

void CuptiSession::pause() {
  recording_->pause();
}

void CuptiSession::add_to(ProfileResult& result) {
  recording_->add_to(result);
}

}  // namespace hocket
