#include "core/cuda/driver/capability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kRuntime = 13000;

std::string objection(int driver, int devices, int error, const std::string& words = "") {
  const auto ok = judge_cuda(kRuntime, driver, devices, error, words);
  if (ok) return "";
  EXPECT_EQ(ok.error().code, ErrorCode::unavailable);
  return ok.error().message;
}

TEST(Capability, ADeviceAndADriverThatIsNewEnoughWillDo) {
  EXPECT_EQ(objection(13000, 1, 0), "");
  EXPECT_EQ(objection(13020, 8, 0), "");
}

TEST(Capability, SaysThatThereIsNoDriver) {
  // Without libcuda the runtime returns the error code of a driver that is too old.
  EXPECT_THAT(objection(0, 0, 35), HasSubstr("no driver is installed"));
}

TEST(Capability, SaysThatTheDriverIsTooOldAndWhatItTakes) {
  for (const int error : {35, 804}) {
    EXPECT_THAT(objection(12040, 0, error),
                AllOf(HasSubstr("too old"), HasSubstr("up to 12.4"), HasSubstr("with 13.0")));
  }
}

TEST(Capability, SaysThatThereIsNoDevice) {
  EXPECT_THAT(objection(13000, 0, 100), HasSubstr("shows no device"));
  EXPECT_THAT(objection(13000, 0, 0), HasSubstr("shows no device"));
}

TEST(Capability, PassesOnWhatElseTheDriverSays) {
  EXPECT_THAT(objection(13000, 0, 999, "unknown error"),
              AllOf(HasSubstr("unknown error"), HasSubstr("999")));
  EXPECT_THAT(objection(13000, 0, 803, "system has unsupported …"), HasSubstr("reboot"));
}

TEST(Capability, VersionsAreWrittenAsPeopleDo) {
  EXPECT_EQ(cuda_version_words(13000), "13.0");
  EXPECT_EQ(cuda_version_words(12080), "12.8");
}

}  // namespace
}  // namespace hocket
