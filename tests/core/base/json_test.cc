#include "core/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdio>

#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Json, RefusesTextThatIsNestedTooDeep) {
  std::string text = R"({"a":)" + std::string(200, '[') + std::string(200, ']') + "}";
  EXPECT_THAT(parse_object(text, "thing").error().message,
              HasSubstr("thing is nested more than 64 levels deep"));
  text = R"({"a":)" + std::string(1'000'000, '[');
  EXPECT_FALSE(parse_object(text, "thing"));
}

TEST(Json, ErrorsNameTheFieldThatWasReadLast) {
  const auto error_of = [](const std::string& text) {
    const auto object = parse_object(text, "thing");
    return object ? "no error" : object.error().message;
  };
  EXPECT_THAT(error_of(R"({"a":1,"b":[{},{"c":2,"d":NaN}]})"),
              HasSubstr(R"(thing is not valid JSON, near field "b[1].d")"));
  EXPECT_THAT(error_of(R"({"a":{"b":1},"c":[1,[2,x]]})"), HasSubstr(R"(near field "c[1][1]")"));
  EXPECT_THAT(error_of(R"({"a":{"b":1e999}})"), HasSubstr(R"(near field "a.b")"));
  EXPECT_THAT(error_of("x"), Not(HasSubstr("near field")));
  // Without the library's name of the error.
  EXPECT_THAT(error_of("x"), HasSubstr("thing is not valid JSON: parse error at line 1"));
  EXPECT_THAT(error_of(R"({"a":[x]})"), Not(HasSubstr("json.exception")));
}

TEST(Json, RefusesArraysThatAreTooLong) {
  std::string elements = "0";
  for (std::int64_t i = 1; i < kMaxJsonElements; ++i) elements += ",0";
  EXPECT_TRUE(parse_object(R"({"a":{"b":[)" + elements + "]}}", "thing"));
  EXPECT_THAT(parse_object(R"({"a":{"b":[)" + elements + ",0]}}", "thing").error().message,
              HasSubstr(R"(thing has more than 1000000 elements in field "a.b")"));
}

TEST(Json, ReadsAFileUpToItsLimit) {
  const TemporaryFolder folder;
  const std::string path = folder.write("file", "12345678");
  EXPECT_EQ(read_file(path, 8).value(), "12345678");
  EXPECT_THAT(read_file(path, 7).error().message, HasSubstr("larger than 7 bytes"));
  std::remove(path.c_str());
  EXPECT_EQ(read_file(path).error().code, ErrorCode::unavailable);
  EXPECT_EQ(read_file(path).error().message, "cannot read " + path + ": No such file or directory");
  EXPECT_EQ(read_file("/").error().message, "cannot read /: Is a directory");
}

}  // namespace
}  // namespace hocket
