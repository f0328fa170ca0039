#include "core/greeting/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/core/greeting/test_protocol.h"

namespace hocket::greeting {
namespace {

TEST(GreetingMessages, KnowsItsVersion) {
  EXPECT_TRUE(check_opening(kTestProtocol, opening_of(kTestProtocol), "it"));
  const auto other = check_opening(kTestProtocol, {7, 9}, "it");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error(),
            (Error{ErrorCode::invalid_argument,
                   "it speaks version 9 of its protocol, this program version 2; run the same "
                   "hocket everywhere"}));
  const auto stranger = check_opening(kTestProtocol, {0x20544547, 2}, "it");
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().code, ErrorCode::unavailable);
}

TEST(GreetingMessages, CarriesErrors) {
  for (const ErrorCode code :
       {ErrorCode::invalid_argument, ErrorCode::not_found, ErrorCode::unavailable,
        ErrorCode::timed_out, ErrorCode::interrupted}) {
    const Error error = {code, "words"};
    const Refusal refusal = refusal_of(error);
    EXPECT_EQ(refusal.outcome.text_bytes, 5U);
    ASSERT_TRUE(is_refusal(refusal.outcome));
    EXPECT_EQ(error_of(refusal.outcome, refusal.text), error);
  }
  EXPECT_FALSE(is_refusal({kDone, 0}));
  EXPECT_FALSE(is_refusal({6, 0}));
  EXPECT_FALSE(is_refusal({1, kLongestText + 1}));
  const Refusal longest = refusal_of({ErrorCode::not_found, std::string(5000, 'x')});
  EXPECT_EQ(longest.text.size(), kLongestText);
  EXPECT_EQ(longest.outcome.text_bytes, kLongestText);
  EXPECT_EQ(error_of({1, 3}, "a\nb").message, "a b");
}

}  // namespace
}  // namespace hocket::greeting
