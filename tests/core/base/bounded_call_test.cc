#include "core/base/bounded_call.h"

#include <gtest/gtest.h>

#include <memory>

namespace hocket {
namespace {

constexpr std::int64_t kHourNs = 3'600'000'000'000;

TEST(BoundedCall, GivesWhatTheCallGives) {
  EXPECT_EQ(call_within(kHourNs, "it", [] { return Result<int>(7); }).value(), 7);
  const auto failed = call_within(kHourNs, "it", []() -> Result<int> {
    return failure(ErrorCode::not_found, "nothing there");
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "nothing there");
}

TEST(BoundedCall, GivesUpAndLeavesTheCallBehind) {
  std::promise<void> gate;
  const auto ended = std::make_shared<std::promise<void>>();
  const auto late = call_within(2'000'000, "the disk", [opened = gate.get_future().share(), ended] {
    opened.wait();
    ended->set_value();
    return Result<int>(7);
  });
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::timed_out);
  EXPECT_EQ(late.error().message, "the disk did not answer within 2 ms");
  gate.set_value();
  ended->get_future().wait();
}

}  // namespace
}  // namespace hocket
