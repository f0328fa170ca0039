#include "tuner/space/job_value.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tuner/space/parameter_syntax.h"
#include "tuner/space/space.h"

namespace hocket {
namespace {

ParameterValue word(const char* text) {
  return std::string(text);
}

TEST(JobValue, UnsetIsNoWord) {
  EXPECT_EQ(job_text(word("unset")), std::nullopt);
  EXPECT_EQ(job_text(word("Ring")), "Ring");
  EXPECT_EQ(job_text(word("Unset")), "Unset");
  EXPECT_EQ(job_text(std::int64_t{0}), "0");
  EXPECT_TRUE(is_unset(word("unset")));
  EXPECT_FALSE(is_unset(std::int64_t{0}));
}

TEST(JobValue, TheWordUnsetIsWrittenBehindABackslash) {
  EXPECT_EQ(job_text(word("\\unset")), "unset");
  EXPECT_EQ(job_text(word("\\\\unset")), "\\unset");
  EXPECT_EQ(job_text(word("\\n")), "\\n") << "other backslashes stay";
  for (const char* text : {"unset", "\\unset", "\\\\unset", "Ring", "\\n", "\\"})
    EXPECT_EQ(job_text(choice_of(text)), text);
}

TEST(JobValue, KeepsItsMeaningAsJson) {
  const auto parameter = parse_parameter("ALGO=unset,\\unset,Ring").value();
  const auto space = Space::make({parameter}).value();
  const auto again = space_from_json(to_json(space)).value();
  EXPECT_EQ(again, space);
  for (const char* choice : {"unset", "\\unset", "Ring"}) {
    const Params params = {{"ALGO", word(choice)}};
    const auto read = params_from_json(to_json(params)).value();
    EXPECT_EQ(job_text(read.at("ALGO")), job_text(params.at("ALGO")));
    EXPECT_TRUE(again.admit(read));
  }
}

TEST(JobValue, AChoiceMayBeUnset) {
  EXPECT_TRUE(may_be_unset(Choices{{"a", "unset"}}));
  EXPECT_FALSE(may_be_unset(Choices{{"a", "\\unset"}}));
  EXPECT_FALSE(may_be_unset(IntegerRange{1, 2}));
}

TEST(JobValue, FalseIsReadAsPeopleWriteIt) {
  for (const char* text : {"0", "false", "False", "FALSE", "no", "Off"})
    EXPECT_TRUE(is_false_text(text)) << text;
  for (const char* text : {"1", "true", "", "00", "none", "never", "unset"})
    EXPECT_FALSE(is_false_text(text)) << text;
  EXPECT_EQ(word_for_false(Choices{{"True", "False"}}), "False");
  EXPECT_EQ(word_for_false(Choices{{"a", "b"}}), "");
  EXPECT_EQ(word_for_false(IntegerRange{0, 1}), "");
  EXPECT_TRUE(is_boolean(parse_parameter("X=bool")->domain));
  EXPECT_FALSE(is_boolean(parse_parameter("X=levels:0,1,2")->domain));
}

}  // namespace
}  // namespace hocket
