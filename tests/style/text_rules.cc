#include "tests/style/text_rules.h"

#include <cctype>
#include <string>

namespace hocket::style {
namespace {

/// Returns one problem for each line to which `objection` objects.
template <class Objection>
Problems check_lines(const SourceFile& file, const Objection& objection) {
  Problems problems;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(file.text)) {
    ++number;
    const std::string wrong = objection(line);
    if (!wrong.empty()) {
      problems.push_back(file.path + ":" + std::to_string(number) + ": " + wrong);
    }
  }
  return problems;
}

/// Returns the number of characters in UTF-8 text.
std::size_t columns(std::string_view line) {
  std::size_t count = 0;
  for (const char c : line) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool contains_word(std::string_view line, std::string_view word) {
  for (auto at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const auto end = at + word.size();
    const bool begins = at == 0 || !is_word_character(line[at - 1]);
    if (begins && (end == line.size() || !is_word_character(line[end]))) return true;
  }
  return false;
}

/// Returns whether `line` names a user's folder below `homes`.
bool names_home(std::string_view line, std::string_view homes) {
  for (auto at = line.find(homes); at != std::string_view::npos; at = line.find(homes, at + 1)) {
    const std::string_view user = line.substr(at + homes.size());
    const bool placeholder =
        user.starts_with("me") && (user.size() == 2 || !is_word_character(user[2]));
    if (!placeholder) return true;
  }
  return false;
}

}  // namespace

Problems check_line_length(const SourceFile& file) {
  if (file.kind == FileKind::markdown || file.kind == FileKind::script) return {};
  return check_lines(file, [](std::string_view line) -> std::string {
    if (columns(line) <= kMaxColumns) return "";
    const auto link = line.find("https://");
    if (link != std::string_view::npos && line.find(' ', link) == std::string_view::npos) return "";
    return std::to_string(columns(line)) + " columns, allowed are " + std::to_string(kMaxColumns);
  });
}

Problems check_white_space(const SourceFile& file) {
  auto problems = check_lines(file, [](std::string_view line) -> std::string {
    if (line.find('\t') != std::string_view::npos) return "a tab";
    if (line.find('\r') != std::string_view::npos) return "a carriage return";
    return line.ends_with(' ') ? "blanks at the end" : "";
  });
  if (!file.text.empty() && (!file.text.ends_with('\n') || file.text.ends_with("\n\n"))) {
    problems.push_back(file.path + ": does not end in one newline");
  }
  return problems;
}

Problems check_file_length(const SourceFile& file) {
  const std::size_t lines = lines_of(file.text).size();
  if (lines <= kMaxLines) return {};
  return {file.path + ": " + std::to_string(lines) + " lines, allowed are " +
          std::to_string(kMaxLines)};
}

Problems check_header_opening(const SourceFile& file) {
  if (!file.path.ends_with(".h")) return {};
  if (file.text.starts_with("#pragma once\n\n// ")) return {};
  return {file.path + ": does not begin with #pragma once, a blank line and a comment"};
}

Problems check_leftovers(const SourceFile& file) {
  return check_lines(file, [](std::string_view line) -> std::string {
    // Assembled here, since this file is checked, too.
    for (std::string marker : {"TO-DO", "FIX-ME"}) {
      std::erase(marker, '-');
      if (contains_word(line, marker)) return "a leftover " + marker;
    }
    for (const char* homes : {"home", "root", "Users"}) {
      const std::string path = "/" + std::string(homes) + "/";
      if (names_home(line, path)) return "a path into " + path;
    }
    return "";
  });
}

}  // namespace hocket::style
