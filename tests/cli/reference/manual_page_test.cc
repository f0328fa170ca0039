// Tests that the manual pages have every verb and option, and no mistakes in their macros.

#include "cli/reference/manual_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "cli/verbs/program.h"
#include "tests/cli/answer.h"
#include "tests/cli/reference/shell_output.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Returns how a page writes a word in bold.
std::string bold_word(std::string word) {
  for (std::size_t at = 0; (at = word.find('-', at)) != std::string::npos; at += 2) {
    word.insert(at, "\\");
  }
  return "\\fB" + word + "\\fR";
}

/// Checks that the page has what `app`, hidden or not, declares.
void check_page(const std::string& page, const CLI::App& app) {
  for (const CLI::Option* option : app.get_options({})) {
    if (!option->nonpositional()) {
      EXPECT_THAT(page, HasSubstr(".TP\n\\fI" + option->get_name(true) + "\\fR\n"))
          << app.get_name();
    }
    for (const std::string& name : option->get_lnames()) {
      EXPECT_THAT(page, HasSubstr(bold_word("--" + name))) << app.get_name();
    }
    for (const std::string& name : option->get_snames()) {
      EXPECT_THAT(page, HasSubstr(bold_word("-" + name))) << app.get_name();
    }
  }
  for (const CLI::App* verb : app.get_subcommands({})) check_page(page, *verb);
}

class ManualPages : public ::testing::Test {
 protected:
  VerbAction action_;
  const std::unique_ptr<CLI::App> app_ = make_program(action_);
  const DescribedVerb program_ = describe_verb(*app_, takes_command);
  const ManualEdition edition_{.version = "1.2.3", .date = "2026-01-02"};
  const TemporaryFolder folder_;
};

TEST_F(ManualPages, HaveEveryVerbAndOption) {
  const std::string whole = program_page(program_, edition_);
  for (const DescribedVerb& verb : program_.verbs) {
    EXPECT_THAT(whole, HasSubstr(bold_word(verb.name)));
    check_page(verb_page(program_, verb, edition_), *app_->get_subcommand(verb.name));
  }
  EXPECT_THAT(whole, HasSubstr("1.2.3"));
  EXPECT_THAT(whole, HasSubstr("2026-01-02"));
}

TEST_F(ManualPages, AreWrittenForEveryVerbAndHaveNoMistakes) {
  const auto answer = ask_hocket({"manual", folder_.file("pages")});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder_.file("pages"))) {
    files.push_back(entry.path().string());
  }
  EXPECT_EQ(files.size(), program_.verbs.size() + 1);
  if (!has_program("mandoc")) GTEST_SKIP() << "mandoc is not installed";
  std::vector<std::string> lint = {"mandoc", "-T", "lint", "-W", "warning"};
  lint.insert(lint.end(), files.begin(), files.end());
  EXPECT_THAT(lines_of(lint), IsEmpty());
  if (!has_program("groff")) GTEST_SKIP() << "groff is not installed";
  std::vector<std::string> format = {"groff", "-man", "-ww", "-Kutf8", "-Tutf8", "-z"};
  format.insert(format.end(), files.begin(), files.end());
  EXPECT_THAT(lines_of(format), IsEmpty());
}

TEST(ManualPage, KeepsTextThatLooksLikeAMacro) {
  const DescribedVerb odd{.name = "odd",
                          .description = "be odd",
                          .footer = "'tis a back\\slash\nExample:\n  .TH is no macro here\n"};
  const DescribedVerb program{.name = "hocket", .description = "hocket: all", .footer = ""};
  const std::string page = verb_page(program, odd, {.version = "1", .date = "2026-01-02"});
  EXPECT_THAT(page, HasSubstr("\n\\&'tis a back\\eslash\n"));
  EXPECT_THAT(page, HasSubstr("\n\\&.TH is no macro here\n"));
}

}  // namespace
}  // namespace hocket
