#include "tests/style/name_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket::style {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(NameRules, FindTypesThatTwoHeadersDefine) {
  const std::string window =
      "namespace hocket {\n\nstruct Window {\n  int x;\n};\n\n}  // namespace hocket\n";
  const auto problems = [&](std::string path, std::string text) {
    return check_types_are_defined_once({sample("profiler/metrics/iteration_windows.h", window),
                                         sample(std::move(path), std::move(text))});
  };
  EXPECT_THAT(problems("tuner/window.h", "namespace hocket {\nclass Window final : public X {\n"),
              ElementsAre(AllOf(HasSubstr("tuner/window.h"), HasSubstr("hocket::Window"),
                                HasSubstr("profiler/metrics/iteration_windows.h"))));
  EXPECT_THAT(problems("tuner/window.h", "namespace hocket {\nenum class Window {\n"),
              ElementsAre(HasSubstr("hocket::Window")));

  EXPECT_THAT(problems("tuner/window.h", "namespace hocket {\nclass Window;\n"), IsEmpty());
  EXPECT_THAT(problems("tuner/window.h", "namespace hocket {\nclass WindowOf {\n"), IsEmpty());
  EXPECT_THAT(problems("tuner/window.h", "namespace hocket {\nclass Window::Part {\n"), IsEmpty());
  EXPECT_THAT(problems("tuner/window.h", "namespace hocket::sqlite {\nclass Window {\n"),
              IsEmpty());
  EXPECT_THAT(problems("tuner/window.h", "namespace hocket {\nstruct Any {\n  struct Window {\n"),
              IsEmpty());
  EXPECT_THAT(problems("tuner/window.cc", window), IsEmpty());
}

TEST(NameRules, HoldInThisTree) {
  EXPECT_THAT(check_types_are_defined_once(this_tree()), IsEmpty());
}

}  // namespace
}  // namespace hocket::style
