#include "core/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace hocket {
namespace {

using testing::HasSubstr;

TEST(Json, RefusesTextThatIsNestedTooDeep) {
  std::string text = R"({"a":)" + std::string(200, '[') + std::string(200, ']') + "}";
  EXPECT_THAT(parse_object(text, "thing").error().message,
              HasSubstr("thing is nested more than 64 levels deep"));
  text = R"({"a":)" + std::string(1'000'000, '[');
  EXPECT_FALSE(parse_object(text, "thing"));
}

TEST(Json, NumbersAreCheckedForKindAndRange) {
  const auto object = parse_object(R"({"i":5,"f":2.5,"big":9223372036854775808})", "thing").value();
  EXPECT_EQ(read_integer(object, "i", 5, 5).value(), 5);
  EXPECT_FALSE(read_integer(object, "i", 6, 9));
  EXPECT_FALSE(read_integer(object, "f", 0, 9));
  EXPECT_FALSE(read_integer(object, "big", 0, INT64_MAX));
  EXPECT_EQ(read_number(object, "f").value(), 2.5);
  EXPECT_FALSE(read_number(object, "f", 3, 4));
  EXPECT_THAT(read_number(object, "x").error().message, HasSubstr("\"x\" is missing"));
  EXPECT_FALSE(parse_object(R"({"f":1e999})", "thing"));
}

TEST(Json, ReadsAFileUpToItsLimit) {
  const std::string path = testing::TempDir() + "/json_test_file";
  std::ofstream(path) << "12345678";
  EXPECT_EQ(read_file(path, 8).value(), "12345678");
  EXPECT_THAT(read_file(path, 7).error().message, HasSubstr("larger than 7 bytes"));
  std::remove(path.c_str());
  EXPECT_EQ(read_file(path).error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace hocket
