#include "core/servers/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket::server_wire {
namespace {

TEST(ServerWire, KnowsItsVersion) {
  EXPECT_TRUE(check_opening({}, "it"));
  const auto other = check_opening({.version = 9}, "it");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(other.error().message, testing::HasSubstr("it speaks version 9"));
  const auto stranger = check_opening({.magic = 0x20544547}, "it");
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().code, ErrorCode::unavailable);
}

TEST(ServerWire, RefusesRequestsThatNobodySends) {
  for (const auto operation : {kPush, kAwait, kPull, kGoodbye}) {
    EXPECT_TRUE(check_request({.operation = operation, .offset_bytes = 4, .values = 1}));
  }
  EXPECT_FALSE(check_request({.operation = 0}));
  EXPECT_FALSE(check_request({.operation = 5}));
  EXPECT_FALSE(check_request({.operation = kPush, .reserved = 1}));
  EXPECT_FALSE(check_request({.operation = kPush, .offset_bytes = -4}));
  EXPECT_FALSE(check_request({.operation = kPush, .offset_bytes = 6}));
  EXPECT_FALSE(check_request({.operation = kPush, .values = std::uint64_t{1} << 61}));
  EXPECT_FALSE(check_request({.operation = kAwait, .timeout_ns = -1}));
  EXPECT_FALSE(check_request({.operation = kAwait, .timeout_ns = kLongestWaitNs + 1}));
}

TEST(ServerWire, CarriesErrors) {
  for (const ErrorCode code :
       {ErrorCode::invalid_argument, ErrorCode::not_found, ErrorCode::unavailable,
        ErrorCode::timed_out, ErrorCode::interrupted}) {
    const Error error = {code, "words"};
    const Refusal refusal = refusal_of(error);
    ASSERT_TRUE(is_refusal(refusal.code, static_cast<std::uint32_t>(refusal.text.size())));
    EXPECT_EQ(error_of(refusal.code, refusal.text), error);
  }
  EXPECT_FALSE(is_refusal(kDone, 0));
  EXPECT_FALSE(is_refusal(6, 0));
  EXPECT_FALSE(is_refusal(1, kLongestText + 1));
  EXPECT_EQ(refusal_of({ErrorCode::not_found, std::string(5000, 'x')}).text.size(), kLongestText);
  EXPECT_EQ(error_of(1, "a\nb").message, "a b");
}

}  // namespace
}  // namespace hocket::server_wire
