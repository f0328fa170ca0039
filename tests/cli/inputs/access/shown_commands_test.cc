#include "cli/inputs/access/shown_commands.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/verbs/program.h"

namespace hocket {
namespace {

/// Returns `message` as the verb that `line` names would print it.
std::string as_printed(const std::string& line, const std::string& message) {
  VerbAction action;
  const auto program = make_program(action);
  program->parse(line);
  return with_given_place(message, *program);
}

TEST(ShownCommands, OptionsAreQuotedForAShell) {
  EXPECT_EQ(store_argument(""), "");
  EXPECT_EQ(store_argument("my.db"), " --store my.db");
  EXPECT_EQ(store_argument("it's here.db"), " --store 'it'\\''s here.db'");
  EXPECT_EQ(store_argument("postgresql://ada:secret@db/hocket"),
            " --store 'postgresql://ada:***@db/hocket'");
  EXPECT_EQ(daemon_argument(""), "");
  EXPECT_EQ(daemon_argument("http://b7:7077"), " --daemon http://b7:7077");
}

TEST(ShownCommands, CarryThePlaceThatTheVerbWasGiven) {
  EXPECT_EQ(as_printed("best x --store 'a b.db'", "no study; `hocket studies` lists them"),
            "no study; `hocket studies --store 'a b.db'` lists them");
  EXPECT_EQ(
      as_printed("best x --store s.db", "`hocket trials x --log 1`, or `hocket tune -- ./a b`"),
      "`hocket trials x --log 1 --store s.db`, or `hocket tune --store s.db -- ./a b`");
  EXPECT_EQ(as_printed("profiles show p --store s.db", "`hocket profiles list` lists them"),
            "`hocket profiles list --store s.db` lists them");
  EXPECT_EQ(as_printed("push k --set streams=2 --daemon http://b7", "`hocket audit` says more"),
            "`hocket audit --daemon http://b7` says more");
}

TEST(ShownCommands, StayAsTheyAreWherePlaceAndVerbDoNotGoTogether) {
  const std::string hint = "`hocket studies` lists them";
  EXPECT_EQ(as_printed("best x", hint), hint);
  for (const std::string message :
       {"`hocket topology` says more", "`hocket studies --store other.db` has it",
        "`hocket best --help` lists all", "`hocket --help` lists all", "`hocket nothing` is none",
        "`hocket studies is not closed", "no command", ""}) {
    EXPECT_EQ(as_printed("best x --store s.db", message), message);
  }
}

}  // namespace
}  // namespace hocket
