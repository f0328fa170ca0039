#include "tuner/trial/placeholder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using ::testing::ElementsAre;

TEST(Placeholder, IsANameInBracesThatIsNotAShells) {
  EXPECT_THAT(placeholders_of({"-n{B}", "{A}{B}", "${C}", "$ {D}", "{e.f_1}"}),
              ElementsAre("B", "A", "D", "e.f_1"));
  EXPECT_THAT(placeholders_of({"{}", "{1}", "{a b}", "{a", "a{2,3}", "{\"json\": 1}", "{a,b}"}),
              ElementsAre());
}

TEST(Placeholder, HasItsValueInItsPlace) {
  const std::map<std::string, std::string> values = {{"B", "16"}, {"X", "{B}"}};
  EXPECT_EQ(filled_text("-n{B}-{X}{B}", values), "-n16-{B}16");
  EXPECT_EQ(filled_text("b=${B} c=$B {B}", values), "b=${B} c=$B 16") << "a shell's own";
  EXPECT_EQ(filled_text("logs_{rank} {B", values), "logs_{rank} {B");
  EXPECT_EQ(filled_text("{{B}} {\"b\": {B}}", values), "{16} {\"b\": 16}");
}

TEST(Placeholder, OneThatLooksMisspeltIsAnError) {
  const std::vector<std::string> known = {"BUCKET", "TRIAL"};
  EXPECT_EQ(check_placeholders({"bucket={BUKET}"}, known).error().message,
            "{BUKET} is no parameter; did you mean \"BUCKET\"");
  EXPECT_FALSE(check_placeholders({"a", "{TRAIL}"}, known));
  EXPECT_TRUE(check_placeholders({"{BUCKET}", "{TRIAL}", "logs_{rank}", "${BUKET}"}, known));
}

}  // namespace
}  // namespace hocket
