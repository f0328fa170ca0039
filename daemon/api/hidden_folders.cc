#include "daemon/api/hidden_folders.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace hocket {
namespace {

constexpr std::string_view kShown = "...";

bool ends_path(char c) {
  return c == ' ' || c == '"' || c == '\'' || c == ',' || c == ';' || c == ':' || c == ')' ||
         c == '\n';
}

/// Returns where an absolute path begins in `text`, from `at` on; npos if nowhere.
std::size_t next_path(std::string_view text, std::size_t at) {
  for (; at < text.size(); ++at) {
    if (text[at] != '/') continue;
    const char before = at == 0 ? ' ' : text[at - 1];
    const bool begins = before == '=' || before == '(' || before == '@' || ends_path(before);
    // "http://host/path" is no path of a file.
    const bool is_address = before == ':' && at + 1 < text.size() && text[at + 1] == '/';
    if (is_address) {
      while (at < text.size() && (text[at] == ':' || !ends_path(text[at]))) ++at;
      continue;
    }
    if (begins) return at;
  }
  return std::string_view::npos;
}

}  // namespace

HiddenFolders::HiddenFolders(std::vector<std::string> folders) {
  for (std::string& folder : folders) {
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    if (folder.size() < 2 || !folder.starts_with('/')) continue;
    // As it is written within JSON.
    const std::string quoted =
        nlohmann::json(folder).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    shown_.emplace_back(quoted.substr(1, quoted.size() - 2), kShown);
  }
  // Folders within another one come first.
  std::ranges::sort(shown_, std::greater(), [](const auto& one) { return one.first.size(); });
}

bool HiddenFolders::are_in(std::string_view text) const {
  return std::ranges::any_of(
      shown_, [&](const auto& one) { return text.find(one.first) != std::string_view::npos; });
}

std::string HiddenFolders::hide_in(std::string text) const {
  for (const auto& [path, shown] : shown_) {
    for (std::size_t at = text.find(path); at != std::string::npos; at = text.find(path, at)) {
      text.replace(at, path.size(), shown);
      at += shown.size();
    }
  }
  return text;
}

std::string with_file_names(std::string_view text) {
  std::string shown;
  std::size_t done = 0;
  for (std::size_t at = next_path(text, 0); at != std::string_view::npos;
       at = next_path(text, done)) {
    std::size_t end = at;
    while (end < text.size() && !ends_path(text[end])) ++end;
    const std::string name = std::filesystem::path(text.substr(at, end - at)).filename();
    shown += std::string(text.substr(done, at - done)) + name;
    done = end;
  }
  return shown + std::string(text.substr(done));
}

}  // namespace hocket
