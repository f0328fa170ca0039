#include "tests/style/comment_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

namespace hocket::style {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CommentRules, RefuseRiddles) {
  EXPECT_THAT(check_comment_openings(sample("a.cc", "int x;\n/// What is left of it.\nint y;\n")),
              ElementsAre(HasSubstr("a.cc:2: a comment opens with \"What\"")));
  EXPECT_THAT(check_comment_openings(sample("a.h", "#pragma once\n\n// Of the median.\n")),
              ElementsAre(HasSubstr("a.h:3")));
  EXPECT_THAT(check_comment_openings(sample("run", "#!/bin/sh\n\n# Whether it runs\n")),
              ElementsAre(HasSubstr("run:3")));
  EXPECT_THAT(check_comment_openings(sample("CMakeLists.txt", "# How it is built\n")),
              ElementsAre(HasSubstr("\"How\"")));
}

TEST(CommentRules, LetOtherLinesBe) {
  for (const char* text :
       {"// Keeps what is left.\n// What is gone is gone.\n", "int x;  // nothing\n",
        "// Whatever is left.\n", "// Offers.\n", "say(\"What\");\n", "# What of C++\n"}) {
    EXPECT_THAT(check_comment_openings(sample("a.cc", text)), IsEmpty()) << text;
  }
  EXPECT_THAT(check_comment_openings(sample("a.md", "# What it is\n\nWhat it does.\n")), IsEmpty());
}

TEST(CommentRules, RequireThePathsThatAreNamed) {
  const std::set<std::string> there = {"core/plan/plan.h", "cli/verbs", "docs/guides/tune.md"};
  const auto problems = [&](std::string path, const std::string& text) {
    return check_named_paths(sample(std::move(path), text),
                             [&](const std::string& each) { return there.contains(each); });
  };
  EXPECT_THAT(problems("a.cc", "// The plan (core/plan/plan.h), see docs/guides/tune.md.\n"),
              IsEmpty());
  EXPECT_THAT(problems("a.cc", "// As core/plan/plans.h says.\n"),
              ElementsAre("a.cc:1: names core/plan/plans.h, which does not exist"));
  EXPECT_THAT(problems("a.cc", "#include \"core/plan/plans.h\"\n"), IsEmpty());
  EXPECT_THAT(problems("docs/a.md", "`core/plan` or `core/plan/plan.h`\n"),
              ElementsAre(HasSubstr("names core/plan,")));
  EXPECT_THAT(problems("docs/a.md", "1. `cli/verbs/VERB.cc` with `add_VERB`\n"), IsEmpty());
  EXPECT_THAT(problems("docs/a.md", "1. `cli/VERB.cc`\n"), ElementsAre(HasSubstr("cli/VERB.cc")));
  EXPECT_THAT(problems("docs/a.md", "`core/host/tcp_store*`, http://tests/x.h\n"), IsEmpty());
}

TEST(CommentRules, RequireTheTargetsOfLinks) {
  const auto problems = [](const std::string& text) {
    return check_named_paths(sample("docs/formats/a.md", text), [](const std::string& each) {
      return each == "docs/guides/tune.md" || each == "docs/formats/b.md";
    });
  };
  EXPECT_THAT(problems("[tune](../guides/tune.md#warm-up), [b](b.md), [x](https://x.org/a.md), "
                       "[here](#here)\n"),
              IsEmpty());
  EXPECT_THAT(problems("[tune](guides/tune.md)\n"),
              ElementsAre("docs/formats/a.md:1: names guides/tune.md, which does not exist"));
}

TEST(CommentRules, HoldInThisTree) {
  const auto exists = [](const std::string& path) {
    return std::filesystem::exists(std::filesystem::path(HOCKET_SOURCE_DIR) / path);
  };
  for (const SourceFile& file : this_tree()) {
    EXPECT_THAT(check_comment_openings(file), IsEmpty());
    EXPECT_THAT(check_named_paths(file, exists), IsEmpty());
  }
}

}  // namespace
}  // namespace hocket::style
