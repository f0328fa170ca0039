#include "core/base/json_members.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hocket {
namespace {

TEST(JsonMembers, OfAnotherTypeAreReadAsIfTheyWereMissing) {
  const nlohmann::json object = {{"text", "a"},
                                 {"integer", 3},
                                 {"number", 1.5},
                                 {"flag", true},
                                 {"list", {{{"a", 1}}, 5}},
                                 {"object", {{"inner", {{"a", 1}}}}}};
  EXPECT_EQ(text_member(object, "text"), "a");
  EXPECT_EQ(integer_member(object, "integer"), 3);
  EXPECT_EQ(number_member(object, "number"), 1.5);
  EXPECT_EQ(number_member(object, "integer"), 3);
  EXPECT_TRUE(flag_member(object, "flag"));
  EXPECT_EQ(list_member(object, "list").size(), 1U) << "the objects alone";
  for (const char* name : {"text", "integer", "number", "flag", "list", "object", "nothing"}) {
    EXPECT_EQ(text_member(object, name).empty(), std::string_view(name) != "text");
    EXPECT_EQ(integer_member(object, name) == 0, std::string_view(name) != "integer");
    EXPECT_EQ(number_member(object, name) == 0,
              std::string_view(name) != "integer" && std::string_view(name) != "number");
    EXPECT_EQ(flag_member(object, name), std::string_view(name) == "flag");
    EXPECT_EQ(list_member(object, name).empty(), std::string_view(name) != "list");
  }
}

}  // namespace
}  // namespace hocket
