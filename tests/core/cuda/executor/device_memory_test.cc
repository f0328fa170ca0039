#include "core/cuda/executor/device_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/cuda/model_device.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr DataId kInput{0}, kHidden{1}, kOutput{2};

class DeviceMemoryTest : public testing::Test {
 protected:
  /// Runs a task; returns the data of which it was the last user.
  std::vector<DataId> run(const std::vector<Access>& accesses) {
    EXPECT_TRUE(memory_.begin_task(accesses, stream_));
    std::vector<DataId> last_used;
    memory_.end_task(accesses, last_used);
    return last_used;
  }

  ModelDevice device_;
  DeviceStream stream_ = device_.create_stream(StreamPriority::normal).value();
  DeviceMemory memory_{device_};
};

TEST_F(DeviceMemoryTest, LivesFromTheFirstUseToTheLastInEveryStep) {
  memory_.add(kHidden, 64, 3);
  for (int step = 0; step < 3; ++step) {
    EXPECT_THAT(run({read(kInput), write(kHidden)}), IsEmpty());
    EXPECT_EQ(device_.memory_in_use(), 64u);
    EXPECT_NE(memory_.at(kHidden), nullptr);
    EXPECT_THAT(run({read(kHidden)}), IsEmpty());
    EXPECT_THAT(run({update(kHidden)}), ElementsAre(kHidden));
    EXPECT_EQ(device_.memory_in_use(), 64u);
    EXPECT_TRUE(memory_.free(kHidden, stream_));
    EXPECT_EQ(device_.memory_in_use(), 0u);
  }
  EXPECT_THAT(device_.problems(), IsEmpty());
}

TEST_F(DeviceMemoryTest, KnowsWhatWasAdded) {
  memory_.add(kHidden, 64, 1);
  EXPECT_TRUE(memory_.has(kHidden));
  EXPECT_FALSE(memory_.has(kInput));
  EXPECT_FALSE(memory_.has(kOutput));
}

TEST_F(DeviceMemoryTest, RefusesToReadWhatNoTaskHasWritten) {
  memory_.add(kHidden, 64, 2);
  for (const Access access : {read(kHidden), update(kHidden)}) {
    const auto ok = memory_.begin_task({&access, 1}, stream_);
    ASSERT_FALSE(ok);
    EXPECT_EQ(ok.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(ok.error().message, HasSubstr("data 1"));
  }
}

TEST_F(DeviceMemoryTest, PassesOnThatThereIsNoMemoryLeft) {
  memory_.add(kHidden, 64, 1);
  device_.fail_at(0);
  const Access access = write(kHidden);
  const auto ok = memory_.begin_task({&access, 1}, stream_);
  ASSERT_FALSE(ok);
  EXPECT_THAT(ok.error().message, HasSubstr("allocating 64 bytes for data 1"));
}

}  // namespace
}  // namespace hocket
