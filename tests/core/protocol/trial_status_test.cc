#include "core/protocol/trial_status.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(Trial, NamesComeBack) {
  for (const auto phase : {TrialPhase::search, TrialPhase::confirm}) {
    EXPECT_EQ(parse_trial_phase(to_string(phase)), phase);
  }
  for (const auto state :
       {TrialState::running, TrialState::complete, TrialState::failed, TrialState::timeout}) {
    EXPECT_EQ(parse_trial_state(to_string(state)), state);
  }
  EXPECT_EQ(parse_trial_state("done").error().message,
            "trial state: expected one of running, complete, failed, timeout, found \"done\"");
  EXPECT_FALSE(parse_trial_phase("Search"));
}

}  // namespace
}  // namespace hocket
