#include "cli/verbs/studies/searched_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tuner/space/parameter_syntax.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SearchedVariables, AreAskedForOnceEachOnATerminal) {
  const auto space =
      Space::make({parse_parameter("HOME=/a,/b").value(), parse_parameter("N=int:1..3").value(),
                   parse_parameter("LD_PRELOAD=unset,x.so").value()})
          .value();
  std::ostringstream out, err;
  std::vector<std::string> asked;
  bool answer = true;
  VerbContext context{out, err};
  context.ask = [&](const std::string& question) {
    asked.push_back(question);
    return answer;
  };
  EXPECT_TRUE(allow_variables(space, {"HOME"}, context));
  EXPECT_THAT(
      asked, ElementsAre(HasSubstr("LD_PRELOAD says which libraries and system files are loaded")));
  answer = false;
  EXPECT_FALSE(allow_variables(space, {"HOME"}, context));
  context.ask = {};
  EXPECT_THAT(allow_variables(space, {}, context).error().message,
              HasSubstr("add --allow-variable HOME"));
  EXPECT_TRUE(allow_variables(space, {"LD_PRELOAD", "HOME"}, context));
}

}  // namespace
}  // namespace hocket
