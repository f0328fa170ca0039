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
  const PlaceholderValues values = {{"B", "16"}, {"X", "{B}"}};
  EXPECT_EQ(filled_text("-n{B}-{X}{B}", values), "-n16-{B}16");
  EXPECT_EQ(filled_text("b=${B} c=$B {B}", values), "b=${B} c=$B 16") << "a shell's own";
  EXPECT_EQ(filled_text("logs_{rank} {B", values), "logs_{rank} {B");
  EXPECT_EQ(filled_text("{{B}} {\"b\": {B}}", values), "{16} {\"b\": 16}");
}

using Words = std::vector<std::string>;

TEST(Placeholder, AValueThatIsLeftOutTakesItsOptionWithIt) {
  const PlaceholderValues values = {{"A", std::nullopt}, {"B", "2"}};
  const auto filled = [&](const Words& words) { return filled_words(words, values).value(); };
  EXPECT_EQ(filled({"job", "--a", "{A}", "--b", "{B}"}).words, (Words{"job", "--b", "2"}));
  EXPECT_EQ(filled({"job", "--a={A}", "-a{A}", "-DA={A}", "x"}).words, (Words{"job", "x"}));
  EXPECT_EQ(filled({"job", "x", "{A}"}).words, (Words{"job", "x"})) << "the last word";
  EXPECT_EQ(filled({"job", "--", "{A}"}).words, (Words{"job", "--"}));
  const auto assigned = filled({"env", "V={A}", "mpirun", "-x", "W={A}", "-x", "B={B}", "job"});
  EXPECT_EQ(assigned.words, (Words{"env", "mpirun", "-x", "B=2", "job"}));
  EXPECT_EQ(assigned.absent, (Words{"V", "W"}));
}

TEST(Placeholder, AValueThatCannotBeLeftOutIsAnError) {
  const PlaceholderValues values = {{"A", std::nullopt}, {"B", "2"}};
  for (const Words& words :
       {Words{"sh", "-c", "job --a {A}"}, Words{"job", "{A}", "y"}, Words{"job", "out-{A}.txt"},
        Words{"job", "--a={A},{B}"}, Words{"srun", "--export=ALL,V={A}", "job"},
        Words{"job", "x", "{A}", "{B}"}, Words{"job", "--a=\"{A}"}, Words{"job", "{A}/x"}}) {
    const auto filled = filled_words(words, values);
    ASSERT_FALSE(filled) << words.back();
    EXPECT_THAT(filled.error().message, ::testing::HasSubstr("{A} may be left out"));
  }
  EXPECT_EQ(filled_text("out-{A}.txt", values), "out-unset.txt") << "the name of a file";
}

TEST(Placeholder, ASwitchStandsForItsTexts) {
  const Words words = {"job", "{F?--amp}", "{F?--on:--off}", "-l={F?yes:no}", "sh -c 'x {F?-y}'"};
  const auto filled = [&](std::optional<std::string> value) {
    return filled_words(words, {{"F", std::move(value)}}).value().words;
  };
  const Words on = {"job", "--amp", "--on", "-l=yes", "sh -c 'x -y'"};
  const Words off = {"job", "--off", "-l=no", "sh -c 'x '"};
  for (const char* yes : {"1", "True", "tree"}) EXPECT_EQ(filled(yes), on);
  for (const char* no : {"0", "False", "off", "no"}) EXPECT_EQ(filled(no), off);
  EXPECT_EQ(filled(std::nullopt), off);
  EXPECT_EQ(filled_words({"{G?--x}", "{\"a?b\": 1}"}, {{"F", "1"}})->words,
            (Words{"{G?--x}", "{\"a?b\": 1}"}));
  EXPECT_THAT(placeholders_of(words), ElementsAre("F"));
  EXPECT_THAT(plain_placeholders_of({"{F?-x}", "{G}"}), ElementsAre("G"));
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
