#include "tests/style/comment_rules.h"

#include <algorithm>
#include <filesystem>
#include <regex>

namespace hocket::style {
namespace {

/// Returns the text of a line that is only a comment, without its marker; "" for other lines.
std::string_view comment_of(std::string_view line, FileKind kind) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const bool is_hash = kind == FileKind::cmake || kind == FileKind::shell;
  for (const std::string_view marker : {"///<", "///", "//", "#"}) {
    if (kind != FileKind::script && (marker == "#") != is_hash) continue;
    if (!line.starts_with(marker)) continue;
    line.remove_prefix(marker.size());
    while (line.starts_with(' ')) line.remove_prefix(1);
    return line;
  }
  return "";
}

bool has_comments(FileKind kind) {
  return kind != FileKind::markdown;
}

std::string where(const SourceFile& file, std::size_t number) {
  return file.path + ":" + std::to_string(number) + ": ";
}

/// Returns the part of `path` before its first name in capitals, which stands for others.
std::string known_part(const std::string& path) {
  static const std::regex placeholder(R"((^|/)[^/]*[A-Z]{2,}[^/]*)");
  std::smatch match;
  // Pages of the project are in capitals and end in .md; they stand for themselves.
  if (path.ends_with(".md") || !std::regex_search(path, match, placeholder)) return path;
  return path.substr(0, static_cast<std::size_t>(match.position()));
}

}  // namespace

Problems check_comment_openings(const SourceFile& file) {
  if (!has_comments(file.kind)) return {};
  static const std::regex riddle(R"(^(What|Of|That|Whether|How|Those)\b)");
  Problems problems;
  std::size_t number = 0;
  bool is_inside = false;
  for (const std::string_view line : lines_of(file.text)) {
    ++number;
    const std::string_view comment = comment_of(line, file.kind);
    std::cmatch match;
    if (!is_inside && std::regex_search(comment.begin(), comment.end(), match, riddle)) {
      problems.push_back(where(file, number) + "a comment opens with \"" + match[1].str() +
                         "\"; say it as a sentence or name the thing");
    }
    is_inside = !comment.empty();
  }
  return problems;
}

Problems check_named_paths(const SourceFile& file, const PathExists& exists) {
  static const std::regex from_root(
      R"re((?:^|[\s`("])((?:core|store|tuner|profiler|models|kernels|client|archive|daemon|capi)re"
      R"re(|web|cli|plugins|examples|benchmarks|tests|docs|scripts|job|cmake|packaging))re"
      R"re((?:/[\w.-]+)+))re"
      R"re((?=$|[\s`)",;:]))re");
  static const std::regex link(R"re(\]\(([^)\s#:]+)(?:#[^)\s]*)?\))re");
  Problems problems;
  std::size_t number = 0;
  const auto require = [&](std::string path, const std::string& named) {
    while (path.ends_with('.') || path.ends_with('/')) path.pop_back();
    path = known_part(path);
    if (!path.empty() && !exists(path)) {
      problems.push_back(where(file, number) + "names " + named + ", which does not exist");
    }
  };
  for (const std::string_view line : lines_of(file.text)) {
    ++number;
    const bool is_page = file.kind == FileKind::markdown;
    const std::string text(is_page ? line : comment_of(line, file.kind));
    for (std::sregex_iterator it(text.begin(), text.end(), from_root), end; it != end; ++it) {
      require((*it)[1], (*it)[1]);
    }
    if (!is_page) continue;
    for (std::sregex_iterator it(text.begin(), text.end(), link), end; it != end; ++it) {
      const std::filesystem::path target =
          std::filesystem::path(folder_of(file.path)) / (*it)[1].str();
      require(target.lexically_normal().generic_string(), (*it)[1]);
    }
  }
  return problems;
}

}  // namespace hocket::style
