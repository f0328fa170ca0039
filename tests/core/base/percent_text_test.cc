#include "core/base/percent_text.h"

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

TEST(Percent, IsReadAsPeopleWriteIt) {
  EXPECT_DOUBLE_EQ(parse_percent("3%").value(), 0.03);
  EXPECT_DOUBLE_EQ(parse_percent("0.5 %").value(), 0.005);
  EXPECT_DOUBLE_EQ(parse_percent("50", 50).value(), 0.5);
  for (const char* text : {"", "%", "-1%", "51%", "3%%", "3 percent", "nan", "1e999", " 3%"}) {
    const auto share = parse_percent(text, 50);
    ASSERT_FALSE(share) << text;
    EXPECT_NE(share.error().message.find("from 0% to 50%"), std::string::npos);
  }
}

}  // namespace
}  // namespace hocket
