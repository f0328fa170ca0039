// Tests that the command lines of the README and of docs/ are ones that the program takes. Nothing
// is run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/base/command_line.h"
#include "cli/verbs/program.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using LineWords = std::vector<std::string>;

struct Documented {
  std::string place;  ///< file and line
  std::string line;
};

/// Splits a line as a shell does, up to what a reader adds: a comment, a second column, a pipe.
LineWords shell_words(const std::string& line) {
  LineWords words;
  std::string word;
  bool is_word = false;
  char quote = 0;
  int substitutions = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
      continue;
    }
    if (c == '\'' || c == '"') {
      quote = c;
      is_word = true;
      continue;
    }
    if (line.compare(i, 2, "$(") == 0) ++substitutions;
    if (c == ')' && substitutions > 0) --substitutions;
    const bool is_inner = substitutions > 0;
    if (!is_inner && (c == '|' || c == '&' || c == '>' || c == ';')) {
      // The 2 of "2>file" is no word.
      if (c == '>' && word == "2") is_word = false;
      break;
    }
    if (is_inner || c != ' ') {
      word += c;
      is_word = true;
      continue;
    }
    if (is_word) words.push_back(std::exchange(word, ""));
    is_word = false;
    if (line.compare(i, 2, "  ") == 0 || line.compare(i, 2, " #") == 0) return words;
  }
  if (is_word) words.push_back(word);
  return words;
}

/// Returns the lines of code that begin with `hocket`, those that go on joined.
std::vector<Documented> commands_of(const std::string& path, std::istream& text) {
  std::vector<Documented> commands;
  std::string line;
  for (int number = 1; std::getline(text, line); ++number) {
    std::string_view code = line;
    if (!code.starts_with("    ")) continue;
    code.remove_prefix(std::min(code.find_first_not_of(' '), code.size()));
    if (code.starts_with("$ ")) code.remove_prefix(2);
    if (!code.starts_with("hocket ")) continue;
    Documented command{path + ":" + std::to_string(number), std::string(code)};
    while (command.line.ends_with('\\') && std::getline(text, line)) {
      ++number;
      command.line.pop_back();
      const std::size_t begin = line.find_first_not_of(' ');
      if (command.line.ends_with(' ')) command.line.pop_back();
      command.line += " " + line.substr(std::min(begin, line.size()));
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

/// Says that a line shows the form of a command, or leaves something of it out.
bool is_form(const Documented& command) {
  return command.line.find("…") != std::string::npos ||
         command.line.find(" [") != std::string::npos;
}

/// Returns why the program does not take the words; empty where it does.
std::string refusal(const LineWords& words) {
  VerbAction action;
  const auto program = make_program(action);
  const auto [own, command] = split_command_line(LineWords(words.begin() + 1, words.end()));
  try {
    program->parse(LineWords(own.rbegin(), own.rend()));
  } catch (const CLI::Success&) {  // --help and --version
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST(DocumentedCommands, AreSplitAsAShellDoes) {
  EXPECT_THAT(shell_words("hocket top   refreshed until"), ElementsAre("hocket", "top"));
  EXPECT_THAT(shell_words("hocket serve & # on"), ElementsAre("hocket", "serve"));
  EXPECT_THAT(shell_words("hocket a 'b  c' 2>/dev/null"), ElementsAre("hocket", "a", "b  c"));
  EXPECT_THAT(shell_words("hocket run -- $(hocket demo --job) x"),
              ElementsAre("hocket", "run", "--", "$(hocket demo --job)", "x"));
}

TEST(DocumentedCommands, AreFoundWithTheLinesThatGoOn) {
  std::istringstream text(
      "hocket top\n    $ hocket tune --a \\\n      -- b\n    it\n    hocket top\n");
  const auto commands = commands_of("a.md", text);
  ASSERT_EQ(commands.size(), 2u);
  EXPECT_EQ(commands[0].line, "hocket tune --a -- b");
  EXPECT_EQ(commands[0].place, "a.md:2");
  EXPECT_EQ(commands[1].place, "a.md:5");
}

TEST(DocumentedCommands, OfOtherProgramsAreRefused) {
  EXPECT_NE(refusal({"hocket", "tune", "--no-such-option"}), "");
  EXPECT_NE(refusal({"hocket", "no-such-verb"}), "");
  EXPECT_EQ(refusal({"hocket", "tune", "--", "train", "--any"}), "");
}

TEST(DocumentedCommands, AreTakenByTheProgram) {
  namespace fs = std::filesystem;
  const fs::path root = HOCKET_SOURCE_DIR;
  std::vector<fs::path> files = {root / "README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(root / "docs"))
    if (entry.path().extension() == ".md") files.push_back(entry.path());
  int taken = 0;
  for (const fs::path& file : files) {
    std::ifstream text(file);
    for (const Documented& command : commands_of(file.lexically_relative(root), text)) {
      if (is_form(command)) continue;
      EXPECT_EQ(refusal(shell_words(command.line)), "") << command.place << ": " << command.line;
      ++taken;
    }
  }
  EXPECT_GT(taken, 150);
}

}  // namespace
}  // namespace hocket
