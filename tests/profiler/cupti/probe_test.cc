#include "profiler/cupti/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "profiler/cupti/cupti_session.h"
#include "tests/profiler/cupti/fake_cupti.h"
#include "tests/set_clock.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class ProbeTest : public testing::Test {
 protected:
  /// Returns the reason why a session cannot open; "" if it can.
  std::string refusal(CuptiLevel level = CuptiLevel::l2) {
    const auto opened = CuptiSession::open(cupti_, {.clock = clock_, .level = level});
    EXPECT_THAT(cupti_->enabled(), IsEmpty());
    if (opened) return "";
    EXPECT_FALSE(cupti_->is_subscribed());
    EXPECT_EQ(opened.error().code, ErrorCode::unavailable);
    EXPECT_THAT(opened.error().message,
                AllOf(StartsWith("CUPTI: "), EndsWith("; profiling goes on at the host level")));
    return opened.error().message;
  }

  SetClock clock_;
  const std::shared_ptr<FakeCupti> cupti_ = std::make_shared<FakeCupti>(clock_);
};

TEST_F(ProbeTest, AcceptsANewerDriver) {
  cupti_->driver = 13'010;
  EXPECT_EQ(refusal(), "");
}

TEST_F(ProbeTest, NamesAMissingDriver) {
  cupti_->driver = 0;
  EXPECT_THAT(refusal(), HasSubstr("there is no NVIDIA driver (libcuda.so.1)"));
}

TEST_F(ProbeTest, NamesADriverThatIsTooOld) {
  cupti_->driver = 12'040;
  EXPECT_THAT(refusal(), HasSubstr("the driver supports CUDA 12.4, needed is 13.0 or later"));
}

TEST_F(ProbeTest, NamesALibraryWhoseRecordsAreOthers) {
  cupti_->library_version = 28;
  EXPECT_THAT(refusal(), HasSubstr("its library is of CUDA before 13, allowed are 13.0"));
  cupti_->library_version = 140'000;
  EXPECT_THAT(refusal(), HasSubstr("its library is of CUDA 14.0"));
  cupti_->library_version = CUPTI_API_VERSION + 100;
  EXPECT_EQ(refusal(), "");
}

TEST_F(ProbeTest, NamesTheToolThatRecordsAlready) {
  cupti_->other_subscriber = "Nsight Systems";
  EXPECT_THAT(refusal(), HasSubstr("\"Nsight Systems\" records already"));
}

TEST_F(ProbeTest, NamesTheKindThatIsRefused) {
  cupti_->refused_kinds = {CUPTI_ACTIVITY_KIND_MARKER};
  EXPECT_THAT(refusal(CuptiLevel::l1),
              AllOf(HasSubstr("level L1, NVTX ranges: "), HasSubstr("choose a lower level")));
  EXPECT_EQ(refusal(CuptiLevel::l0), "");
}

TEST_F(ProbeTest, HasWordsForWhatUsersMeet) {
  const int known[] = {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
                       CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
                       CUPTI_ERROR_NOT_INITIALIZED,
                       CUPTI_ERROR_OUT_OF_MEMORY,
                       CUPTI_ERROR_NOT_COMPATIBLE,
                       CUPTI_ERROR_NOT_SUPPORTED,
                       CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED,
                       CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED};
  std::set<std::string> words;
  for (const int status : known) {
    EXPECT_THAT(describe_status(*cupti_, status), Not(StartsWith("status"))) << status;
    words.insert(describe_status(*cupti_, status));
  }
  EXPECT_EQ(words.size(), std::size(known));
  EXPECT_EQ(describe_status(*cupti_, 12345), "status 12345");
}

}  // namespace
}  // namespace hocket
