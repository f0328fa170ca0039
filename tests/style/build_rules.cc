#include "tests/style/build_rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace hocket::style {
namespace {

using Words = std::set<std::string, std::less<>>;

constexpr std::string_view kTestEnd = "_test.cc";

/// Returns the words of a CMakeLists.txt without its comments.
Words words_of(std::string_view cmake) {
  Words words;
  for (std::string_view line : lines_of(cmake)) {
    line = line.substr(0, line.find('#'));
    constexpr std::string_view separators = " ()\"";
    for (auto begin = line.find_first_not_of(separators); begin != std::string_view::npos;
         begin = line.find_first_not_of(separators)) {
      line.remove_prefix(begin);
      const auto end = std::min(line.find_first_of(separators), line.size());
      words.emplace(line.substr(0, end));
      line.remove_prefix(end);
    }
  }
  return words;
}

/// Returns the named sources by folder.
std::map<std::string_view, Words> named_sources(const std::vector<SourceFile>& tree) {
  std::map<std::string_view, Words> named;
  for (const SourceFile& file : tree) {
    if (name_of(file.path) == "CMakeLists.txt") named[folder_of(file.path)] = words_of(file.text);
  }
  return named;
}

bool is_named(std::string_view path, const std::map<std::string_view, Words>& named) {
  for (std::string_view folder = folder_of(path); !folder.empty(); folder = folder_of(folder)) {
    const auto list = named.find(folder);
    if (list != named.end() && list->second.contains(path.substr(folder.size() + 1))) return true;
  }
  return false;
}

/// Returns whether the source is in a room that cmake/HocketRooms.cmake makes a library of.
bool has_library(std::string_view path, const Rooms& rooms) {
  const auto room = rooms.rooms.find(room_of(path, rooms));
  if (room == rooms.rooms.end() || room->second.includes_all) return false;
  return room->first != "capi" && room->first != "web";
}

/// Returns the stem: "link" for "core/step/link.h".
std::string_view stem_of(std::string_view path) {
  const std::string_view name = name_of(path);
  return name.substr(0, name.rfind('.'));
}

/// Returns whether the test covers the whole project rather than one folder.
bool stands_alone(std::string_view path) {
  const std::string_view top = top_of(path);
  return top == "style" || top == "fault" || top == "sim" || path.starts_with("plugins/nccl/host/");
}

}  // namespace

Problems check_sources_are_built(const std::vector<SourceFile>& tree, const Rooms& rooms) {
  const auto named = named_sources(tree);
  Problems problems;
  for (const SourceFile& file : tree) {
    if (!file.path.ends_with(".cc") && !file.path.ends_with(".cu")) continue;
    const bool is_in_library = file.path.ends_with(".cc") && has_library(file.path, rooms);
    if (!is_in_library && !is_named(file.path, named)) {
      problems.push_back(file.path +
                         ": is in no room with a library, nor named by a CMakeLists.txt");
    }
  }
  return problems;
}

Problems check_tests_mirror_sources(const std::vector<SourceFile>& tree) {
  std::set<std::string_view> folders;
  std::multimap<std::string_view, std::string_view> by_stem;
  for (const SourceFile& file : tree) {
    const bool is_script = file.kind == FileKind::shell;
    if ((file.kind != FileKind::cpp && !is_script) || file.path.starts_with("tests/")) continue;
    folders.insert(folder_of(file.path));
    if (!is_script) by_stem.emplace(stem_of(file.path), folder_of(file.path));
  }

  Problems problems;
  for (const SourceFile& file : tree) {
    if (!file.path.ends_with(kTestEnd)) continue;
    if (!file.path.starts_with("tests/")) {
      problems.push_back(file.path + ": a test outside tests/");
      continue;
    }
    const std::string_view mirrored = std::string_view(file.path).substr(6);
    if (stands_alone(mirrored)) continue;
    const std::string_view folder = folder_of(mirrored);
    if (!folders.contains(folder)) {
      problems.push_back(file.path + ": mirrors no folder");
      continue;
    }
    const std::string_view name = name_of(mirrored);
    const auto [begin, end] = by_stem.equal_range(name.substr(0, name.size() - kTestEnd.size()));
    const bool found = std::any_of(begin, end, [&](auto& e) { return e.second == folder; });
    const auto elsewhere =
        std::find_if(begin, end, [&](auto& e) { return top_of(e.second) == top_of(folder); });
    if (!found && elsewhere != end) {
      problems.push_back(file.path + ": its source is in " + std::string(elsewhere->second) + "/");
    }
  }
  return problems;
}

}  // namespace hocket::style
