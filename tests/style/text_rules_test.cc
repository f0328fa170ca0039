#include "tests/style/text_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket::style {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(TextRules, BoundTheLengthOfLinesInCharacters) {
  const std::string just = std::string(99, 'x') + "…\n";
  EXPECT_THAT(check_line_length(sample("a.cc", just)), IsEmpty());
  EXPECT_THAT(check_line_length(sample("a.cc", "\nx" + just)),
              ElementsAre("a.cc:2: 101 columns, allowed are 100"));
  EXPECT_THAT(check_line_length(sample("CMakeLists.txt", "x" + just)),
              ElementsAre(HasSubstr(":1")));
  EXPECT_THAT(check_line_length(sample("run", "#!/bin/sh\nx" + just)),
              ElementsAre(HasSubstr(":2")));
  EXPECT_THAT(check_line_length(sample("a.md", "x" + just)), IsEmpty());

  const std::string link = "// https://" + std::string(120, 'x');
  EXPECT_THAT(check_line_length(sample("a.cc", link + "\n")), IsEmpty());
  EXPECT_THAT(check_line_length(sample("a.cc", link + " and more\n")),
              ElementsAre(HasSubstr(":1")));
}

TEST(TextRules, RefuseInvisibleDifferences) {
  EXPECT_THAT(check_white_space(sample("a.cc", "int x;\n\nint y;\n")), IsEmpty());
  EXPECT_THAT(check_white_space(sample("a.cc", "")), IsEmpty());
  EXPECT_THAT(check_white_space(sample("a.cc", "int x;\n\tint y;\n")),
              ElementsAre("a.cc:2: a tab"));
  EXPECT_THAT(check_white_space(sample("a.md", "text \n")), ElementsAre(HasSubstr("blanks")));
  EXPECT_THAT(check_white_space(sample("a.cc", "int x;\r\n")), ElementsAre(HasSubstr("carriage")));
  EXPECT_THAT(check_white_space(sample("a.cc", "int x;")), ElementsAre(HasSubstr("newline")));
  EXPECT_THAT(check_white_space(sample("a.cc", "int x;\n\n")), ElementsAre(HasSubstr("newline")));
}

TEST(TextRules, BoundTheLengthOfFiles) {
  std::string text;
  for (std::size_t i = 0; i < kMaxLines; ++i) text += "x\n";
  EXPECT_THAT(check_file_length(sample("a.cc", text)), IsEmpty());
  EXPECT_THAT(check_file_length(sample("a.cc", text + "x\n")), ElementsAre(HasSubstr("601 lines")));
}

TEST(TextRules, WantHeadersToSayWhatTheyAreFor) {
  EXPECT_THAT(check_header_opening(sample("a.h", "#pragma once\n\n// A thing.\n")), IsEmpty());
  EXPECT_THAT(check_header_opening(sample("a.cc", "#include \"a.h\"\n")), IsEmpty());
  for (const char* text :
       {"#pragma once\n\n#include <x>\n", "// A thing.\n#pragma once\n", "#ifndef A_H\n", ""}) {
    EXPECT_THAT(check_header_opening(sample("a.h", text)), ElementsAre(HasSubstr("a.h"))) << text;
  }
}

TEST(TextRules, RefuseLeftovers) {
  // Assembled here, since this file is checked, too.
  const auto problems = [](std::string path, const std::string& begin, const std::string& end) {
    return check_leftovers(sample(std::move(path), begin + end + "\n"));
  };
  EXPECT_THAT(problems("a.cc", "// TO", "DOS, /home/me/x, /homes/x, HTO"), IsEmpty());
  EXPECT_THAT(problems("a.cc", "\nint x;  // TO", "DO(me): y"),
              ElementsAre(HasSubstr("a.cc:2: a ")));
  EXPECT_THAT(problems("a.md", "FIX", "ME"), ElementsAre(HasSubstr("leftover")));
  EXPECT_THAT(problems("a.cmake", "set(X /home", "/mel/x)"), ElementsAre(HasSubstr("a path into")));
}

TEST(TextRules, HoldInThisTree) {
  for (const SourceFile& file : this_tree()) {
    EXPECT_THAT(check_line_length(file), IsEmpty());
    EXPECT_THAT(check_white_space(file), IsEmpty());
    EXPECT_THAT(check_file_length(file), IsEmpty());
    EXPECT_THAT(check_header_opening(file), IsEmpty());
    EXPECT_THAT(check_leftovers(file), IsEmpty());
  }
}

}  // namespace
}  // namespace hocket::style
