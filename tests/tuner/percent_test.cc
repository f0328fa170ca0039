#include "tuner/percent.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(Percent, GivesOneDecimalOrTwoDigits) {
  EXPECT_EQ(percent(0.1234), "12.3 %");
  EXPECT_EQ(percent(-0.0456), "-4.6 %");
  EXPECT_EQ(percent(0.00123), "0.12 %");
  EXPECT_EQ(percent(0.0071), "0.71 %");
  EXPECT_EQ(percent(0.00997), "1.0 %");
  EXPECT_EQ(percent(0), "0.0 %");
  EXPECT_EQ(percent(1e300).back(), '%');
}

}  // namespace
}  // namespace hocket
