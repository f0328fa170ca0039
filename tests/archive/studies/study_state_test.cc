#include "archive/studies/study_state.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(StudyStateTest, OnlyTheSearchOfAJobThatEndedIsPaused) {
  for (const auto origin : {StudyOrigin::tune, StudyOrigin::http, StudyOrigin::live}) {
    for (const auto state : {StudyState::running, StudyState::finished, StudyState::interrupted}) {
      StudyRow study;
      study.origin = origin;
      study.state = state;
      const bool is_paused = origin == StudyOrigin::live && state == StudyState::interrupted;
      EXPECT_EQ(shown_state(study), is_paused ? "paused" : to_string(state));
    }
  }
}

}  // namespace
}  // namespace hocket
