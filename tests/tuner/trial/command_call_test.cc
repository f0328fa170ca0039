#include "tuner/trial/command_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/space/parameter_syntax.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Space space_of(const std::vector<std::string>& texts) {
  std::vector<Parameter> parameters;
  for (const auto& text : texts) parameters.push_back(parse_parameter(text).value());
  return Space::make(std::move(parameters)).value();
}

TEST(CommandCall, AValueThatIsUnsetIsNowhere) {
  const Params params = {{"ALGO", std::string("unset")}, {"N", std::int64_t{2}}};
  const auto call = call_with({"job", "--algo={ALGO}", "--n", "{N}"}, params);
  ASSERT_TRUE(call);
  EXPECT_THAT(call->argv, ElementsAre("job", "--n", "2"));
  EXPECT_THAT(call->absent, ElementsAre("ALGO"));
  EXPECT_THAT(call->environment, ElementsAre(std::pair("N", "2")));
}

TEST(CommandCall, TheWordUnsetIsAValue) {
  const auto call = call_with({"job", "--algo", "{ALGO}"}, {{"ALGO", std::string("\\unset")}});
  ASSERT_TRUE(call);
  EXPECT_THAT(call->argv, ElementsAre("job", "--algo", "unset"));
  EXPECT_THAT(call->absent, IsEmpty());
  EXPECT_THAT(call->environment, ElementsAre(std::pair("ALGO", "unset")));
}

TEST(CommandCall, IsCheckedBeforeTheFirstTrial) {
  const auto space = space_of({"ALGO=Ring,unset", "N=int:1..4"});
  EXPECT_TRUE(check_unset({"job", "--algo", "{ALGO}", "--n={N}"}, space));
  const auto wrong = check_unset({"sh", "-c", "job --algo {ALGO}"}, space);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("${ALGO:+--option \"$ALGO\"}"));
  EXPECT_TRUE(check_unset({"sh", "-c", "job --algo {ALGO}"}, space_of({"ALGO=Ring,Tree"})));
}

TEST(CommandCall, WordsForFalseAreNamed) {
  const auto words = space_of({"AMP=choice:True,False"});
  EXPECT_THAT(boolean_notes({"job", "--amp", "{AMP}"}, words),
              ElementsAre(HasSubstr("the word False for {AMP}")));
  EXPECT_THAT(boolean_notes({"job"}, words),
              ElementsAre(HasSubstr("the environment variable AMP is the word False")));
  EXPECT_THAT(boolean_notes({"job", "{AMP?--amp}"}, words), IsEmpty());
  const auto boolean = space_of({"AMP=bool"});
  EXPECT_THAT(boolean_notes({"job", "--amp={AMP}"}, boolean),
              ElementsAre(HasSubstr("the word 0 for {AMP}")));
  EXPECT_THAT(boolean_notes({"job"}, boolean), IsEmpty()) << "0 is false in a variable";
  EXPECT_THAT(boolean_notes({"job", "{N}"}, space_of({"N=int:0..4", "M=Ring,Tree"})), IsEmpty());
}

}  // namespace
}  // namespace hocket
