#include "core/protocol/secret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(Secret, IsLongAndVaried) {
  for (const char* good : {"0123456789abcdef", "between us ranks", "aaaaaaaaaaaabcde"})
    EXPECT_TRUE(check_secret(good)) << good;
  for (const std::string bad : {"", "x", "0123456789abcde", "abcdabcdabcdabcdabcd"}) {
    const auto checked = check_secret(bad);
    ASSERT_FALSE(checked) << bad;
    EXPECT_THAT(checked.error().message, testing::HasSubstr("at least 16 characters"));
    if (bad.size() < 2) continue;
    EXPECT_THAT(checked.error().message, testing::Not(testing::HasSubstr(bad)));
  }
  EXPECT_FALSE(check_secret(std::string(1000, 'x')));
}

}  // namespace
}  // namespace hocket
