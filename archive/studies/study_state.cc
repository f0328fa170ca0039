#include "archive/studies/study_state.h"

namespace hocket {

std::string_view shown_state(const StudyRow& study) {
  const bool goes_on = study.origin == StudyOrigin::live && study.state == StudyState::interrupted;
  return goes_on ? "paused" : to_string(study.state);
}

}  // namespace hocket
