#include "tuner/space/params.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>

namespace hocket {
namespace {

TEST(Params, JsonKeepsTypesAndValues) {
  const Params params{{"count", std::int64_t{INT64_MIN}},
                      {"rate", 0.1},
                      {"whole", 2.0},
                      {"tiny", 5e-324},
                      {"order", std::string("fi\"fo")}};
  const auto document = nlohmann::json::parse(to_json(params).dump());
  const auto read = params_from_json(document);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, params);
}

TEST(Params, RefusesWhatIsNoValue) {
  const auto refused = [](const char* text) {
    const auto read = params_from_json(nlohmann::json::parse(text));
    return read ? std::string("accepted") : read.error().message;
  };
  EXPECT_EQ(refused(R"({"a":true})"),
            "parameters: field \"a\": expected a number or a string, found true");
  EXPECT_EQ(refused(R"({"a":null})"),
            "parameters: field \"a\": expected a number or a string, found null");
  EXPECT_EQ(refused(R"([1])"), "parameters: expected an object, found [1]");
  EXPECT_NE(refused(R"({"a":9223372036854775808})"), "accepted");
}

TEST(Params, TextIsTheShortestThatReadsBack) {
  EXPECT_EQ(to_text(std::int64_t{-3}), "-3");
  EXPECT_EQ(to_text(0.1), "0.1");
  EXPECT_EQ(to_text(1e300), "1e+300");
  EXPECT_EQ(to_text(std::string("a b")), "a b");
  for (const double value : {1.0 / 3, 5e-324, 1.7976931348623157e308, -0.1}) {
    EXPECT_EQ(std::strtod(to_text(value).c_str(), nullptr), value);
  }
}

}  // namespace
}  // namespace hocket
