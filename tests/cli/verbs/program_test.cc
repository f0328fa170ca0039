// The command lines that people copy: those of the guides and of the help texts are understood.

#include "cli/verbs/program.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "cli/base/command_line.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

/// Returns the words of a command as a shell reads them, up to what is no part of it: a comment, a
/// pipe, another command, or an explanation behind several blanks.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool is_word = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\'' || c == '"') {
      const std::size_t end = std::min(line.find(c, i + 1), line.size());
      word += line.substr(i + 1, end - i - 1);
      is_word = true;
      i = end;
    } else if (c == ' ') {
      if (is_word) words.push_back(std::exchange(word, ""));
      is_word = false;
      if (i + 1 < line.size() && line[i + 1] == ' ') break;
    } else if (c == '&' || c == '|' || c == '#' || c == '>') {
      break;
    } else if (c != '[' && c != ']') {  // around what may be left out
      word += c;
      is_word = true;
    }
  }
  if (is_word) words.push_back(word);
  return words;
}

/// Returns the commands in lines of `text` that begin with `indent` and "hocket ". A line that ends
/// in a backslash goes on.
std::vector<std::string> commands_in(std::istream& text, const std::string& indent) {
  std::vector<std::string> commands;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with(indent + "$ ")) line.erase(indent.size(), 2);
    if (!line.starts_with(indent + "hocket ")) continue;
    std::string command = line.substr(indent.size());
    for (std::string next; command.ends_with('\\') && std::getline(text, next);) {
      command.pop_back();
      command = command.substr(0, command.find_last_not_of(' ') + 1) + ' ' +
                next.substr(std::min(next.find_first_not_of(' '), next.size()));
    }
    commands.push_back(command);
  }
  return commands;
}

/// Returns what is wrong with a command, "" if nothing is.
std::string trouble_of(const std::string& command) {
  const auto words = words_of(command);
  VerbAction action;
  const auto program = make_program(action);
  auto own = split_command_line(std::span(words).subspan(1)).own;
  std::ranges::reverse(own);
  try {
    program->parse(own);
  } catch (const CLI::Success&) {
    return "";
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

void expect_understood(const std::vector<std::string>& commands, const std::string& where) {
  for (const std::string& command : commands) {
    // The screen of `hocket top` begins like a command, and "…" stands for what is left out.
    if (command.starts_with("hocket top  ") || command.find("…") != std::string::npos) continue;
    EXPECT_EQ(trouble_of(command), "") << where << ": " << command;
  }
}

TEST(Program, UnderstandsTheCommandsOfTheGuides) {
  const fs::path root = HOCKET_SOURCE_DIR;
  std::vector<fs::path> pages = {root / "README.md"};
  for (const auto& entry : fs::directory_iterator(root / "docs/guides"))
    pages.push_back(entry.path());
  std::size_t count = 0;
  for (const fs::path& page : pages) {
    std::ifstream text(page);
    const auto commands = commands_in(text, "    ");
    count += commands.size();
    expect_understood(commands, page.filename().string());
  }
  EXPECT_GT(count, 100U);
}

void expect_understood_examples(const CLI::App& app, std::size_t& count) {
  std::istringstream footer(app.get_footer());
  const auto commands = commands_in(footer, "  ");
  count += commands.size();
  expect_understood(commands, "hocket " + app.get_name() + " --help");
  for (const CLI::App* verb : app.get_subcommands({})) expect_understood_examples(*verb, count);
}

TEST(Program, UnderstandsTheExamplesOfItsHelp) {
  VerbAction action;
  std::size_t count = 0;
  expect_understood_examples(*make_program(action), count);
  EXPECT_GT(count, 70U);
}

TEST(Program, UnderstandsTheCommandsOfThePage) {
  // One that ends in a blank goes on in the next string.
  const std::regex quoted("\"(hocket [a-z][^\"]* --[^\"]*[^\" ])\"");
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(HOCKET_SOURCE_DIR) / "web")) {
    if (entry.path().extension() != ".js") continue;
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    std::vector<std::string> commands;
    for (std::sregex_iterator it(text.begin(), text.end(), quoted), end; it != end; ++it)
      commands.push_back((*it)[1]);
    count += commands.size();
    expect_understood(commands, entry.path().filename().string());
  }
  EXPECT_GT(count, 2U);
}

}  // namespace
}  // namespace hocket
